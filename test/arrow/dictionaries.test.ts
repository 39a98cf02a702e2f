import * as fc from "fast-check";
import { expect, it } from "vitest";
import { decodeDictionary, encodeDictionary } from "../../src/arrow/dictionaries.js";
import { columnArbitrary, columnOf, columnValues, slicedData } from "./columns.js";

const plain = columnArbitrary.map((spec) => ({ data: slicedData(spec), spec }));

it("values come back from a dictionary of the distinct ones", () => {
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

it("there are 128 values to a signed byte, and no more", () => {
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
