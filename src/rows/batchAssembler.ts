/**
 * Cuts pages that were read into batches, and decodes each when it is its turn, or has threads decode it
 * ahead. A batch never crosses a page of any of its columns, so columns can be views of the bytes read.
 */

import type { Column, Layout } from "../arrow/columns/column.js";
import { columnBytes } from "../arrow/columns/columnBytes.js";
import { codesIn } from "../arrow/columns/lazyColumn.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import { isNested } from "../arrow/columns/spine.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import type { WorkerPool } from "../async/workerPool.js";
import { InternalError } from "../errors.js";
import type { DataPage } from "../file/container/reader.js";
import { decodePage } from "../file/pages/decodePage.js";
import { byteCountOf, decodeInThread, isForThread } from "../file/pages/pageDecoding.js";
import { headOf } from "../file/pages/pageHead.js";
import type { EncodedRows } from "../file/pages/pageRows.js";
import { PageWindows } from "../file/pages/pageWindows.js";
import type { Arena } from "../io/memory/arena.js";
import type { MemoryShare } from "../memory.js";
import { HeldBlocks, leastRowBytes, rowsOfBatch } from "./batchSize.js";
import { assembleOutputs, type LeafPlan } from "./leafPlan.js";
import type { RowSpan } from "./openColumns.js";
import { type RowPositions, unskipped } from "./rowPositions.js";

/**
 * Maximum rows of a batch: columns that no file has, and row ids, take memory for rows that have no bytes.
 */
const MAX_BATCH_ROWS = 1_048_576;
/** Bytes of a page whose decoding is a piece of work by itself. */
const LARGE_PAGE_BYTES = 1024 * 1024;

/** Bytes of the first rows of a page that are decoded while a thread decodes the page, about. */
const HEAD_BYTES = 512 * 1024;

/** Bytes that a code stands for, at most. */
const MAX_SYMBOL_BYTES = 8;

/** Name of the use of memory by pages that were decoded, and a batch cut from them. */
export const PAGES = "pages";

export interface BatchBounds {
  /** Maximum rows of a batch. */
  readonly batchRows: number;
  /** Approximate bytes of a batch. Default: as much as pages have. */
  readonly batchBytes?: number;
  /**
   * Encoded form that columns may keep. Default: none, all values are decoded.
   *
   * - `dictionaries`: a column of single values may be a dictionary if its pages store each value once.
   * - `itemDictionaries`: so may the items of a list of single values.
   * - `codes`: long texts may stay codes until somebody reads them, before the next batch is asked for. A
   *   part of the column that is cut out is decoded by itself, in little memory. Texts that threads decode
   *   are in shared memory, which the reader of the batch gives back to the threads. Ignored if memory is
   *   accounted for.
   */
  readonly keeps?: "dictionaries" | "itemDictionaries" | "codes" | undefined;
  /**
   * The outputs that make up the bytes of a batch; one that is used twice counts twice. Default: each once.
   */
  readonly returned?: readonly number[];
}

/** Rows of a page, and the leaf they belong to. */
export interface LeafPage {
  /** Index of the leaf in the plan. */
  readonly leaf: number;
  readonly page: DataPage;
  readonly rows: EncodedRows;
}

/** A page that waits for its turn. */
interface WaitingPage extends LeafPage {
  /** Its values, where a thread decodes them; null where none does, undefined where none was asked. */
  decoding: Promise<Column> | null | undefined;
  /** Whether a thread was asked only when the page was due: its first rows are decoded here meanwhile. */
  isLate: boolean;
}

/** Rows as the outputs of a plan; blobs are descriptors. */
export interface AssembledRows {
  readonly columns: readonly Column[];
  readonly rowCount: number;
  readonly positions: RowPositions;
}

/** A page being cut into batches. */
interface CurrentPage {
  readonly rowEnd: number;
  readonly rowStart: number;
  /** Its values, or what decodes some of them at a time. */
  readonly values: Column | PageWindows;
  readonly rowBytes: number;
}

