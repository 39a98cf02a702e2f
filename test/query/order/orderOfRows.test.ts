/** Rows that are sorted by digits beside a sort that compares them. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Column, Validity } from "../../../src/arrow/columns/column.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { FLOAT64, INT32, INT64, STRING, type ValueType } from "../../../src/expression/values/types.js";
import { orderOfRows } from "../../../src/query/order/orderOfRows.js";
import {
  COMPARED_STEP_BYTES,
  compareRows,
  type KeyOrder,
  sortKeys,
} from "../../../src/query/order/sortKeys.js";
import { TopRows } from "../../../src/query/order/topRows.js";

/** Rows are repeated up to this number, so that many are equal. */
const ROWS = 2000;

const fixed = (byteWidth: number, values: ArrayBufferView): Column => ({
  kind: "fixed",
  length: values.byteLength / byteWidth,
  validity: null,
  byteWidth,
  values: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
});

function text(values: readonly string[]): Column {
  const parts = values.map((value) => new TextEncoder().encode(value));
  const offsets = new Int32Array(parts.length + 1);
  for (const [index, part] of parts.entries()) offsets[index + 1] = offsets[index] + part.length;
  const bytes = new Uint8Array(offsets[parts.length]);
  for (const [index, part] of parts.entries()) bytes.set(part, offsets[index]);
  return { kind: "variable", length: parts.length, validity: null, offsets, bytes };
}

const repeated = <Value>(some: readonly Value[]): Value[] =>
  Array.from({ length: ROWS }, (_, row) => some[Math.imul(row, 31) % some.length]);

const some = <Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<Value[]> =>
  fc.array(values, { minLength: 1, maxLength: 60 }).map(repeated);

/** Text that begins alike, ends alike, or is the beginning of other text. */
const words = fc
  .tuple(
    fc.constantFrom("", "a", "same beginning/"),
    some(fc.string({ unit: fc.constantFrom("a", "b", "\0", "é"), maxLength: 20 })),
  )
  .map(([prefix, rest]) => rest.map((each) => prefix + each));

/** Integers of 64 bits that differ in some bits only, with or without one far from all others. */
const spread = fc
  .record({
    base: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    bits: fc.integer({ min: 1, max: 64 }),
    isSorted: fc.boolean(),
    outlier: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  })
  .map(({ base, bits, isSorted, outlier }) => {
    const hashes = Array.from({ length: ROWS }, (_, row) => BigInt(row + 1) * 0x9e37_79b9_7f4a_7c15n);
    const values = BigInt64Array.from(hashes, (hash) => base + BigInt.asUintN(bits, hash));
    if (outlier !== null) values[ROWS >> 1] = outlier;
    return fixed(8, isSorted ? values.sort() : values);
  });

const COLUMNS: readonly [ValueType, fc.Arbitrary<Column>][] = [
  [INT32, some(fc.integer()).map((values) => fixed(4, Int32Array.from(values)))],
  [INT32, some(fc.integer({ min: -5, max: 5 })).map((values) => fixed(4, Int32Array.from(values)))],
  [
    INT64,
    some(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })).map((values) =>
      fixed(8, BigInt64Array.from(values)),
    ),
  ],
  [INT64, spread],
  // Any bits, so NaN of both signs, and zeros of both signs.
  [FLOAT64, spread],
  [
    FLOAT64,
    some(fc.constantFrom(0, -0, 1, -1, Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)).map(
      (values) => fixed(8, Float64Array.from(values)),
    ),
  ],
  [FLOAT64, some(fc.double()).map((values) => fixed(8, Float64Array.from(values)))],
  [STRING, words.map(text)],
];

interface Key {
  readonly order: KeyOrder;
  readonly column: Column;
}

const key: fc.Arbitrary<Key> = fc.constantFrom(...COLUMNS).chain(([type, columns]) =>
  fc.record({
    order: fc.record({ type: fc.constant(type), ascending: fc.boolean(), nullsFirst: fc.boolean() }),
    column: fc
      .tuple(columns, fc.constantFrom(0, 1, 7))
      .map(([column, nullsEvery]) => (nullsEvery === 0 ? column : withNulls(column, nullsEvery))),
  }),
);

