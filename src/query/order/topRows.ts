/**
 * The first rows of an order, found without sorting all rows or keeping them; nothing that was added is kept as it is. Rows that come after the last of those
 * found so far are passed over; the others are kept until there are twice as many as wanted, and are sorted then.
 */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { goThrough } from "../../async/eventLoop.js";
import { orderOfRows } from "./orderOfRows.js";
import { SortBound } from "./sortBound.js";
import { compareRows, type KeyOrder, type SortKeys, sortKeys } from "./sortKeys.js";

/** Minimum rows that are kept before they are sorted. */
const MIN_KEPT_ROWS = 4096;

export class TopRows {
  readonly #orders: readonly KeyOrder[];
  readonly #count: number;
  readonly #mostKept: number;
  /** Columns of the rows kept, in the order in which they came. */
  #parts: (readonly Column[])[] = [];
  #keptRows = 0;
  /** The keys of the last of the first rows, once there are that many. */
  #last: SortKeys | null = null;
  /** What most rows are passed over by; null as long as there is none. */
  #bound: SortBound | null = null;

  /** @param count number of rows that are wanted, at least 1 */
  constructor(orders: readonly KeyOrder[], count: number) {
    this.#orders = orders;
    this.#count = count;
    this.#mostKept = Math.max(MIN_KEPT_ROWS, 2 * count);
  }

  /** @param columns the keys first */
  async add(columns: readonly Column[], rowCount: number): Promise<void> {
    for (let start = 0; start < rowCount; ) {
      const count = this.#last === null ? Math.min(this.#mostKept, rowCount - start) : rowCount - start;
      await this.#addPart(
        columns.map((column) => sliceColumn(column, start, count)),
        count,
      );
      start += count;
    }
  }

  async #addPart(all: readonly Column[], allCount: number): Promise<void> {
    const some = this.#bound?.rowsBefore(all[0], allCount) ?? null;
    if (some?.length === 0) return;
    const columns = some === null ? all : all.map((column) => takeColumn(column, some));
    const rowCount = some?.length ?? allCount;
    const rows =
      this.#last === null ? null : this.#before(sortKeys(this.#orders, columns, rowCount), this.#last);
    if (rows?.length === 0) return;
    // Even where all are kept: a part of a column keeps the memory of all of it.
    const kept = rows ?? Uint32Array.from({ length: rowCount }, (_, row) => row);
    this.#parts.push(columns.map((column) => takeColumn(column, kept)));
    this.#keptRows += kept.length;
    if (this.#keptRows >= this.#mostKept) await this.#cut();
  }

  /** The rows that come before the last one. */
  #before(keys: SortKeys, last: SortKeys): Uint32Array {
    const rows = new Uint32Array(keys.rowCount);
    let count = 0;
    const [{ words, stride, ranks }] = keys.lanes;
    const [bound] = last.lanes;
    // Most rows are decided by the first word of the first key.
    const isPlain = stride > 0 && ranks === null && bound.ranks === null;
    const limit = bound.words[0];
    for (let row = 0; row < keys.rowCount; row++) {
      if (isPlain && words[row * stride] > limit) continue;
      if (compareRows(keys, row, last, 0) < 0) rows[count++] = row;
    }
    return rows.slice(0, count);
  }

  /** Sorts what is kept, and keeps the first rows. */
  async #cut(): Promise<void> {
    const columns = this.#parts[0].map((_, index) => concatColumns(this.#parts.map((part) => part[index])));
    const keys = sortKeys(this.#orders, columns, this.#keptRows);
    const rows = (await goThrough(orderOfRows(keys))).slice(0, this.#count);
    this.#parts = [columns.map((column) => takeColumn(column, rows))];
    this.#keptRows = rows.length;
    if (rows.length < this.#count) return;
    const lastRow = this.#parts[0].map((column) => sliceColumn(column, rows.length - 1, 1));
    this.#last = sortKeys(this.#orders, lastRow, 1);
    this.#bound = SortBound.of(this.#orders, lastRow[0]);
  }

  /** The first rows, in order; null where there are none. */
  async finish(): Promise<{ readonly columns: readonly Column[]; readonly rowCount: number } | null> {
    if (this.#keptRows === 0) return null;
    await this.#cut();
    return { columns: this.#parts[0], rowCount: this.#keptRows };
  }
}
