/**
 * Groups rows by value for indexes with one row set per value. Few values and rows are counted and scattered
 * in memory, and only the values are sorted. Further rows go through an external sort, whose memory is
 * bounded.
 */

import type { Column } from "../../arrow/columns/column.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { plainColumn, readIndices } from "../../arrow/columns/dictionaries.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isSet } from "../../arrow/columns/validity.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { enlarged } from "../../bytes/growing.js";
import { integerWords } from "../indexColumns.js";
import type { IndexRows, IndexTarget, RowStream } from "../kind.js";
import { RowIds } from "../rowIds.js";
import { orderedValues, sortedOrder } from "../valueOrder.js";
import { groupRows, mergeGroups, type ValueGroups } from "./valueGroups.js";
import { ValueNumbers } from "./valueNumbers.js";

/** Limits on values and rows in memory, 20 bytes a row; further rows are sorted. */
const MAX_VALUES = 2 ** 15;
const MAX_ROWS = 2 ** 22;
/** Rows between yields. */
const STEP_ROWS = 16_384;
/** Limits on values and bytes of sets per batch. */
const ROUND_VALUES = 4096;
const ROUND_BYTES = 4 * 1024 * 1024;
/** Initial number of groups. */
const LEAST_COUNTS = 1024;
/** Group number of null. */
const NULLS = 0;
/** Marks a dictionary entry without a number. */
const UNKNOWN = -1;

/** Groups rows. @param type of the values */
export async function* groupByValue(
  rows: RowStream,
  type: LogicalType,
  sort: IndexTarget["sort"],
): AsyncGenerator<ValueGroups> {
  const grouped = new GroupedRows(type);
  const batches = rows[Symbol.asyncIterator]();
  try {
    for (let next = await batches.next(); next.done !== true; next = await batches.next()) {
      if (grouped.hasRoom) {
        await grouped.add(next.value);
        continue;
      }
      const sorted = sort(rest(next.value, batches), type);
      yield* mergeGroups([grouped.finish(), groupRows(sorted, type)], type);
      return;
    }
    yield* grouped.finish();
  } finally {
    await batches.return?.();
  }
}

async function* rest(first: IndexRows, batches: AsyncIterator<IndexRows>): RowStream {
  // A sort takes no dictionaries.
  const plain = (rows: IndexRows): IndexRows => ({ ...rows, values: plainColumn(rows.values) });
  yield plain(first);
  for (let next = await batches.next(); next.done !== true; next = await batches.next())
    yield plain(next.value);
}

/** Rows in memory with the group numbers of their values. */
class GroupedRows {
  readonly #numbers = new ValueNumbers();
  /** Values in the order of their numbers, in parts. */
  readonly #values: Column[] = [];
  /** Column of one null, once a row has one. */
  #nullValue: Column | null = null;
  /** Number of rows per group: null, then each value at its number plus 1. */
  #counts = new Uint32Array(LEAST_COUNTS);
  #groupCount = 1;
  /** Group and id of each row, in parts. */
  readonly #parts: { readonly groups: Uint32Array; readonly words: Uint32Array }[] = [];
  /** Last dictionary and the numbers of its values. */
  #entries: { readonly dictionary: Column; readonly numbers: Int32Array } | null = null;
  #rowCount = 0;

  constructor(private readonly type: LogicalType) {}

  get hasRoom(): boolean {
    return this.#groupCount <= MAX_VALUES && this.#rowCount < MAX_ROWS;
  }

  async add({ values, ids, rowCount }: IndexRows): Promise<void> {
    const words = integerWords(ids, "rows of an index");
    for (let start = 0; start < rowCount; start += STEP_ROWS) {
      const end = Math.min(start + STEP_ROWS, rowCount);
      const groups = this.#groupsOf(values, start, end);
      this.#parts.push({ groups, words: words.subarray(2 * start, 2 * end) });
      await yieldToEventLoop();
    }
    this.#rowCount += rowCount;
  }

