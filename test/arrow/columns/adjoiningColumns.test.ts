import { expect, it } from "vitest";
import { adjoined } from "../../../src/arrow/columns/adjoiningColumns.js";
import type { FixedColumn, FixedSizeListColumn } from "../../../src/arrow/columns/column.js";

const memory = Uint8Array.from({ length: 64 }, (_, index) => index);
const fixed = (start: number, length: number, byteWidth = 4): FixedColumn => {
  const values = memory.subarray(start, start + length * byteWidth);
  return { kind: "fixed", length, byteWidth, validity: null, values };
};
const lists = (items: FixedColumn, dimension = 2): FixedSizeListColumn => {
  return { kind: "fixedSizeList", length: items.length / dimension, dimension, validity: null, items };
};

it("adjacent columns become one column in the same memory", () => {
  expect(adjoined(fixed(0, 4), fixed(16, 2))).toEqual(fixed(0, 6));
  const whole = adjoined(lists(fixed(0, 4)), lists(fixed(16, 8))) as FixedSizeListColumn;
  expect(whole).toEqual(lists(fixed(0, 12)));
  expect((whole.items as FixedColumn).values.buffer).toBe(memory.buffer);
});

it("columns with a gap, different layouts or nulls stay apart", () => {
  expect(adjoined(fixed(0, 4), fixed(20, 2))).toBeNull();
  expect(adjoined(fixed(16, 2), fixed(0, 4))).toBeNull();
  expect(adjoined(fixed(0, 4), { ...fixed(0, 1), values: memory.slice(16, 20) })).toBeNull();
  expect(adjoined(fixed(0, 4), fixed(16, 2, 8))).toBeNull();
  expect(adjoined(lists(fixed(0, 4)), lists(fixed(16, 4), 4))).toBeNull();
  expect(adjoined(lists(fixed(0, 4)), fixed(16, 4))).toBeNull();
  const validity = { bytes: Uint8Array.of(0b1101), bitOffset: 0, nullCount: 1 };
  expect(adjoined({ ...fixed(0, 4), validity }, fixed(16, 2))).toBeNull();
  expect(adjoined(fixed(0, 4), { ...fixed(16, 2), validity })).toBeNull();
  expect(adjoined(lists({ ...fixed(0, 4), validity }), lists(fixed(16, 4)))).toBeNull();
});
