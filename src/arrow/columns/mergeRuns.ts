/** Merges sorted runs of rows into one. Rows of equal keys keep the order of their runs. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { Column } from "./column.js";
import { columnBytes } from "./columnBytes.js";
import { concatColumns } from "./concatColumns.js";
import { sliceColumn } from "./sliceColumn.js";
import { takeColumn } from "./takeColumn.js";

/** Rows of a run. They stay valid while later rows of the run are read. */
export interface RunBlock {
  readonly columns: readonly Column[];
  readonly rowCount: number;
}

/** Compares rows by the keys of their blocks. */
export interface BlockOrder<Keys> {
  keysOf(block: RunBlock): Keys;
  /** Negative if row `i` of the first block comes before row `j` of the second, 0 if they are equal. */
  compare(one: Keys, i: number, two: Keys, j: number): number;
}

/** Maximum rows of a merged block. */
const MERGED_ROWS = 8192;
/** A merged block ends after blocks of this many bytes are used up. */
const MERGED_BYTES = 4 * 1024 * 1024;

/** A run, and its next row. */
interface Cursor<Keys> {
  readonly run: number;
  readonly blocks: AsyncIterator<RunBlock>;
  block: RunBlock;
  keys: Keys;
  row: number;
  /** First row of the block that the merged block takes. */
  firstRow: number;
  /** Index of these rows among the parts of the merged block; -1 while it takes none of them. */
  part: number;
}

export async function* mergeRuns<Keys>(
  runs: readonly AsyncIterable<RunBlock>[],
  order: BlockOrder<Keys>,
): AsyncGenerator<RunBlock> {
  const opened: AsyncIterator<RunBlock>[] = [];
  try {
    const cursors: Cursor<Keys>[] = [];
    for (const [run, rows] of runs.entries()) {
      const blocks = rows[Symbol.asyncIterator]();
      opened.push(blocks);
      const block = await nextBlock(blocks);
      if (block === null) continue;
      cursors.push({ run, blocks, block, keys: order.keysOf(block), row: 0, firstRow: 0, part: -1 });
    }
    const heap = new CursorHeap(cursors, order);
    while (heap.first !== undefined) {
      await yieldToEventLoop();
      yield await mergeBlock(heap, order);
    }
  } finally {
    for (const blocks of opened) await blocks.return?.();
  }
}

async function nextBlock(blocks: AsyncIterator<RunBlock>): Promise<RunBlock | null> {
  for (;;) {
    const { done, value } = await blocks.next();
    if (done === true) return null;
    if (value.rowCount > 0) return value;
  }
}

async function mergeBlock<Keys>(heap: CursorHeap<Keys>, order: BlockOrder<Keys>): Promise<RunBlock> {
  const parts: (readonly Column[])[] = [];
  const partOf = new Uint32Array(MERGED_ROWS);
  /** Row within the part. */
  const rowOf = new Uint32Array(MERGED_ROWS);
  const open: Cursor<Keys>[] = [];
  let count = 0;
  const close = (cursor: Cursor<Keys>): readonly Column[] => {
    const { block, firstRow, row, part } = cursor;
    parts[part] = block.columns.map((column) => sliceColumn(column, firstRow, row - firstRow));
    cursor.part = -1;
    return parts[part];
  };
  let bytes = 0;
  for (let cursor = heap.first; cursor !== undefined; cursor = heap.first) {
    if (count === MERGED_ROWS || bytes >= MERGED_BYTES) break;
    if (cursor.part < 0) {
      cursor.part = open.push(cursor) - 1;
      cursor.firstRow = cursor.row;
    }
    partOf[count] = cursor.part;
    rowOf[count] = cursor.row - cursor.firstRow;
    count++;
    cursor.row++;
    if (cursor.row === cursor.block.rowCount) {
      bytes += close(cursor).reduce((sum, column) => sum + columnBytes(column), 0);
      const block = await nextBlock(cursor.blocks);
      if (block === null) {
        heap.removeFirst();
        continue;
      }
      Object.assign(cursor, { block, keys: order.keysOf(block), row: 0 });
    }
    heap.sinkFirst();
  }
  for (const cursor of open) if (cursor.part >= 0) close(cursor);
  return { columns: gathered(parts, partOf, rowOf, count), rowCount: count };
}

function gathered(
  parts: readonly (readonly Column[])[],
  partOf: Uint32Array,
  rowOf: Uint32Array,
  count: number,
): Column[] {
  const starts = new Uint32Array(parts.length);
  for (let part = 1; part < parts.length; part++) starts[part] = starts[part - 1] + parts[part - 1][0].length;
  const positions = new Uint32Array(count);
  for (let row = 0; row < count; row++) positions[row] = starts[partOf[row]] + rowOf[row];
  return parts[0].map((_, index) => {
    const column = concatColumns(parts.map((part) => part[index]));
    return parts.length === 1 ? column : takeColumn(column, positions);
  });
}

/** Heap of cursors; the cursor whose row comes first is at the top. */
class CursorHeap<Keys> {
  readonly #cursors: Cursor<Keys>[];
  readonly #order: BlockOrder<Keys>;

  constructor(cursors: Cursor<Keys>[], order: BlockOrder<Keys>) {
    this.#cursors = cursors;
    this.#order = order;
    for (let index = cursors.length >>> 1; index >= 0; index--) this.#sink(index);
  }

  get first(): Cursor<Keys> | undefined {
    return this.#cursors[0];
  }

  /** Call this when the first cursor has another row. */
  sinkFirst(): void {
    this.#sink(0);
  }

  removeFirst(): void {
    const last = this.#cursors.pop();
    if (last === undefined || this.#cursors.length === 0) return;
    this.#cursors[0] = last;
    this.#sink(0);
  }

  #sink(from: number): void {
    const cursors = this.#cursors;
    for (let index = from; ; ) {
      let least = index;
      for (let child = 2 * index + 1; child <= 2 * index + 2 && child < cursors.length; child++) {
        if (this.#isBefore(cursors[child], cursors[least])) least = child;
      }
      if (least === index) return;
      [cursors[index], cursors[least]] = [cursors[least], cursors[index]];
      index = least;
    }
  }

  #isBefore(one: Cursor<Keys>, two: Cursor<Keys>): boolean {
    const order = this.#order.compare(one.keys, one.row, two.keys, two.row);
    return order === 0 ? one.run < two.run : order < 0;
  }
}
