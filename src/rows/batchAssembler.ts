/** Decodes pages, in turn or ahead in threads, and cuts batches that cross no page of any column. */

import type { Column } from "../arrow/columns/column.js";
import { columnBytes } from "../arrow/columns/columnBytes.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import { isNested } from "../arrow/columns/spine.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import type { WorkerPool } from "../async/workerPool.js";
import { InternalError } from "../errors.js";
import type { DataPage } from "../file/container/reader.js";
import { decodePage } from "../file/pages/decodePage.js";
import { byteCountOf, decodeInThread, isForThread } from "../file/pages/pageDecoding.js";
import type { EncodedRows } from "../file/pages/pageRows.js";
import { PageWindows } from "../file/pages/pageWindows.js";
import { Arena, type Lender } from "../io/memory/arena.js";
import type { MemoryShare } from "../memory.js";
import { HeldBlocks, leastRowBytes, rowsOfBatch } from "./batchSize.js";
import { assembleOutputs, type LeafPlan } from "./leafPlan.js";
import type { RowSpan } from "./openColumns.js";
import { type RowPositions, unskipped } from "./rowPositions.js";

/** Maximum rows of a batch. Rows without bytes take memory too, for nulls and row ids. */
const MAX_BATCH_ROWS = 1_048_576;
/** Minimum bytes of a page after whose decoding the event loop gets a turn. */
const LARGE_PAGE_BYTES = 1024 * 1024;

/** Name of the use of memory by decoded pages and by a batch cut from them. */
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
   */
  readonly keeps?: "dictionaries" | "itemDictionaries" | undefined;
  /**
   * Outputs that count toward the bytes of a batch, once for each time that they occur. Default: each once.
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

/** Threads that decode pages ahead of their turn. */
export interface PageThreads {
  readonly pool: WorkerPool;
  /** Lends memory for texts, which are then valid until the next batch. Null: texts have their own memory. */
  readonly lender: Lender<SharedArrayBuffer> | null;
}

/** A page that waits for its turn. */
interface WaitingPage extends LeafPage {
  /** The values if a thread decodes them, null if no thread does, undefined if nobody has decided yet. */
  decoding: Promise<Column> | null | undefined;
  /** Holds the texts that a thread decodes, if their memory is lent. */
  texts: Arena<SharedArrayBuffer> | null;
}

/** Rows as the outputs of a plan. Blobs are descriptors. */
export interface AssembledRows {
  readonly columns: readonly Column[];
  readonly rowCount: number;
  readonly positions: RowPositions;
}

/** A page that is being cut into batches. */
interface CurrentPage {
  readonly rowEnd: number;
  readonly rowStart: number;
  /** Its values, or a window that decodes some of them at a time. */
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
  /** Null if this thread decodes all pages. */
  readonly #threads: PageThreads | null;
  /** Number of waiting pages that a thread may decode, and that no thread was asked to decode yet. */
  #undecided = 0;
  readonly #current: (CurrentPage | null)[];
  /** By leaf: number of outputs that return it. */
  readonly #copies: readonly number[];
  /** One of the files, for errors. */
  readonly #path: string;
  /** By leaf: holds the values of its current batch or page; null if these have memory of their own. */
  readonly #reused: readonly Arena[] | null;
  /** By leaf: holds the texts of its current page if their memory is lent. */
  readonly #texts: (Arena<SharedArrayBuffer> | null)[];
  #row: number;

