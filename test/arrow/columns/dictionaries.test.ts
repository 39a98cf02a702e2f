import * as fc from "fast-check";
import { expect, it } from "vitest";
import {
  decodeDictionary,
  decodedBytes,
  dictionaryValidity,
  hasNulls,
} from "../../../src/arrow/columns/dictionaries.js";
import { encodeDictionary } from "../../../src/arrow/columns/dictionaryEncoder.js";
import { columnArbitrary, columnOf, columnValues, slicedData } from "../columns.js";

const plain = columnArbitrary.map((spec) => ({ data: slicedData(spec), spec }));

it("a dictionary of the distinct values decodes to the values", () => {
  let encoded = 0;
  fc.assert(
    fc.property(plain, fc.constantFrom(1, 2, 4, 8), ({ data }, keyBytes) => {
      const column = columnOf(data);
      if (column.kind !== "fixed" && column.kind !== "variable") return;
      const dictionary = encodeDictionary(column, keyBytes);
      if (dictionary === null) throw new Error("80 values have indices of a byte");
      encoded++;
      const values = columnValues(data.type, column);
      expect(columnValues(data.type, decodeDictionary(dictionary))).toEqual(values);
      expect(dictionary.indices.values.length).toBe(column.length * keyBytes);
      expect(dictionary.dictionary.validity).toBeNull();
      expect(dictionary.validity).toBe(column.validity);
    }),
    { numRuns: 300 },
  );
  expect(encoded).toBeGreaterThan(50);
});

it("a dictionary with signed bytes as indices has at most 128 values", () => {
  const fixed = (length: number) => ({
    kind: "fixed" as const,
    length,
    validity: null,
    byteWidth: 2,
    values: new Uint8Array(Uint16Array.from({ length }, (_, row) => row).buffer),
  });
  expect(encodeDictionary(fixed(128), 1)?.dictionary.length).toBe(128);
  expect(encodeDictionary(fixed(129), 1)).toBeNull();
  expect(encodeDictionary(fixed(129), 2)?.dictionary.length).toBe(129);
});

it("nulls and bytes of a dictionary column are counted without building the values", () => {
  // 2^30 bytes per row: no array could hold them all.
  const entry = 2 ** 30;
  const column = {
    kind: "dictionary" as const,
    length: 1000,
    validity: null,
    indices: {
      kind: "fixed" as const,
      length: 1000,
      validity: null,
      byteWidth: 1,
      values: new Uint8Array(1000),
    },
    dictionary: {
      kind: "variable" as const,
      length: 2,
      validity: { bytes: Uint8Array.of(1), bitOffset: 0, nullCount: 1 },
      offsets: BigInt64Array.of(0n, BigInt(entry), BigInt(entry)),
      bytes: new Uint8Array(0),
    },
  };
  expect(hasNulls(column)).toBe(false);
  expect(dictionaryValidity(column)).toBeNull();
  expect(decodedBytes(column)).toBe(1000 * entry);
  column.indices.values[7] = 1;
  expect(hasNulls(column)).toBe(true);
  expect(dictionaryValidity(column)?.nullCount).toBe(1);
  expect(decodedBytes(column)).toBe(999 * entry);
});
