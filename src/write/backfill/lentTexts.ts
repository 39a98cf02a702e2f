/**
 * Texts that are decoded for calls of a function. They are as many bytes as the column has, and each is looked at once:
 * memory of their own would have V8 collect garbage again and again for the sake of memory outside its heap, which costs more
 * than all else that a backfill does beside the calls. So the memory is lent again: that of texts decoded for one call
 * for the next call, and that of a page of texts that a thread decoded for another page, once the last of its rows is computed.
 *
 * Pages that threads decoded lie in shared memory, which V8 doesn't count, and which no function ever sees: a call gets
 * copies of its rows, or single texts. Whoever keeps a vector beyond the call finds its memory detached, and gets an error
 * from it, never other texts.
 */

import type { Column, VariableColumn } from "../../arrow/columns/column.js";
import type { WorkerPool } from "../../async/workerPool.js";
import { isSharedMemory } from "../../bytes/sharedCopy.js";
import { trimmedColumn } from "../../file/writing/heldColumns.js";
import type { ScratchMemory } from "../../io/memory/scratch.js";

/** The texts of one call. */
export class LentTexts {
  readonly #scratch: ScratchMemory;
  readonly #pages: TextPages;
  readonly #isByRow: boolean;
  readonly #lent: ArrayBuffer[] = [];
  readonly #used: ArrayBufferLike[] = [];

  /** @param isByRow whether the function is handed single texts, so that these may be read from memory of threads */
  constructor(scratch: ScratchMemory, pages: TextPages, isByRow: boolean) {
    this.#scratch = scratch;
    this.#pages = pages;
    this.#isByRow = isByRow;
  }

  /** The column, with its texts decoded where it has them as codes. */
  decode(column: Column): Column {
    const page = sharedPageOf(column);
    if (page !== null && this.#isByRow) {
      this.#used.push(page);
      this.#pages.use(page);
      return column;
    }
    return decodedColumn(column, (byteLength) => {
      const memory = this.#scratch.lend(byteLength);
      this.#lent.push(memory.buffer);
      return memory;
    });
  }

  /** The memory stays as it is, as long as somebody looks at it. */
  keep(): void {
    this.#lent.length = 0;
    this.#endUse();
  }

  /** Once nothing that is needed lies in the memory. */
  giveBack(): void {
    for (const memory of this.#lent.splice(0)) {
      this.#scratch.giveBack(new Uint8Array(structuredClone(memory, { transfer: [memory] })));
    }
    this.#endUse();
  }

  #endUse(): void {
    for (const page of this.#used.splice(0)) this.#pages.endUse(page);
  }
}

/**
 * The memory of pages of texts that threads decoded, of which rows are cut for calls: when all of these have ended, threads
 * get it again.
 */
export class TextPages {
  readonly #workers: Pick<WorkerPool, "giveBack"> | undefined;
  /** By the memory of a page of which rows are cut, or were: calls that look at it. */
  readonly #users = new Map<ArrayBufferLike, number>();
  /** Pages of which no more rows will be cut. */
  readonly #cut = new Set<ArrayBufferLike>();
  /** Pages of which nobody knows when the last rows are cut: they stay as they are. */
  readonly #kept = new WeakSet<ArrayBufferLike>();

  constructor(workers: Pick<WorkerPool, "giveBack"> | undefined) {
    this.#workers = workers;
  }

  /** @param columns that rows are cut of from now on: of all other pages, no more will be */
  goOn(columns: readonly Column[]): void {
    const current = new Set<ArrayBufferLike | null>(columns.map(sharedPageOf));
    // Rows that were picked, or that lie in two pages, are in a copy: it doesn't tell whether more will be cut of a page.
    const mayBeCopies = columns.some(
      (column) => column.kind === "variable" && column.coded === undefined && sharedPageOf(column) === null,
    );
    for (const [page, users] of this.#users) {
      if (current.has(page)) continue;
      if (mayBeCopies) {
        this.#users.delete(page);
        this.#kept.add(page);
        continue;
      }
      this.#cut.add(page);
      if (users === 0) this.#giveBack(page);
    }
    for (const page of current) {
      if (page !== null && !this.#users.has(page) && !this.#kept.has(page)) this.#users.set(page, 0);
    }
  }

  use(page: ArrayBufferLike): void {
    const users = this.#users.get(page);
    if (users !== undefined) this.#users.set(page, users + 1);
  }

  endUse(page: ArrayBufferLike): void {
    const users = this.#users.get(page);
    if (users === undefined) return;
    this.#users.set(page, users - 1);
    if (users === 1 && this.#cut.has(page)) this.#giveBack(page);
  }

  #giveBack(page: ArrayBufferLike): void {
    this.#users.delete(page);
    this.#cut.delete(page);
    this.#workers?.giveBack(page);
  }
}

/** The memory of a page that a thread decoded, if a column lies in one. */
const sharedPageOf = (column: Column): SharedArrayBuffer | null =>
  column.kind === "variable" && column.coded === undefined && isSharedMemory(column.bytes.buffer)
    ? column.bytes.buffer
    : null;

/** A column without codes, and outside the memory of threads. */
export function decodedColumn(
  column: Column,
  allocate: (byteLength: number) => Uint8Array<ArrayBuffer> = (byteLength) => new Uint8Array(byteLength),
): Column {
  if (sharedPageOf(column) !== null) {
    return trimmedColumn(column, (bytes) => {
      if (!isSharedMemory(bytes.buffer)) return bytes;
      const copy = allocate(bytes.length);
      copy.set(bytes);
      return copy;
    });
  }
  if (column.kind !== "variable" || column.coded === undefined) return column;
  const { length, validity, coded } = column;
  const decoded = coded.decode(coded.offsets.slice(), coded.codes, allocate);
  return { kind: "variable", length, validity, ...decoded } satisfies VariableColumn;
}
