/** Vectors over columns read like vectors that apache-arrow makes. */

import { Field, Int32, Schema, Utf8, vectorFromArray } from "apache-arrow";
import { expect, it } from "vitest";
import { makeBatch, toTable, vectorOf } from "../../../src/arrow/exchange/batch.js";
import { columnFromData } from "../../../src/arrow/exchange/wholeData.js";

it("a vector of texts has no closures, which would keep its memory, and reads like one of a single chunk", () => {
  const plain = vectorFromArray(["a", null, "", "é"], new Utf8());
  const column = columnFromData(plain.data[0]!, { kind: "variable", offsetBits: 32, text: true });
  const vector = vectorOf(new Field("text", new Utf8(), true), column, 4);
  expect(Object.values(vector).filter((member) => typeof member === "function")).toEqual([]);
  expect(Array.from(vector)).toEqual(["a", null, "", "é"]);
  expect([vector.length, vector.nullCount, vector.get(4), vector.data[0]!.length]).toEqual([4, 1, null, 4]);
  expect(Array.from(vector.slice(1, 3))).toEqual([null, ""]);
});

it("a vector of numbers gives its values without a copy", () => {
  const numbers = Int32Array.of(1, 2, 3);
  const column = columnFromData(vectorFromArray(numbers).data[0]!, { kind: "fixed", byteWidth: 4 });
  const vector = vectorOf(new Field("n", new Int32(), true), column, 3);
  expect(vector.toArray()).toEqual(numbers);
  expect(vector.toArray().buffer).toBe(vector.data[0]!.values.buffer);
});

it("batches share the schema that they are made with", () => {
  const schema = new Schema([new Field("n", new Int32(), false, new Map([["unit", "m"]]))]);
  const column = columnFromData(vectorFromArray(Int32Array.of(1, 2)).data[0]!, {
    kind: "fixed",
    byteWidth: 4,
  });
  const batches = [makeBatch(schema, [column], 2), makeBatch(schema, [column], 2)];
  for (const batch of batches) expect(batch.schema).toBe(schema);
  expect(toTable(schema, batches).toArray().map(String)).toEqual(
    Array(2).fill(['{"n": 1}', '{"n": 2}']).flat(),
  );
});
