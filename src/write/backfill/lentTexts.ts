/**
 * Texts that are decoded for calls of a function. They are as many bytes as the column has, and each is
 * looked at once: memory of their own would have V8 collect garbage again and again for the sake of memory
 * outside its heap, which costs more than all else that a backfill does beside the calls. So the memory is
 * lent again: that of texts decoded for one call for the next call, and that of a page of texts that a thread
 * decoded for another page, once the last of its rows is computed.
 *
 * No function ever sees that memory: a call gets single texts, or copies of its rows once it asks for their
 * bytes. Whoever keeps a vector beyond the call finds its memory detached, or missing, and gets an error from
 * it, never other texts. Only copies are detached: from the first time that any memory is, V8 makes all code
 * slower that looks at typed arrays.
 */

import type { Data } from "apache-arrow";
import type { Column, VariableColumn } from "../../arrow/columns/column.js";
import { codesIn } from "../../arrow/columns/lazyColumn.js";
import type { WorkerPool } from "../../async/workerPool.js";
import { isSharedMemory } from "../../bytes/sharedCopy.js";
import { trimmedColumn } from "../../file/writing/heldColumns.js";
import type { ScratchMemory } from "../../io/memory/scratch.js";

/**
 * True if single texts of a vector may be read where its column has them: it is the vector's memory, and
 * still lent.
 */
export interface DirectReads {
  mayBe: boolean;
}

/** The texts of one call. */
export class LentTexts {
  readonly #scratch: ScratchMemory;
  readonly #pages: TextPages;
  /** Memory of texts that were decoded for the call, which no function sees. */
  readonly #decoded = new Set<ArrayBuffer>();
  /** Memory of copies for functions. */
  readonly #lent: ArrayBuffer[] = [];
  readonly #used: ArrayBufferLike[] = [];
  /** The values of vectors whose bytes lie in pages; each call returns the same. */
  readonly #copies: (() => Uint8Array)[] = [];
  readonly #reads: DirectReads[] = [];
  #isOver = false;

  constructor(scratch: ScratchMemory, pages: TextPages) {
    this.#scratch = scratch;
    this.#pages = pages;
  }

  /** The column, with its texts decoded where it has them as codes. Those in pages stay there. */
  decode(column: Column): Column {
    const page = sharedPageOf(column);
    if (page === null) return decodedColumn(column, (byteLength) => this.#lendForTexts(byteLength));
    this.#used.push(page);
    this.#pages.use(page);
    return column;
  }

  /**
   * A column that reaches no further than its rows, for a vector of it that others look at: see
   * {@link hideMemory}.
   */
  rowsOf(column: Column): Column {
    const page = sharedPageOf(column);
    if (page === null) return column;
    return trimmedColumn(column, (bytes) => (bytes.buffer === page ? bytes : unshared(bytes)));
  }

  /** Of a vector that the call gets. */
  directReads(): DirectReads {
    const reads = { mayBe: !this.#isOver };
    this.#reads.push(reads);
    return reads;
  }

  /**
   * Keeps the memory in which a vector lies from whoever looks at the vector's bytes: these are then a copy,
   * which is from there on what the vector has.
   * @param column that the vector was made of: one that {@link rowsOf} returned
   * @param reads of the vector
   */
  hideMemory({ data: [data] }: { readonly data: readonly Data[] }, column: Column, reads: DirectReads): void {
    if (column.kind !== "variable" || column.lazy !== undefined) return;
    const { bytes } = column;
    if (sharedPageOf(column) === null && !this.#decoded.has(bytes.buffer as ArrayBuffer)) return;
    const become = (value: unknown): void => {
      reads.mayBe = false;
      Object.defineProperty(data, "values", { value, writable: true, enumerable: true, configurable: true });
    };
    let copy: Uint8Array | null = null;
    const copied = (): Uint8Array => {
      if (copy !== null) return copy;
      if (this.#isOver) {
        throw new TypeError("texts that a function was called with are gone once the call has ended");
      }
      copy = this.#lendForCopy(bytes.length);
      copy.set(bytes);
      become(copy);
      return copy;
    };
    this.#copies.push(copied);
    Object.defineProperty(data, "values", {
      get: copied,
      set: become,
      enumerable: true,
      configurable: true,
    });
  }

  /** What vectors show stays as it is, as long as somebody looks at it. */
  keep(): void {
    for (const copyOf of this.#copies) copyOf();
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

  /** Leaves all as it is, pages too, to those who look at it. */
  leave(): void {
    this.#lent.length = 0;
    this.#decoded.clear();
    for (const page of this.#used.splice(0)) this.#pages.leave(page);
  }

  #lendForTexts(byteLength: number): Uint8Array<ArrayBuffer> {
    const memory = this.#scratch.lend(byteLength);
    this.#decoded.add(memory.buffer);
    return memory;
  }

  #lendForCopy(byteLength: number): Uint8Array<ArrayBuffer> {
    const memory = this.#scratch.lend(byteLength);
    this.#lent.push(memory.buffer);
    // Behind the texts of this call lie those of others.
    new Uint8Array(memory.buffer, byteLength).fill(0);
    return memory;
  }

  #endUse(): void {
    this.#isOver = true;
    for (const reads of this.#reads) reads.mayBe = false;
    for (const memory of this.#decoded) this.#scratch.giveBack(new Uint8Array(memory));
    this.#decoded.clear();
    for (const page of this.#used.splice(0)) this.#pages.endUse(page);
  }
}

/**
 * The memory of pages of texts that threads decoded, of which rows are cut for calls: when all of these have
 * ended, threads get it again.
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
    // Rows that were picked, or that lie in two pages, are in a copy: it doesn't tell whether more will be
    // cut of a page.
    const mayBeCopies = columns.some(
      (column) => column.kind === "variable" && column.lazy === undefined && sharedPageOf(column) === null,
    );
    for (const [page, users] of this.#users) {
      if (current.has(page)) continue;
      if (mayBeCopies) {
        this.leave(page);
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

  /** It is never used for another page: nobody knows until when it is looked at. */
  leave(page: ArrayBufferLike): void {
    this.#users.delete(page);
    this.#cut.delete(page);
    this.#kept.add(page);
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
  column.kind === "variable" && column.lazy === undefined && isSharedMemory(column.bytes.buffer)
    ? column.bytes.buffer
    : null;

const unshared = (bytes: Uint8Array): Uint8Array => (isSharedMemory(bytes.buffer) ? bytes.slice() : bytes);

/**
 * A column without codes, and outside the memory of threads.
 * @param allocate makes the memory of texts that are decoded
 */
export function decodedColumn(
  column: Column,
  allocate: (byteLength: number) => Uint8Array<ArrayBuffer> = (byteLength) => new Uint8Array(byteLength),
): Column {
  if (sharedPageOf(column) !== null) return trimmedColumn(column, unshared);
  const coded = column.kind === "variable" ? codesIn(column) : null;
  if (column.kind !== "variable" || coded === null) return column;
  const { length, validity } = column;
  const decoded = coded.decode(coded.offsets.slice(), coded.codes, allocate);
  return { kind: "variable", length, validity, ...decoded } satisfies VariableColumn;
}
