/** The state of each aggregate function beside brute force, over groups that come in several batches. */

import { describe, expect, it } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import { numbersColumn } from "../../../src/arrow/columns/numbersColumn.js";
import { isValid, validityFrom } from "../../../src/arrow/columns/validity.js";
import { runAsync } from "../../../src/async/eventLoop.js";
import { FLOAT64, INT32 } from "../../../src/expression/values/types.js";
import { FUNCTIONS } from "../../../src/query/aggregate/functions.js";
import { RowSelection } from "../../../src/query/filter/rowSelection.js";

const GROUPS = 300;
const BATCHES = 5;
const BATCH_ROWS = 2000;

type Values = readonly (number | null)[];

/** Value of a row: one in eleven is null, and group 7 has only nulls. */
function valueAt(row: number): number | null {
  return row % 11 === 0 || groupOf(row) === 7 ? null : (Math.imul(row, 7919) % 1009) - 500;
}
/** The last groups come in the last batch only. */
const groupOf = (row: number): number => Math.imul(row, 31) % (row < 4 * BATCH_ROWS ? GROUPS - 50 : GROUPS);

const rowsOf = (group: number): number[] =>
  Array.from({ length: BATCHES * BATCH_ROWS }, (_, row) => row).filter((row) => groupOf(row) === group);

function columnOf(values: Values, isFloat: boolean): Column {
  const bits = new Uint8Array((values.length + 7) >>> 3);
  for (const [row, value] of values.entries()) if (value !== null) bits[row >>> 3] |= 1 << (row & 7);
  const numbers = values.map((value) => value ?? 0);
  const column = numbersColumn(isFloat ? Float64Array.from(numbers) : Int32Array.from(numbers));
  return { ...column, validity: validityFrom(bits, 0, values.length) };
}