  constructor(
    plan: LeafPlan,
    span: RowSpan,
    bounds: BatchBounds,
    reused: readonly Arena[] | null = null,
    threads: PageThreads | null = null,
  ) {
    // Threads decode whole pages; reused memory holds one window of a page.
    if (reused !== null && threads !== null)
      throw new InternalError("a batch in reused memory cannot go to threads");
    this.#reused = reused;
    this.#threads = threads;
    this.span = span;
    this.#plan = plan;
    this.#batchRows = Math.min(bounds.batchRows, MAX_BATCH_ROWS);
    this.#batchBytes = bounds.batchBytes;
    this.#keeps = bounds.keeps;
    this.#queues = span.stored.map(() => []);
    this.#current = span.stored.map(() => null);
    this.#texts = span.stored.map(() => null);
    this.#path = span.stored.find((stored) => stored !== null)?.file.path ?? "";
    this.#row = span.start;
    const { outputs, leaves } = plan;
    this.#returned = bounds.returned ?? [...outputs.keys()];
    const copies = leaves.map(() => 0);
    for (const output of this.#returned) for (const leaf of outputs[output].leaves) copies[leaf]++;
    this.#copies = copies;
  }

  /** The first row that no batch has. */
  get row(): number {
    return this.#row;
  }

  /** Adds the next page of its leaf. */
  add(page: LeafPage): void {
    const { layout, buffers } = page.rows;
    const isUndecided =
      this.#threads !== null &&
      isForThread(this.#plan.leaves[page.leaf].layout, layout, byteCountOf(buffers));
    if (isUndecided) this.#undecided++;
    this.#queues[page.leaf].push({ ...page, decoding: isUndecided ? undefined : null, texts: null });
  }

  /** Gives the next pages to threads: one to each, and one more that waits if no memory is lent for it. */
  #decodeAhead({ pool, lender }: PageThreads): void {
    const most = pool.size + (lender === null ? 1 : 0);
    let count = 0;
    for (const queue of this.#queues) for (const { decoding } of queue) if (decoding != null) count++;
    for (let position = 0; position < most; position++) {
      for (const queue of this.#queues) {
        const page = queue[position];
        if (count === most || page === undefined) continue;
        if (page.decoding !== undefined) continue;
        this.#undecided--;
        const texts = lender === null ? null : new Arena(lender);
        page.decoding = decodeInThread(pool, this.#plan.leaves[page.leaf].layout, page.rows, texts);
        if (page.decoding === null) continue;
        page.texts = texts;
        count++;
      }
    }
  }

  /** Cuts the next batch, which may have no rows. All of its pages are current. */
  next(): AssembledRows {
    const end = this.#batchEnd();
    const batch = this.#cut(this.#row, end);
    this.#row = end;
    return batch;
  }

  /** Ends the use of the current pages. Nobody reads a batch any more. */
  release(): void {
    for (const texts of this.#texts.splice(0)) texts?.release();
  }

  /** Returns the bytes that the current pages and a batch cut from them take. */
  heldBytes(batch: AssembledRows): number {
    return new HeldBlocks([...this.#currentColumns(), ...batch.columns]).bytes;
  }

  #currentColumns(): (Column | null)[] {
    return this.#current.map((current) =>
      current === null || current.values instanceof PageWindows ? null : current.values,
    );
  }

  /** Makes the pages with the next row current, leaf by leaf; false if one is missing, and at the end. */
  async advance(memory: MemoryShare | undefined): Promise<boolean> {
    if (this.#row >= this.span.end) return false;
    await yieldToEventLoop();
    if (this.#undecided > 0 && this.#threads !== null) this.#decodeAhead(this.#threads);
    const held = new HeldBlocks(memory && this.#currentColumns());
    for (let index = 0; index < this.#queues.length; index++) {
      if (this.span.stored[index] === null) continue;
      if (!this.#isDue(index)) continue;
      const next = this.#queues[index].shift();
      if (next === undefined) {
        this.#current[index] = null;
        return false;
      }
      this.#texts[index]?.release();
      this.#texts[index] = next.texts;
      if (memory !== undefined) {
        const room = memory.hold(PAGES, held.bytes + this.#leastBytes(next));
        if (room !== undefined) await room;
      }
      if (memory === undefined && this.#open(next)) continue;
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

  /** True if the leaf's next page holds the next row. */
  #isDue(leaf: number): boolean {
    const current = this.#current[leaf];
    return current === null || current.rowEnd <= this.#row;
  }

  /** Returns the minimum bytes that a page takes, before it is decoded. */
  #leastBytes({ leaf, rows: { rowCount, buffers } }: LeafPage): number {
    let bytes = rowCount * leastRowBytes(this.#plan.leaves[leaf].layout);
    for (const { byteLength } of buffers) bytes += byteLength;
    return bytes;
  }

  /** Makes a page current that is decoded window by window. Returns false if the page is decoded whole. */
  #open({ leaf, page, rows }: LeafPage): boolean {
    if (this.#reused === null || this.#batchBytes !== undefined) return false;
    const { layout } = this.#plan.leaves[leaf];
    const windows = PageWindows.of(layout, rows, this.#reused[leaf], this.#keepsDictionary(leaf));
    if (windows === null) return false;
    const rowStart = page.rowStart + rows.rows.starts[0];
    this.#current[leaf] = { rowStart, rowEnd: rowStart + rows.rowCount, values: windows, rowBytes: 0 };
    return true;
  }

  /** @param isLazy true if the page's bytes stay valid as long as the values made from them */
  #decode({ leaf, rows: { rowCount, layout, buffers, origin } }: LeafPage, isLazy: boolean): Column {
    const leafLayout = this.#plan.leaves[leaf].layout;
    const reused = isLazy ? this.#reused?.[leaf] : undefined;
    reused?.recycle();
    return decodePage(leafLayout, layout, rowCount, buffers, origin, {
      keepsDictionary: this.#keepsDictionary(leaf),
      ...(reused && { allocateTexts: (byteLength) => reused.lend(byteLength) }),
      // The bytes of a batch are known only once its values are decoded.
      ...(reused &&
        this.#batchBytes === undefined && { allocate: (byteLength) => reused.lend(byteLength).fill(0) }),
    });
  }

  #makeCurrent({ leaf, page, rows: { rows, rowCount } }: LeafPage, column: Column): Column {
    const rowStart = page.rowStart + rows.starts[0];
    const rowBytes = this.#batchBytes === undefined ? 0 : columnBytes(column) / rowCount;
    this.#current[leaf] = { rowStart, rowEnd: rowStart + rowCount, values: column, rowBytes };
    return column;
  }

  #keepsDictionary(leaf: number): boolean {
    const keeps = this.#keeps;
    const { layout, storage } = this.#plan.leaves[leaf];
    if (keeps === undefined || storage !== "values") return false;
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
    // Skipped rows go before the parts of a column from several files are merged: the parts may disagree
    // about those rows.
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
