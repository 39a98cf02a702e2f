/**
 * Texts that are decoded for calls of a function. They are as many bytes as the column has, and each is looked at once:
 * memory of their own would have V8 collect garbage again and again for the sake of memory outside its heap, which costs more
 * than all else that a backfill does beside the calls. So the memory is lent again: that of texts decoded for one call
 * for the next call, and that of a page of texts that a thread decoded for another page, once the last of its rows is computed.
 *
 * Whoever keeps a vector beyond the call finds its memory detached, and gets an error from it, never other texts.
 */

import type { Column, VariableColumn } from "../../arrow/columns/column.js";
import type { WorkerPool } from "../../async/workerPool.js";
import type { ScratchMemory } from "../../io/memory/scratch.js";

/** The texts of one call. */
export class LentTexts {
  readonly #scratch: ScratchMemory;
  readonly #pages: TextPages;
  readonly #lent: ArrayBuffer[] = [];
  readonly #used: ArrayBufferLike[] = [];

  constructor(scratch: ScratchMemory, pages: TextPages) {
    this.#scratch = scratch;
    this.#pages = pages;
  }

  /** The column, with its texts decoded where it has them as codes. */
  decode(column: Column): Column {
    if (column.kind === "variable" && column.coded === undefined) {
      this.#used.push(column.bytes.buffer);
      this.#pages.use(column.bytes.buffer);
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
    for (const memory of this.#used.splice(0)) this.#pages.keep(memory);
  }

  /** Once nothing that is needed lies in the memory. */
  giveBack(): void {
    for (const memory of this.#lent.splice(0)) {
      this.#scratch.giveBack(new Uint8Array(structuredClone(memory, { transfer: [memory] })));
    }
    for (const memory of this.#used.splice(0)) this.#pages.endUse(memory);
  }
}

/** The memory of pages of texts, of which rows are cut for calls: when all of these have ended, threads get it again. */
export class TextPages {
  readonly #workers: Pick<WorkerPool, "giveBack" | "isMoved"> | undefined;
  /** By the memory of a page: calls that look at it. */
  readonly #users = new Map<ArrayBufferLike, number>();
  /** Pages of which no more rows will be cut. */
  readonly #cut = new Set<ArrayBufferLike>();
  /** Pages that stay as they are. */
  readonly #kept = new WeakSet<ArrayBufferLike>();

  constructor(workers: Pick<WorkerPool, "giveBack" | "isMoved"> | undefined) {
    this.#workers = workers;
  }

  /** @param columns that rows are cut of from now on: of all other pages, no more will be */
  goOn(columns: readonly Column[]): void {
    const current = new Set(
      columns.map((column) =>
        column.kind === "variable" && column.coded === undefined ? column.bytes.buffer : null,
      ),
    );
    // Rows that were picked, or that lie in two pages, are in a copy: it doesn't tell whether more will be cut of a page.
    const mayBeCopies = columns.some(
      (column) =>
        column.kind === "variable" &&
        column.coded === undefined &&
        this.#workers?.isMoved(column.bytes.buffer) !== true,
    );
    for (const [memory, users] of this.#users) {
      if (current.has(memory)) continue;
      if (mayBeCopies) {
        this.keep(memory);
        continue;
      }
      this.#cut.add(memory);
      if (users === 0) this.#giveBack(memory);
    }
  }

  use(memory: ArrayBufferLike): void {
    if (this.#kept.has(memory)) return;
    this.#users.set(memory, (this.#users.get(memory) ?? 0) + 1);
  }

  keep(memory: ArrayBufferLike): void {
    this.#kept.add(memory);
    this.#users.delete(memory);
    this.#cut.delete(memory);
  }

  endUse(memory: ArrayBufferLike): void {
    if (this.#kept.has(memory)) return;
    const users = (this.#users.get(memory) ?? 0) - 1;
    this.#users.set(memory, users);
    if (users === 0 && this.#cut.has(memory)) this.#giveBack(memory);
  }

  #giveBack(memory: ArrayBufferLike): void {
    this.#users.delete(memory);
    this.#cut.delete(memory);
    this.#workers?.giveBack(memory);
  }
}

/** A column without codes. */
export function decodedColumn(
  column: Column,
  allocate: (byteLength: number) => Uint8Array<ArrayBuffer> = (byteLength) => new Uint8Array(byteLength),
): Column {
  if (column.kind !== "variable" || column.coded === undefined) return column;
  const { length, validity, coded } = column;
  const decoded = coded.decode(coded.offsets.slice(), coded.codes, allocate);
  return { kind: "variable", length, validity, ...decoded } satisfies VariableColumn;
}
