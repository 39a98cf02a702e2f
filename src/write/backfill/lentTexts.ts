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
import { InternalError } from "../../errors.js";
import { trimmedColumn } from "../../file/writing/heldColumns.js";
import { Arena, type Lender } from "../../io/memory/arena.js";

/**
 * True if single texts of a vector may be read where its column has them: it is the vector's memory, and
 * still lent.
 */
export interface DirectReads {
  mayBe: boolean;
}

/** The texts of one call. */
export class LentTexts {
  readonly #pages: TextPages;
  /** Holds texts that were decoded for the call, which no function sees. */
  readonly #decoded: Arena<ArrayBuffer>;
  /** Holds copies for functions. */
  readonly #copies: Arena<ArrayBuffer>;
  /** Pages in which texts of the call lie, with the arenas that hold them. */
  readonly #used: { readonly page: ArrayBufferLike; readonly arena: Arena | null }[] = [];
  /** The values of vectors whose bytes lie in pages; each call returns the same. */
  readonly #copyValues: (() => Uint8Array)[] = [];
  readonly #reads: DirectReads[] = [];
  #isOver = false;

  constructor(scratch: Lender<ArrayBuffer>, pages: TextPages) {
    this.#decoded = new Arena(scratch);
    this.#copies = new Arena({
      lend: (byteLength) => scratch.lend(byteLength),
      // Moved: a function that keeps a copy beyond the call finds it empty.
      giveBack: ({ buffer }) =>
        scratch.giveBack(new Uint8Array(structuredClone(buffer, { transfer: [buffer] }))),
    });
    this.#pages = pages;
  }

  /** The column, with its texts decoded where it has them as codes. Those in pages stay there. */
  decode(column: Column): Column {
    const page = sharedPageOf(column);
    if (page === null) return decodedColumn(column, (byteLength) => this.#decoded.lend(byteLength));
    this.#used.push({ page, arena: this.#pages.use(page) });
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
    if (sharedPageOf(column) === null && !this.#decoded.holds(bytes.buffer)) return;
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
    this.#copyValues.push(copied);
    Object.defineProperty(data, "values", {
      get: copied,
      set: become,
      enumerable: true,
      configurable: true,
    });
  }

  /** What vectors show stays as it is, as long as somebody looks at it. */
  keep(): void {
    for (const copyOf of this.#copyValues) copyOf();
    this.#copies.abandon();
    this.#endUse();
  }

  /** Ends the call. Nothing that is needed lies in its memory. */
  release(): void {
    this.#copies.release();
    this.#endUse();
  }

  /** Ends the call. All its memory, pages too, may be in use for longer. */
  abandon(): void {
    this.#copies.abandon();
    this.#decoded.abandon();
    for (const { page } of this.#used.splice(0)) this.#pages.abandon(page);
  }

  #lendForCopy(byteLength: number): Uint8Array<ArrayBuffer> {
    const memory = this.#copies.lend(byteLength);
    // Behind the texts of this call lie those of others.
    new Uint8Array(memory.buffer, byteLength).fill(0);
    return memory;
  }

  #endUse(): void {
    this.#isOver = true;
    for (const reads of this.#reads) reads.mayBe = false;
    this.#decoded.release();
    for (const { arena } of this.#used.splice(0)) arena?.release();
  }
}

/**
 * The memory of pages of texts that threads decoded, of which rows are cut for calls: when all of these have
 * ended, threads get it again.
 */
export class TextPages {
  readonly #lender: Lender;
  /** By the memory of a page of which rows are cut: its arena, which the calls with these rows share. */
  readonly #arenas = new Map<ArrayBufferLike, Arena>();
  /** Pages whose memory may be in use for longer than any call. */
  readonly #kept = new WeakSet<ArrayBufferLike>();

  constructor(workers: Pick<WorkerPool, "giveBack"> | undefined) {
    this.#lender = {
      lend: () => {
        throw new InternalError("threads make the memory of pages");
      },
      giveBack: ({ buffer }) => workers?.giveBack(buffer),
    };
  }

  /** @param columns that rows are cut from now on; no more rows are cut from other pages */
  goOn(columns: readonly Column[]): void {
    const current = new Set<ArrayBufferLike | null>(columns.map(sharedPageOf));
    // Picked rows, and rows of two pages, are copies. They do not tell whether more rows will be cut from a page.
    const mayBeCopies = columns.some(
      (column) => column.kind === "variable" && column.lazy === undefined && sharedPageOf(column) === null,
    );
    for (const [page, arena] of this.#arenas) {
      if (current.has(page)) continue;
      if (mayBeCopies) this.abandon(page);
      this.#arenas.delete(page);
      arena.release();
    }
    for (const page of current) {
      if (page === null || this.#arenas.has(page) || this.#kept.has(page)) continue;
      const arena = new Arena(this.#lender);
      arena.adopt(new Uint8Array(page));
      this.#arenas.set(page, arena);
    }
  }

  /** Returns the arena of a page, with the caller as a further owner; null if the page stays as it is. */
  use(page: ArrayBufferLike): Arena | null {
    const arena = this.#arenas.get(page);
    arena?.share();
    return arena ?? null;
  }

  /** Lets nobody use the memory of a page again: it may be in use for longer than any call. */
  abandon(page: ArrayBufferLike): void {
    this.#arenas.get(page)?.abandon();
    this.#kept.add(page);
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