/** Returns the numbers of a fixed-width column. */
function numbersIn(column: Column, isFloat: boolean, isNarrow: boolean): (number | null)[] {
  if (column.kind !== "fixed") throw new Error(`a column of kind ${column.kind}`);
  const { buffer, byteOffset } = column.values.slice();
  const { length } = column;
  const numbers = isFloat
    ? new Float64Array(buffer, byteOffset, length)
    : isNarrow
      ? new Int32Array(buffer, byteOffset, length)
      : Array.from(new BigInt64Array(buffer, byteOffset, length), Number);
  return Array.from(numbers, (value, row) => (isValid(column.validity, row) ? value : null));
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;
const variance = (values: readonly number[], less: number): number | null =>
  values.length <= less
    ? null
    : sum(values.map((value) => (value - mean(values)) ** 2)) / (values.length - less);
const root = (value: number | null): number | null => value && Math.sqrt(value);
function quantile(values: readonly number[], fraction: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = fraction * (sorted.length - 1);
  const low = sorted[Math.floor(position)];
  return low + (sorted[Math.ceil(position)] - low) * (position % 1);
}

/** Results of each function for the values of a group without nulls; the last argument has nulls, too. */
const EXPECTED: Readonly<Record<string, (values: readonly number[], all: Values) => number | null>> = {
  count: ({ length }) => length,
  approx_count_distinct: (values) => new Set(values).size,
  sum,
  avg: mean,
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  first: (_, [first]) => first,
  last: (_, all) => all[all.length - 1],
  any_value: ([first]) => first,
  stddev_samp: (values) => root(variance(values, 1)),
  stddev_pop: (values) => root(variance(values, 0)),
  var_samp: (values) => variance(values, 1),
  var_pop: (values) => variance(values, 0),
  median: (values) => quantile(values, 0.5),
  quantile_cont: (values) => quantile(values, 0.9),
};
const ZERO_IF_EMPTY = ["count", "approx_count_distinct"];
const options = { makeFile: () => Promise.reject(new Error("no file is needed")), maxBytes: 2 ** 30 };

describe.each([INT32, FLOAT64])("of $kind values", (type) => {
  const isFloat = type.kind === "float";
  it.each(Object.keys(FUNCTIONS))("%s equals brute force in each group", async (name) => {
    const definition = FUNCTIONS[name];
    const operandType = definition.operandType(type);
    const fraction = name === "median" ? 0.5 : 0.9;
    const accumulator = definition.make(operandType, fraction, options);
    const isFloatOperand = operandType.kind === "float";
    for (let batch = 0; batch < BATCHES; batch++) {
      const rows = Array.from({ length: BATCH_ROWS }, (_, index) => batch * BATCH_ROWS + index);
      const groups = Uint32Array.from(rows, groupOf);
      await runAsync(accumulator.reserve(batch === BATCHES - 1 ? GROUPS : GROUPS - 50));
      const operand = columnOf(rows.map(valueAt), isFloatOperand);
      await runAsync(accumulator.add(operand, { groups, rowCount: BATCH_ROWS }));
    }
    if (accumulator.finish !== undefined) await runAsync(accumulator.finish());
    const resultType = definition.resultType(operandType);
    const isNarrow = resultType.kind === "int" && resultType.bits === 32;
    const results: (number | null)[] = [];
    for (const [start, end] of [
      [0, 100],
      [100, GROUPS],
    ]) {
      const column = await runAsync(accumulator.results(start, end));
      results.push(...numbersIn(column, resultType.kind === "float", isNarrow));
    }
    for (let group = 0; group < GROUPS; group++) {
      const all = rowsOf(group).map(valueAt);
      const values = all.filter((value) => value !== null);
      const empty = ZERO_IF_EMPTY.includes(name) ? 0 : null;
      const expected = values.length === 0 ? empty : EXPECTED[name](values, all);
      if (name === "approx_count_distinct" && expected !== null) {
        expect(Math.abs(Number(results[group]) - expected)).toBeLessThanOrEqual(0.1 * expected);
      } else if (expected === null) expect(results[group], `group ${group}`).toBeNull();
      else if (isFloat || resultType.kind === "float") expect(results[group]).toBeCloseTo(expected, 6);
      else expect(results[group], `group ${group}`).toBe(expected);
    }
    expect(accumulator.byteLength).toBeGreaterThan(0);
  });
});

describe("a sum of floats under the bits of a filter", () => {
  const rowCount = 1003;
  const values = Array.from({ length: rowCount }, (_, row) => (row % 7 === 0 ? null : row / 8));
  const resultOf = async (name: string, isSelected: (row: number) => boolean, column: Column, skew = 0) => {
    // A bitmap that does not begin at a word, with ones after the last row.
    const bits = new Uint8Array(((rowCount + 7) >>> 3) + skew).fill(0xff).subarray(skew);
    for (let row = 0; row < rowCount; row++) if (!isSelected(row)) bits[row >>> 3] &= ~(1 << (row & 7));
    const accumulator = FUNCTIONS[name].make(FLOAT64, 0.5, options);
    await runAsync(accumulator.reserve(1));
    const rows = RowSelection.of(bits, rowCount);
    if (rows === null) throw new Error("all rows are selected");
    accumulator.addWhere?.(column, rows.present(column));
    return numbersIn(await runAsync(accumulator.results(0, 1)), true, false)[0];
  };
  it.each([
    ["no row", () => false],
    ["one row of ten", (row: number) => row % 10 === 3],
    ["most rows", (row: number) => row % 10 !== 3],
    ["only the last row", (row: number) => row === rowCount - 1],
    ["only rows with null", (row: number) => row % 7 === 0],
  ])("equals brute force over %s", async (_, isSelected) => {
    const kept = values.filter((value, row) => isSelected(row) && value !== null) as number[];
    for (const skew of [0, 1, 4])
      for (const [name, expected] of [
        ["sum", sum],
        ["avg", mean],
      ] as const) {
        const result = await resultOf(name, isSelected, columnOf(values, true), skew);
        if (kept.length === 0) expect(result).toBeNull();
        else expect(result).toBeCloseTo(expected(kept), 6);
      }
  });

  it("ignores NaN and infinities of rows that the filter leaves out", async () => {
    const column = columnOf(
      values.map((value, row) => (row % 2 === 0 ? Number.NaN : value)),
      true,
    );
    const odd = values.filter((value, row) => row % 2 === 1 && value !== null) as number[];
    expect(await resultOf("sum", (row) => row % 2 === 1, column)).toBeCloseTo(sum(odd), 6);
  });
});
