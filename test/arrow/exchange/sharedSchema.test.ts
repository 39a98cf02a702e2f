import { Field, Int32, Schema, Table, tableFromArrays, Utf8 } from "apache-arrow";
import { expect, test } from "vitest";
import { makeBatch, sharedSchema } from "../../../src/arrow/exchange/batch.js";

const column = (...values: number[]) => ({
  kind: "fixed" as const,
  byteWidth: 4,
  length: values.length,
  validity: null,
  values: new Uint8Array(Int32Array.from(values).buffer),
});

const fields = [new Field("a", new Int32(), false), new Field("b", new Int32(), true)];

test("batches share their schema", () => {
  const schema = sharedSchema(fields, new Map([["key", "value"]]));
  const batches = [1, 2].map((value) => makeBatch(schema, [column(value), column(-value)], 1));
  for (const batch of batches) expect(batch.schema).toBe(schema);
  const table = new Table(schema, batches);
  expect(table.schema).toBe(schema);
  expect(table.toArray().map(({ a, b }) => [a, b])).toEqual([
    [1, -1],
    [2, -2],
  ]);
});

test("a shared schema is assigned other fields as any schema is", () => {
  const schema = sharedSchema(fields, new Map([["key", "value"]]));
  const plain = new Schema(fields, new Map([["key", "value"]]));
  const others = [new Field("b", new Utf8(), true), new Field("c", new Int32(), true)];
  expect(schema.assign(others)).toEqual(plain.assign(others));
  expect(schema.assign(...others)).toEqual(plain.assign(...others));
  expect(schema.assign(new Schema(others))).toEqual(plain.assign(new Schema(others)));
  expect(schema.assign(fields)).toBe(schema);
  expect(Object.keys(schema)).toEqual(Object.keys(plain));
});

test("batches of other makers go into a table with a shared schema", () => {
  const { batches } = tableFromArrays({ a: Int32Array.of(1), b: Int32Array.of(2) });
  const schema = sharedSchema([...batches[0].schema.fields], new Map());
  const own = makeBatch(schema, [column(3), column(4)], 1);
  expect(new Table(schema, [...batches, own]).numRows).toBe(2);
  expect(new Table([...batches, own]).numRows).toBe(2);
});
