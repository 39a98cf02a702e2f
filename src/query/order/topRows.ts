/**
 * Finds the first rows of an order without sorting or keeping all rows. Keeps copies only. Passes over rows
 * that come after the last of the first rows so far. Keeps the others until there are twice as many as
 * wanted, or they take much memory; it then sorts them.
 */

import type { Column } from "../../arrow/columns/column.js";
import { valueBytes } from "../../arrow/columns/columnBytes.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import type { BatchRows } from "../scan/scan.js";
import { orderOfRows } from "./orderOfRows.js";
import { SortBound } from "./sortBound.js";
import { compareRows, type KeyOrder, makeSortKeys, type SortKeys, sortKeys } from "./sortKeys.js";

/** Minimum rows that are kept before they are sorted. */
const MIN_KEPT_ROWS = 4096;
/** Minimum bytes that are kept before fewer than {@link MIN_KEPT_ROWS} rows are sorted. */
const MIN_KEPT_BYTES = 2 ** 24;
/** Bytes of rows that one step reads or copies. */
const STEP_BYTES = 2 ** 20;

export class TopRows {
  readonly #orders: readonly KeyOrder[];
  readonly #count: number;
  readonly #mostKept: number;
  /** Columns of the kept rows, in the order in which they came. */
  #parts: (readonly Column[])[] = [];
  #keptRows = 0;
  #keptBytes = 0;
  /** Bytes of the rows that the last sort has kept. */
  #firstBytes = 0;
  /** Keys of the last of the first rows, once there are that many. */
  #last: SortKeys | null = null;
  /** Bound that passes over most rows; null as long as there is none. */
  #bound: SortBound | null = null;

  /** @param count number of wanted rows, at least 1 */
  constructor(orders: readonly KeyOrder[], count: number) {
    this.#orders = orders;
    this.#count = count;
    this.#mostKept = Math.max(MIN_KEPT_ROWS, 2 * count);
  }

  /** @param columns with the keys first */
  async add(columns: readonly Column[], rowCount: number): Promise<void> {
    for (let start = 0; start < rowCount; ) {
      let count = this.#last === null ? Math.min(this.#mostKept, rowCount - start) : rowCount - start;
      let part = columns.map((column) => sliceColumn(column, start, count));
      while (count > 1 && valueBytes(part) > STEP_BYTES) {
        count = Math.ceil(count / 2);
        part = columns.map((column) => sliceColumn(column, start, count));
      }
      await this.#addPart(part, count);
      start += count;
      if (start < rowCount) await yieldToEventLoop();
    }
  }

  async #addPart(all: readonly Column[], allCount: number): Promise<void> {
    const some = this.#bound === null ? null : await this.#bound.rowsBefore(all[0], allCount);
    if (some?.length === 0) return;
    const columns = some === null ? all : all.map((column) => takeColumn(column, some));
    const rowCount = some?.length ?? allCount;
    const rows =
      this.#last === null ? null : this.#before(sortKeys(this.#orders, columns, rowCount), this.#last);
    if (rows?.length === 0) return;
    // A copy even if all rows are kept: a part of a column would keep the memory of the whole column.
    const kept = rows ?? Uint32Array.from({ length: rowCount }, (_, row) => row);
    const part = columns.map((column) => takeColumn(column, kept));
    this.#parts.push(part);
    this.#keptRows += kept.length;
    this.#keptBytes += valueBytes(part);
    if (this.#keptRows >= this.#mostKept || this.#areLarge) await this.#cut();
  }

  /** True if the kept rows take so much memory that sorting them pays early. */
  get #areLarge(): boolean {
    return this.#keptRows > this.#count && this.#keptBytes > Math.max(MIN_KEPT_BYTES, 2 * this.#firstBytes);
  }

  /** Returns the rows that come before the last one. */
  #before(keys: SortKeys, last: SortKeys): Uint32Array {
    const rows = new Uint32Array(keys.rowCount);
    let count = 0;
    const [{ words, stride, ranks }] = keys.lanes;
    const [bound] = last.lanes;
    // The first word of the first key decides about most rows.
    const isPlain = stride > 0 && ranks === null && bound.ranks === null;
    const limit = bound.words[0];
    for (let row = 0; row < keys.rowCount; row++) {
      if (isPlain && words[row * stride] > limit) continue;
      if (compareRows(keys, row, last, 0) < 0) rows[count++] = row;
    }
    return rows.slice(0, count);
  }

  /** Sorts the kept rows, and keeps the first ones. */
  async #cut(): Promise<void> {
    const columns: Column[] = [];
    for (const index of this.#parts[0].keys()) {
      columns.push(await runAsync(concatInSteps(this.#parts.map((part) => part[index]))));
    }
    const keys = await runAsync(makeSortKeys(this.#orders, columns, this.#keptRows));
    const rows = (await runAsync(orderOfRows(keys))).slice(0, this.#count);
    const rowBytes = this.#keptBytes / this.#keptRows;
    const stepRows = Math.max(1, Math.floor(STEP_BYTES / Math.max(rowBytes, 1)));
    this.#parts = [];
    this.#keptBytes = 0;
    for (let start = 0; start < rows.length; start += stepRows) {
      const some = rows.subarray(start, start + stepRows);
      const part = columns.map((column) => takeColumn(column, some));
      this.#parts.push(part);
      this.#keptBytes += valueBytes(part);
      await yieldToEventLoop();
    }
    this.#firstBytes = this.#keptBytes;
    this.#keptRows = rows.length;
    if (rows.length < this.#count) return;
    const lastPart = this.#parts[this.#parts.length - 1];
    const lastRow = lastPart.map((column) => sliceColumn(column, column.length - 1, 1));
    this.#last = sortKeys(this.#orders, lastRow, 1);
    this.#bound = SortBound.of(this.#orders, lastRow[0]);
  }

  /** Returns the first rows, in order. */
  async finish(): Promise<readonly BatchRows[]> {
    if (this.#keptRows === 0) return [];
    await this.#cut();
    return this.#parts.map((columns) => ({ columns, rowCount: columns[0].length }));
  }
}