/** Returns the column with a null in every `every`-th row. */
function withNulls(column: Column, every: number): Column {
  const bits = new Uint8Array((column.length + 7) >>> 3).fill(0xff);
  for (let row = 0; row < column.length; row += every) bits[row >>> 3] &= ~(1 << (row & 7));
  const validity: Validity = { bytes: bits, bitOffset: 0, nullCount: Math.ceil(column.length / every) };
  return { ...column, validity } as Column;
}

describe("the order of rows", () => {
  it("equals that of a stable sort by comparison", () => {
    fc.assert(
      fc.property(
        fc.array(key, { minLength: 1, maxLength: 3 }),
        fc.constantFrom(10, 600, ROWS),
        (keys, rowCount) => {
          const sorted = sortKeys(
            keys.map(({ order }) => order),
            keys.map(({ column }) => column),
            rowCount,
          );
          const wanted = Array.from({ length: rowCount }, (_, row) => row).sort(
            (a, b) => compareRows(sorted, a, sorted, b) || a - b,
          );
          expect(Array.from(runSync(orderOfRows(sorted)))).toEqual(wanted);
        },
      ),
      { numRuns: 120 },
    );
  });

  it("begins with the first rows that are found without sorting all", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(key, { minLength: 1, maxLength: 2 }),
        fc.constantFrom(1, 10, 700),
        async (keys, count) => {
          // So many rows come that most of them are compared with a bound.
          const batches = 6;
          const orders = keys.map(({ order }) => order);
          const top = new TopRows(orders, count);
          for (let batch = 0; batch < batches; batch++) {
            const numbers = Int32Array.from({ length: ROWS }, (_, row) => batch * ROWS + row);
            await top.add([...keys.map(({ column }) => column), fixed(4, numbers)], ROWS);
          }
          const found = (await top.finish()).flatMap(({ columns }) => {
            const { values } = columns[keys.length] as Column & { readonly values: Uint8Array };
            return [...new Int32Array(values.slice().buffer)];
          });
          const sorted = sortKeys(
            orders,
            keys.map(({ column }) => column),
            ROWS,
          );
          const rowOf = (number: number): number => number % ROWS;
          const wanted = Array.from({ length: batches * ROWS }, (_, number) => number)
            .sort((a, b) => compareRows(sorted, rowOf(a), sorted, rowOf(b)) || a - b)
            .slice(0, count);
          expect(found).toEqual(wanted);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("is computed with frequent pauses", () => {
    const values = Int32Array.from({ length: 400_000 }, (_, row) => Math.imul(row, 2_654_435_761));
    const order = { type: INT32, ascending: false, nullsFirst: false };
    let steps = 0;
    for (const _ of orderOfRows(sortKeys([order], [fixed(4, values)], values.length))) steps++;
    expect(steps).toBeGreaterThan(80);
  });
});

/** Texts of 64 KiB that differ at their ends only, in reverse order. */
const longTexts = (count: number): string[] =>
  Array.from({ length: count }, (_, row) => "x".repeat(65_536) + String.fromCharCode(0x7e - row));

const ASCENDING: KeyOrder = { type: STRING, ascending: true, nullsFirst: false };

describe("long texts", () => {
  it.each([40, 600])("yield in a sort of %i after a bounded number of compared bytes", (rowCount) => {
    const values = longTexts(40);
    const column = text(Array.from({ length: rowCount }, (_, row) => values[row % 40]));
    const steps = orderOfRows(sortKeys([ASCENDING], [column], rowCount));
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count++;
    // Every row is compared with another at least once.
    expect(count).toBeGreaterThan((rowCount * 65_536) / COMPARED_STEP_BYTES / 2);
    const order = [...step.value].map((row) => values[row % 40]);
    expect(order.every((value, index) => index === 0 || order[index - 1] <= value)).toBe(true);
  });

  it.each([1, 30])("are not all kept for the first %i rows", async (count) => {
    const values = longTexts(60);
    const numbers = Int32Array.from(values.keys());
    const top = new TopRows([ASCENDING], count);
    for (let time = 0; time < 8; time++) await top.add([text(values), fixed(4, numbers)], 60);
    const kept = (await top.finish()).flatMap(({ columns }) => {
      const { values: bytes } = columns[1] as Column & { readonly values: Uint8Array };
      return [...new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)];
    });
    expect(kept).toEqual(Array.from({ length: count }, (_, index) => 59 - Math.floor(index / 8)));
  });
});
