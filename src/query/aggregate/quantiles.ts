/**
 * Quantiles with interpolation, of which the median is one. All values are kept until the end. Values beyond
 * a bound go to a file, which is sorted by group and value.
 */

import type { Column } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import type { Steps } from "../../async/eventLoop.js";
import { numbersOf } from "../../expression/values/operands.js";
import { FLOAT64 } from "../../expression/values/types.js";
import { type Accumulator, type GroupedRows, nullsOfRows, resultValidity, roomFor } from "./accumulator.js";
import { entriesByGroup } from "./byGroup.js";
import { between, rankOf, type SortedValues } from "./sortedValues.js";

/** Values that are sorted in one step. */
const SORTED_AT_ONCE = 2 ** 15;
/** Values that one step of a selection looks at. */
const STEP = 2 ** 16;

export class Quantiles implements Accumulator {
  readonly #fraction: number;
  readonly #spilled: SortedValues;
  #groups = new Uint32Array(64);
  #values = new Float64Array(64);
  #count = 0;
  #groupCount = 1;
  #results: Float64Array | null = null;
  #isThere = new Uint8Array(0);

  /** @param spilled takes values beyond the bound of memory */
  constructor(fraction: number, spilled: SortedValues) {
    this.#fraction = fraction;
    this.#spilled = spilled;
  }

  get byteLength(): number {
    return this.#groups.byteLength + this.#values.byteLength;
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *reserve(groupCount: number): Steps<void> {
    this.#groupCount = Math.max(groupCount, this.#groupCount);
  }

  *add(operand: Column | null, { groups, rowCount }: GroupedRows): Steps<void> {
    if (operand === null || operand.kind === "null") return;
    if (this.#spilled.isFull(this.#count + rowCount)) {
      yield this.#spilled.add(this.#groups.subarray(0, this.#count), this.#values.subarray(0, this.#count));
      this.#count = 0;
    }
    this.#groups = yield* roomFor(this.#groups, this.#count + rowCount);
    this.#values = yield* roomFor(this.#values, this.#count + rowCount);
    const lane = numbersOf({ column: operand, step: 1 }, FLOAT64);
    const nulls = nullsOfRows(operand, rowCount);
    for (let row = 0; row < rowCount; row++) {
      if (nulls !== null && nulls[row] !== 0) continue;
      this.#groups[this.#count] = groups[row];
      this.#values[this.#count++] = lane[row];
    }
  }

  *finish(): Steps<void> {
    const results = new Float64Array(this.#groupCount);
    this.#results = results;
    this.#isThere = new Uint8Array(this.#groupCount);
    if (this.#spilled.isUsed) {
      yield this.#spilled.add(this.#groups.subarray(0, this.#count), this.#values.subarray(0, this.#count));
      this.#groups = new Uint32Array(0);
      this.#values = new Float64Array(0);
      yield this.#spilled.quantiles(this.#fraction, results, this.#isThere);
      return;
    }
    const { starts, places } = yield* entriesByGroup(this.#groups, this.#count, this.#groupCount);
    const sorted = new Float64Array(this.#count);
    for (let first = 0; first < this.#count; first += STEP) {
      const end = Math.min(first + STEP, this.#count);
      for (let entry = first; entry < end; entry++) sorted[places[entry]] = this.#values[entry];
      yield;
    }
    let work = 0;
    for (let group = 0; group < this.#groupCount; group++) {
      const size = starts[group + 1] - starts[group];
      if (size === 0) continue;
      this.#isThere[group] = 1;
      results[group] = yield* quantile(sorted.subarray(starts[group], starts[group + 1]), this.#fraction);
      work += size;
      if (work < SORTED_AT_ONCE) continue;
      work = 0;
      yield;
    }
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *results(start: number, end: number): Steps<Column> {
    const results = (this.#results ?? new Float64Array(end)).slice(start, end);
    return { ...numbersColumn(results), validity: resultValidity(this.#isThere, start, end) };
  }

  discard(): Promise<void> {
    return this.#spilled.discard();
  }
}

/** Returns a quantile of values, and moves them. NaN is greater than all other numbers. */
function* quantile(values: Float64Array, fraction: number): Steps<number> {
  const { rank, weight } = rankOf(fraction, values.length);
  if (values.length <= SORTED_AT_ONCE) values.sort();
  else yield* select(values, rank);
  const value = values[rank];
  if (weight === 0) return value;
  let next = Number.NaN;
  for (let index = rank + 1; index < values.length; index++) {
    if (!(values[index] >= next)) next = Number.isNaN(values[index]) ? next : values[index];
    if (index % STEP === 0) yield;
  }
  return between(value, next, weight);
}

/** Moves values so that one has its rank: smaller ones come before it, greater ones after it. */
function* select(values: Float64Array, rank: number): Steps<void> {
  // NaN cannot be compared, and belongs at the end.
  let end = values.length;
  for (let index = 0; index < end; ) {
    if (!Number.isNaN(values[index])) index++;
    else {
      values[index] = values[--end];
      values[end] = Number.NaN;
    }
    if (index % STEP === 0) yield;
  }
  let start = 0;
  while (rank < end && end - start > SORTED_AT_ONCE) {
    const middle = medianOfSome(values, start, end);
    const { before, after } = yield* part(values, start, end, middle);
    if (rank < before) end = before;
    else if (rank >= after) start = after;
    else return;
  }
  if (rank < end) values.subarray(start, end).sort();
}

function medianOfSome(values: Float64Array, start: number, end: number): number {
  const some = new Float64Array(65);
  for (let index = 0; index < some.length; index++) {
    some[index] = values[start + Math.floor(Math.random() * (end - start))];
  }
  return some.sort()[32];
}

/** Moves the values below a pivot before those that equal it, and these before the others. */
function* part(
  values: Float64Array,
  start: number,
  end: number,
  pivot: number,
): Steps<{ before: number; after: number }> {
  let before = start;
  let after = end;
  let index = start;
  while (index < after) {
    const stop = Math.min(after, index + STEP);
    for (; index < stop && index < after; ) {
      const value = values[index];
      if (value < pivot) {
        values[index++] = values[before];
        values[before++] = value;
      } else if (value > pivot) {
        values[index] = values[--after];
        values[after] = value;
      } else index++;
    }
    yield;
  }
  return { before, after };
}
