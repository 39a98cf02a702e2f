/** Values of columns are equal where a model says so, whatever their types, nulls and places in memory. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { expect, it } from "vitest";
import { sliceColumn } from "../../../src/arrow/columns/sliceColumn.js";
import { columnFromData } from "../../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { logicalTypeOf } from "../../../src/arrow/types/logicalTypes.js";
import { equalValues } from "../../../src/query/compare/equalValues.js";
import { keyFormOf } from "../../../src/query/compare/keyColumns.js";
import { fieldOf, listOf } from "../../support/arrowColumns.js";

const FLOATS = fc.constantFrom(0, -0, Number.NaN, 1.5, Number.NEGATIVE_INFINITY);
const bytes = (minLength: number, maxLength: number) => fc.uint8Array({ minLength, maxLength, max: 1 });
const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 5 });
const several = <Value>(value: fc.Arbitrary<Value>) => fc.array(orNull(value), { maxLength: 3 });
const exactly = <Value>(count: number, value: fc.Arbitrary<Value>) =>
  fc.array(orNull(value), { minLength: count, maxLength: count });
const sized = (count: number, item: arrow.DataType) =>
  new arrow.FixedSizeList(count, new arrow.Field("item", item, true));
const PAIR = new arrow.Struct([
  new arrow.Field("a", new arrow.Float64(), true),
  new arrow.Field("b", listOf(new arrow.Utf8()), true),
]);

/** Types with few values each, so that many are equal. */
const TYPES: readonly (readonly [arrow.DataType, fc.Arbitrary<unknown>])[] = [
  [new arrow.Null(), fc.constant(null)],
  [new arrow.Int8(), fc.integer({ min: -1, max: 1 })],
  [new arrow.Int32(), fc.constantFrom(2 ** 31 - 1, -(2 ** 31))],
  [new arrow.Int64(), fc.constantFrom(2n ** 40n, 2n ** 40n + 2n ** 32n, 1n)],
  [new arrow.Float16(), FLOATS],
  [new arrow.Float32(), FLOATS],
  [new arrow.Float64(), FLOATS],
  [new arrow.Bool(), fc.boolean()],
  [new arrow.Utf8(), fc.constantFrom("", "a", "é", "ab")],
  [new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()), fc.constantFrom("", "a", "bb")],
  [new arrow.LargeBinary(), bytes(0, 3)],
  [new arrow.FixedSizeBinary(3), bytes(3, 3)],
  [new arrow.FixedSizeBinary(8), bytes(8, 8)],
  [sized(2, new arrow.Float32()), exactly(2, FLOATS)],
  [sized(2, new arrow.Bool()), exactly(2, fc.boolean())],
  [listOf(new arrow.Float16()), several(FLOATS)],
  [listOf(listOf(new arrow.Int32())), several(several(fc.integer({ min: 0, max: 1 })))],
  [PAIR, fc.record({ a: orNull(FLOATS), b: orNull(several(fc.constantFrom("x", "yy"))) })],
];

const columns = fc.constantFrom(...TYPES).chain(([type, value]) =>
  fc.record({
    type: fc.constant(type),
    values: fc.array(orNull(value), { minLength: 1, maxLength: 30 }),
    others: fc.array(orNull(value), { minLength: 1, maxLength: 30 }),
    skipped: fc.nat(9),
  }),
);

/** Returns equal names for equal values. */
function nameOf(value: unknown): string {
  if (value instanceof Uint8Array) return `[${[...value]}]`;
  if (Array.isArray(value)) return `[${value.map(nameOf)}]`;
  if (typeof value === "object" && value !== null) return `{${Object.values(value).map(nameOf)}}`;
  return Object.is(value, -0) ? "-0" : typeof value === "string" ? JSON.stringify(value) : String(value);
}

it("pairs of values are equal exactly where a model says so", () => {
  fc.assert(
    fc.property(columns, ({ type, values, others, skipped }) => {
      const layout = layoutOf(type, "v");
      const field = fieldOf("v", type);
      const columnOf = (list: readonly unknown[]) =>
        columnFromData(arrow.vectorFromArray(list, type).data[0], layout, new WeakMap());
      const skip = Math.min(skipped, values.length - 1);
      const a = sliceColumn(columnOf(values), skip, values.length - skip);
      const areEqual = equalValues(a, columnOf(others), formOf(field));
      for (const [i, value] of values.slice(skip).entries())
        for (const [j, other] of others.entries())
          expect(areEqual(i, j, 1), `${type}: ${nameOf(value)} and ${nameOf(other)}`).toBe(
            nameOf(value) === nameOf(other),
          );
    }),
    { numRuns: 400 },
  );
});

interface Typed {
  readonly name: string;
  readonly type: arrow.DataType;
}

function formOf({ name, type }: Typed) {
  const shapeOf = (each: Typed): Parameters<typeof keyFormOf>[0] => ({
    type: logicalTypeOf(each.type, name),
    children: (each.type.children ?? []).map(shapeOf),
  });
  return keyFormOf(shapeOf({ name, type }), name);
}