/** Assembles the pages of one span of rows to batches. */
export class BatchAssembler {
  readonly span: RowSpan;
  readonly #plan: LeafPlan;
  readonly #batchRows: number;
  readonly #batchBytes: number | undefined;
  readonly #keeps: BatchBounds["keeps"];
  readonly #returned: readonly number[];
  readonly #queues: WaitingPage[][];
  /** Threads that decode pages ahead of their turn; absent where they are decoded in line. */
  readonly #pool: WorkerPool | undefined;
  /** Pages that a thread may decode, and that none was asked for. */
  #undecided = 0;
  readonly #current: (CurrentPage | null)[];
  /** How often each leaf is returned. */
  readonly #copies: readonly number[];
  /** One of the files, for errors. */
  readonly #path: string;
  /** By leaf: holds the values of its current batch or page; null if these have memory of their own. */
  readonly #reused: readonly Arena[] | null;
  /** By leaf: holds the codes of its current page; null if texts are decoded at once. */
  readonly #codes: readonly Arena[] | null;
  #row: number;

  constructor(
    plan: LeafPlan,
    span: RowSpan,
    bounds: BatchBounds,
    reused: readonly Arena[] | null = null,
    pool?: WorkerPool,
    codes: readonly Arena[] | null = null,
  ) {
    // Threads decode whole pages, which is of no use where pages are decoded window by window.
    if (reused !== null && pool !== undefined) throw new InternalError("reused memory and threads at once");
    this.#codes = codes;
    this.#reused = reused;
    this.#pool = pool;
    this.span = span;
    this.#plan = plan;
    this.#batchRows = Math.min(bounds.batchRows, MAX_BATCH_ROWS);
    this.#batchBytes = bounds.batchBytes;
    this.#keeps = bounds.keeps;
    this.#queues = span.stored.map(() => []);
    this.#current = span.stored.map(() => null);
    this.#path = span.stored.find((stored) => stored !== null)?.file.path ?? "";
    this.#row = span.start;
    const { outputs, leaves } = plan;
    this.#returned = bounds.returned ?? [...outputs.keys()];
    const copies = leaves.map(() => 0);
    for (const output of this.#returned) for (const leaf of outputs[output].leaves) copies[leaf]++;
    this.#copies = copies;
  }

  /** The first row that no batch has had. */
  get row(): number {
    return this.#row;
  }

  /** Adds a page, the next of its leaf. */
  add(page: LeafPage): void {
    const { layout, buffers } = page.rows;
    const isUndecided =
      this.#pool !== undefined &&
      isForThread(this.#plan.leaves[page.leaf].layout, layout, byteCountOf(buffers));
    if (isUndecided) this.#undecided++;
    this.#queues[page.leaf].push({ ...page, decoding: isUndecided ? undefined : null, isLate: false });
  }

  /**
   * Has threads decode the pages that come next: as many as there are threads, and one that waits for them.
   */
  #decodeAhead(pool: WorkerPool): void {
    const most = pool.size + 1;
    let count = 0;
    for (const queue of this.#queues) for (const { decoding } of queue) if (decoding != null) count++;
    for (let position = 0; position < most; position++) {
      for (const [leaf, queue] of this.#queues.entries()) {
        const page = queue[position];
        if (count === most || page === undefined) continue;
        if (page.decoding !== undefined) continue;
        this.#undecided--;
        const { layout } = this.#plan.leaves[page.leaf];
        const mayBeCodes = this.#mayBeCodes(layout);
        page.decoding = decodeInThread(pool, layout, page.rows, mayBeCodes);
        if (page.decoding === null) continue;
        page.isLate = mayBeCodes && position === 0 && this.#isDue(leaf);
        count++;
      }
    }
  }

  /** The next batch, which may have no rows. Its pages must be current. */
  next(): AssembledRows {
    const end = this.#batchEnd();
    const batch = this.#cut(this.#row, end);
    this.#row = end;
    return batch;
  }

  /** Bytes held by the current pages and a batch cut from them. */
  heldBytes(batch: AssembledRows): number {
    return new HeldBlocks([...this.#currentColumns(), ...batch.columns]).bytes;
  }

  #currentColumns(): (Column | null)[] {
    return this.#current.map((current) =>
      current === null || current.values instanceof PageWindows ? null : current.values,
    );
  }

  /**
   * Makes the page that holds the next row current in every leaf, one leaf after the other: the memory that a
   * page takes is known only when it was decoded, and the next page has to wait for room then. Returns false
   * if a page has not been added yet, and at the end of the span.
   */
  async advance(memory: MemoryShare | undefined): Promise<boolean> {
    if (this.#row >= this.span.end) return false;
    await yieldToEventLoop();
    if (this.#undecided > 0 && this.#pool !== undefined) this.#decodeAhead(this.#pool);
    const held = new HeldBlocks(memory && this.#currentColumns());
    for (let index = 0; index < this.#queues.length; index++) {
      if (this.span.stored[index] === null) continue;
      if (!this.#isDue(index)) continue;
      const next = this.#queues[index].shift();
      if (next === undefined) {
        this.#current[index] = null;
        return false;
      }
      if (memory !== undefined) {
        const room = memory.hold(PAGES, held.bytes + this.#leastBytes(next));
        if (room !== undefined) await room;
      }
      if (memory === undefined && this.#open(next)) continue;
      if (next.isLate && this.#openHead(next)) continue;
      const leastBytes = this.#leastBytes(next);
      const { decoding } = next;
      if (decoding === undefined) this.#undecided--;
      const column = this.#makeCurrent(
        next,
        decoding != null ? await decoding : this.#decode(next, memory === undefined),
      );
      if (memory === undefined) {
        if (leastBytes >= LARGE_PAGE_BYTES) await yieldToEventLoop();
        continue;
      }
      held.add(column);
      memory.note(PAGES, held.bytes);
      await yieldToEventLoop();
    }
    return true;
  }

  /** Whether a leaf's next page holds the next row. */
  #isDue(leaf: number): boolean {
    const current = this.#current[leaf];
    return current === null || current.rowEnd <= this.#row;
  }

  /** Minimum bytes that a page takes, before it is decoded. */
  #leastBytes({ leaf, rows: { rowCount, buffers } }: LeafPage): number {
    let bytes = rowCount * leastRowBytes(this.#plan.leaves[leaf].layout);
    for (const { byteLength } of buffers) bytes += byteLength;
    return bytes;
  }

  /** Makes a page current of which some rows are decoded at a time; false for one that is decoded whole. */
  #open({ leaf, page, rows }: LeafPage): boolean {
    if (this.#reused === null || this.#batchBytes !== undefined) return false;
    const { layout } = this.#plan.leaves[leaf];
    const windows = PageWindows.of(layout, rows, this.#reused[leaf], this.#keepsDictionary(leaf));
    if (windows === null) return false;
    const rowStart = page.rowStart + rows.rows.starts[0];
    this.#current[leaf] = { rowStart, rowEnd: rowStart + rows.rowCount, values: windows, rowBytes: 0 };
    return true;
  }

  /**
   * Makes the first rows of a page current, and has the page wait behind them; false for one that is not cut.
   */
  #openHead(page: WaitingPage): boolean {
    page.isLate = false;
    const { leaf, rows } = page;
    // Rows before the first one that is wanted would be decoded for nothing.
    if (this.#row !== page.page.rowStart) return false;
    const share = Math.ceil((rows.rowCount * HEAD_BYTES) / byteCountOf(rows.buffers));
    const rowCount = Math.ceil(share / this.#batchRows) * this.#batchRows;
    const head = rowCount < rows.rowCount ? headOf(rows, rowCount) : null;
    if (head === null) return false;
    const own = { leaf, page: page.page, rows: head };
    this.#makeCurrent(own, this.#decode(own, true));
    this.#queues[leaf].unshift(page);
    return true;
  }

  /**
   * @param isLazy whether values may wait until they are looked at, where the bytes that they are made of
   * last as long
   */
  #decode({ leaf, rows: { rowCount, layout, buffers, origin } }: LeafPage, isLazy: boolean): Column {
    const own = this.#plan.leaves[leaf];
    const reused = isLazy && this.#batchBytes === undefined ? this.#reused?.[leaf] : undefined;
    const codes = isLazy && this.#mayBeCodes(own.layout) ? this.#codes?.[leaf] : undefined;
    reused?.recycle();
    codes?.recycle();
    return decodePage(own.layout, layout, rowCount, buffers, origin, {
      keepsDictionary: this.#keepsDictionary(leaf),
      ...(codes && { allocateCodes: (byteLength) => codes.lend(byteLength).fill(0) }),
      ...(reused && { allocate: (byteLength) => reused.lend(byteLength).fill(0) }),
    });
  }

  /** Within lists and structs, nobody would know that there are codes. */
  #mayBeCodes({ kind }: Layout): boolean {
    return this.#codes !== null && kind === "variable";
  }

  #makeCurrent({ leaf, page, rows: { rows, rowCount } }: LeafPage, column: Column): Column {
    const rowStart = page.rowStart + rows.starts[0];
    const rowBytes = this.#batchBytes === undefined ? 0 : mostBytes(column) / rowCount;
    this.#current[leaf] = { rowStart, rowEnd: rowStart + rowCount, values: column, rowBytes };
    return column;
  }

  #keepsDictionary(leaf: number): boolean {
    const keeps = this.#keeps;
    const { layout, storage } = this.#plan.leaves[leaf];
    if ((keeps !== "dictionaries" && keeps !== "itemDictionaries") || storage !== "values") return false;
    if (!isNested(layout)) return true;
    return keeps === "itemDictionaries" && layout.kind === "list" && !isNested(layout.item);
  }

  #batchEnd(): number {
    const batchBytes = this.#batchBytes;
    let end = Math.min(this.span.end, this.#row + this.#batchRows);
    for (const current of this.#current) if (current !== null) end = Math.min(end, current.rowEnd);
    if (batchBytes === undefined) return end;
    let rowBytes = 0;
    for (const [index, { layout }] of this.#plan.leaves.entries()) {
      rowBytes += this.#copies[index] * (this.#current[index]?.rowBytes ?? leastRowBytes(layout));
    }
    return Math.min(end, this.#row + rowsOfBatch(batchBytes, this.#returned.length, rowBytes));
  }

  #cut(start: number, end: number): AssembledRows {
    const { skipped } = this.span;
    const kept = skipped === null || skipped.length === 0 ? null : unskipped(start, end, skipped);
    const picked = kept === null || kept.length === end - start ? null : kept;
    const rowCount = picked?.length ?? end - start;
    // Skipped rows are removed before parts of one column from several files are merged: the parts may
    // disagree about those rows.
    const read = this.#current.map((current) => {
      if (current === null) return null;
      const { values, rowStart } = current;
      const column =
        values instanceof PageWindows
          ? values.rows(start - rowStart, end - rowStart)
          : sliceColumn(values, start - rowStart, end - start);
      return picked === null ? column : takeColumn(column, picked);
    });
    const columns = assembleOutputs(this.#plan, read, rowCount, this.#path);
    return { columns, rowCount, positions: { start, picked } };
  }
}

/** Bytes that a column takes at most: codes are not decoded for that. */
function mostBytes(column: Column): number {
  const coded = column.kind === "variable" ? codesIn(column) : null;
  return coded === null ? columnBytes(column) : coded.codes.length * MAX_SYMBOL_BYTES;
}
