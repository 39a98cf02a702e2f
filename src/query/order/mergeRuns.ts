/**
 * Merges sorted rows of several sources into one order. Rows of equal keys keep the order of their sources.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { BatchRows } from "../scan/scan.js";
import { compareRows, type KeyOrder, type SortKeys, sortKeys } from "./sortKeys.js";

/** Maximum rows of a batch that is merged. */
const MERGED_ROWS = 8192;
/** Bytes of blocks used up from which on a batch ends. */
const MERGED_BYTES = 4 * 1024 * 1024;

/** Where the reading of a source has come to. */
interface Cursor {
  readonly source: number;
  readonly blocks: AsyncIterator<BatchRows>;
  columns: readonly Column[];
  rowCount: number;
  keys: SortKeys;
  row: number;
  /** First row that the batch being made takes. */
  firstRow: number;
  /** Number of the part of that batch that the rows of the block are; -1 while it takes none. */
  part: number;
}

/**
 * @param keyPlaces of the columns that are the keys
 */
export async function* mergeRuns(
  sources: readonly AsyncIterable<BatchRows>[],
  orders: readonly KeyOrder[],
  keyPlaces: readonly number[],
): AsyncGenerator<BatchRows, void, undefined> {
  const keysOf = ({ columns, rowCount }: BatchRows): SortKeys =>
    sortKeys(
      orders,
      keyPlaces.map((position) => columns[position]),
      rowCount,
    );
  const opened: AsyncIterator<BatchRows>[] = [];
  try {
    const cursors: Cursor[] = [];
    for (const [source, blocks] of sources.entries()) {
      const iterator = blocks[Symbol.asyncIterator]();
      opened.push(iterator);
      const first = await iterator.next();
      if (first.done === true) continue;
      const { columns, rowCount } = first.value;
      const keys = keysOf(first.value);
      cursors.push({ source, blocks: iterator, columns, rowCount, keys, row: 0, firstRow: 0, part: -1 });
    }
    const heap = new CursorHeap(cursors);
    while (heap.size > 0) {
      await yieldToEventLoop();
      yield await mergeBatch(heap, keysOf);
    }
  } finally {
    for (const iterator of opened) await iterator.return?.();
  }
}

async function mergeBatch(heap: CursorHeap, keysOf: (block: BatchRows) => SortKeys): Promise<BatchRows> {
  const parts: (readonly Column[])[] = [];
  const partOf = new Uint32Array(MERGED_ROWS);
  /** Row within the part. */
  const rowOf = new Uint32Array(MERGED_ROWS);
  const open: Cursor[] = [];
  let count = 0;
  const close = (cursor: Cursor): readonly Column[] => {
    const { firstRow, row, part } = cursor;
    parts[part] = cursor.columns.map((column) => sliceColumn(column, firstRow, row - firstRow));
    cursor.part = -1;
    return parts[part];
  };
  let partCount = 0;
  let bytes = 0;
  while (count < MERGED_ROWS && bytes < MERGED_BYTES && heap.size > 0) {
    const cursor = heap.first;
    if (cursor.part < 0) {
      cursor.part = partCount++;
      cursor.firstRow = cursor.row;
      open.push(cursor);
    }
    partOf[count] = cursor.part;
    rowOf[count] = cursor.row - cursor.firstRow;
    count++;
    cursor.row++;
    if (cursor.row === cursor.rowCount) {
      bytes += close(cursor).reduce((sum, column) => sum + columnBytes(column), 0);
      const next = await cursor.blocks.next();
      if (next.done === true) {
        heap.removeFirst();
        continue;
      }
      const { columns, rowCount } = next.value;
      Object.assign(cursor, { columns, rowCount, keys: keysOf(next.value), row: 0 });
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

/** The cursors with the one whose row comes first at the top. */
class CursorHeap {
  readonly #cursors: Cursor[];

  constructor(cursors: readonly Cursor[]) {
    this.#cursors = [...cursors];
    for (let index = this.#cursors.length >>> 1; index >= 0; index--) this.#sink(index);
  }

  get size(): number {
    return this.#cursors.length;
  }

  get first(): Cursor {
    return this.#cursors[0];
  }

  /** To be called when the first cursor has gone on. */
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
        if (isBefore(cursors[child], cursors[least])) least = child;
      }
      if (least === index) return;
      [cursors[index], cursors[least]] = [cursors[least], cursors[index]];
      index = least;
    }
  }
}

function isBefore(one: Cursor, other: Cursor): boolean {
  const order = compareRows(one.keys, one.row, other.keys, other.row);
  return order === 0 ? one.source < other.source : order < 0;
}