  /** Returns the group of each row. */
  #groupsOf(values: Column, start: number, end: number): Uint32Array {
    const needed = this.#groupCount + end - start;
    if (needed > this.#counts.length) this.#counts = enlarged(this.#counts, needed);
    const counts = this.#counts;
    const validity = values.kind === "null" ? null : values.validity;
    const isAllNull = values.kind === "null";
    const groups = isAllNull ? new Uint32Array(end - start) : this.#numbersOf(values, start, end);
    if (validity === null && !isAllNull && this.#numbers.count < this.#groupCount) {
      countKnown(groups, counts);
      return groups;
    }
    const firstRows: number[] = [];
    let groupCount = this.#groupCount;
    let nullRow = -1;
    for (let index = 0; index < groups.length; index++) {
      const isNull = isAllNull || (validity !== null && !isSet(validity, start + index));
      const group = isNull ? NULLS : groups[index] + 1;
      if (isNull) nullRow = start + index;
      groups[index] = group;
      if (group === groupCount) {
        groupCount++;
        firstRows.push(start + index);
      }
      counts[group]++;
    }
    this.#groupCount = groupCount;
    if (nullRow >= 0) this.#nullValue ??= plainColumn(takeColumn(values, Uint32Array.of(nullRow)));
    if (firstRows.length > 0) this.#values.push(plainColumn(takeColumn(values, Uint32Array.from(firstRows))));
    return groups;
  }

  /** Returns the number of each row's value; that of a null has no meaning. */
  #numbersOf(values: Exclude<Column, { kind: "null" }>, start: number, end: number): Uint32Array {
    if (values.kind !== "dictionary") return this.#numbers.of(values, start, end);
    const { dictionary, validity } = values;
    if (this.#entries?.dictionary !== dictionary) {
      this.#entries = { dictionary, numbers: new Int32Array(dictionary.length).fill(UNKNOWN) };
    }
    const { numbers } = this.#entries;
    const entries = readIndices(sliceColumn(values, start, end - start));
    for (let index = lookUp(entries, numbers, 0); index < entries.length; ) {
      const entry = entries[index];
      // Number an entry with its first row: an unused entry is not a value.
      const isNull = validity !== null && !isSet(validity, start + index);
      if (!isNull) [numbers[entry]] = this.#numbers.of(dictionary, entry, entry + 1);
      index = isNull ? lookUp(entries, numbers, index + 1) : lookUp(entries, numbers, index);
    }
    return entries;
  }

  /** Yields the groups in value order, null first. */
  async *finish(): AsyncGenerator<ValueGroups> {
    const counts = this.#counts.subarray(0, this.#groupCount);
    const ends = new Uint32Array(counts.length);
    let rowCount = 0;
    for (const [group, count] of counts.entries()) {
      ends[group] = rowCount;
      rowCount += count;
    }
    const ids = new Uint32Array(2 * rowCount);
    for (const { groups, words } of this.#parts) {
      scatterIds(groups, words, ends, ids);
      await yieldToEventLoop();
    }
    const rowsOf = (group: number): RowIds =>
      RowIds.of(ids.subarray(2 * (ends[group] - counts[group]), 2 * ends[group]));
    if (this.#nullValue !== null) yield { keys: this.#nullValue, rows: [rowsOf(NULLS)] };
    if (this.#values.length === 0) return;
    const values = await runAsync(concatInSteps(this.#values));
    const order =
      (await runAsync(sortedOrder(orderedValues(this.type, values)))) ??
      Uint32Array.from({ length: values.length }, (_, number) => number);
    for (let start = 0; start < order.length; ) {
      const rows: RowIds[] = [];
      let bytes = 0;
      while (start + rows.length < order.length && rows.length < ROUND_VALUES && bytes < ROUND_BYTES) {
        const set = rowsOf(order[start + rows.length] + 1);
        rows.push(set);
        bytes += set.memoryWeight;
        await yieldToEventLoop();
      }
      yield { keys: takeColumn(values, order.subarray(start, start + rows.length)), rows };
      start += rows.length;
    }
  }
}

/** Replaces entries by value numbers. @returns the first row without a number, or the end */
function lookUp(entries: Uint32Array, numbers: Int32Array, start: number): number {
  for (let row = start; row < entries.length; row++) {
    const number = numbers[entries[row]];
    if (number === UNKNOWN) return row;
    entries[row] = number;
  }
  return entries.length;
}

/** Converts numbers of known values to groups, and counts rows. */
function countKnown(numbers: Uint32Array, counts: Uint32Array): void {
  for (let row = 0; row < numbers.length; row++) {
    const group = numbers[row] + 1;
    numbers[row] = group;
    counts[group]++;
  }
}

/** Writes each row's id at its group's next position; on return, that is one past the group's last id. */
function scatterIds(groups: Uint32Array, words: Uint32Array, positions: Uint32Array, ids: Uint32Array): void {
  for (let row = 0; row < groups.length; row++) {
    const position = positions[groups[row]]++;
    ids[2 * position] = words[2 * row];
    ids[2 * position + 1] = words[2 * row + 1];
  }
}
