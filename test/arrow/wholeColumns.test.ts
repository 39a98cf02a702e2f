import { Dictionary, Int8, Int32, Utf8, Vector, vectorFromArray } from "apache-arrow";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Column, DictionaryColumn } from "../../src/arrow/columns/column.js";
import { concatColumns } from "../../src/arrow/columns/concatColumns.js";
import { decodeDictionary } from "../../src/arrow/columns/dictionaries.js";
import { nullColumn } from "../../src/arrow/columns/nullColumn.js";
import { sliceColumn } from "../../src/arrow/columns/sliceColumn.js";
import { takeColumn } from "../../src/arrow/columns/takeColumn.js";
import { layoutOf } from "../../src/arrow/types/layouts.js";
import { InvalidInputError, UnsupportedError } from "../../src/errors.js";
import { columnsOf } from "../support/arrowColumns.js";
import {
  COLUMN_NAMES,
  columnArbitrary,
  columnOf,
  columnValues,
  randomData,
  slicedData,
  valuesOf,
} from "./columns.js";

it("slice as arrays do", () => {
  fc.assert(
    fc.property(columnArbitrary, fc.nat(), fc.nat(), (spec, index, size) => {
      const data = slicedData(spec);
      const column = columnOf(data);
      const start = index % (column.length + 1);
      const length = size % (column.length - start + 1);
      const slice = sliceColumn(column, start, length);
      const expected = columnValues(data.type, column).slice(start, start + length);
      expect(columnValues(data.type, slice)).toEqual(expected);
      if (column.kind !== "null") {
        expect(slice.validity?.nullCount ?? 0).toBe(nullsOf(slice));
      }
    }),
    { numRuns: 300 },
  );
});

it("concatenate as arrays do", () => {
  const several = fc.tuple(
    columnArbitrary,
    fc.array(
      columnArbitrary.map(({ rowCount, nulls, seed, slices }) => ({ rowCount, nulls, seed, slices })),
      {
        maxLength: 4,
      },
    ),
  );
  fc.assert(
    fc.property(several, ([first, more]) => {
      const all = [first, ...more.map((spec) => ({ ...spec, name: first.name }))].map(slicedData);
      const joined = concatColumns(all.map(columnOf));
      const expected = all.flatMap((data) => valuesOf(new Vector([data])));
      expect(columnValues(all[0].type, joined)).toEqual(expected);
      expect(joined.length).toBe(expected.length);
    }),
    { numRuns: 300 },
  );
});

it("take rows as arrays do", () => {
  fc.assert(
    fc.property(columnArbitrary, fc.array(fc.nat(), { maxLength: 60 }), (spec, picks) => {
      const data = slicedData(spec);
      const column = columnOf(data);
      const values = columnValues(data.type, column);
      const indices = Uint32Array.from(column.length === 0 ? [] : picks.map((pick) => pick % column.length));
      expect(columnValues(data.type, takeColumn(column, indices))).toEqual(
        Array.from(indices, (row) => values[row]),
      );
    }),
    { numRuns: 400 },
  );
});

it("decode dictionaries to the values they stand for", () => {
  const dictionaries = columnArbitrary.filter((spec) => spec.name.startsWith("dictionary"));
  fc.assert(
    fc.property(dictionaries, (spec) => {
      const data = slicedData(spec);
      const column = columnOf(data) as DictionaryColumn;
      const decoded = decodeDictionary(column);
      expect(columnValues((data.type as Dictionary).dictionary, decoded)).toEqual(
        valuesOf(new Vector([data])),
      );
    }),
    { numRuns: 200 },
  );
});

it("make columns of nulls", () => {
  for (const name of COLUMN_NAMES) {
    const { type } = randomData(name, 1, "none", 1);
    for (const length of [0, 1, 8, 13]) {
      const column = nullColumn(layoutOf(type, "test"), length);
      expect(columnValues(type, column)).toEqual(new Array(length).fill(null));
    }
  }
});

it("share one dictionary where all columns have the same", () => {
  const vector = vectorFromArray(["a", "b", "a", "c"], new Dictionary(new Utf8(), new Int32()));
  const column = columnOf(vector.data[0]) as DictionaryColumn;
  const joined = concatColumns([sliceColumn(column, 0, 2), sliceColumn(column, 2, 2)]);
  expect(joined.dictionary).toBe(column.dictionary);
});

it("refuse a united dictionary that its indices cannot reach", () => {
  const make = (prefix: string) =>
    columnOf(columnsOf(new Dictionary(new Utf8(), new Int8()))(100, (index) => `${prefix}${index}`).data[0]);
  expect(() => concatColumns([make("a"), make("b")])).toThrow(UnsupportedError);
  expect(concatColumns([make("a"), make("a")]).length).toBe(200);
});

it("refuse an index outside the dictionary", () => {
  const column: DictionaryColumn = {
    kind: "dictionary",
    length: 1,
    validity: null,
    indices: { kind: "fixed", length: 1, validity: null, byteWidth: 1, values: Uint8Array.of(3) },
    dictionary: { kind: "fixed", length: 3, validity: null, byteWidth: 1, values: Uint8Array.of(1, 2, 3) },
  };
  expect(() => decodeDictionary(column)).toThrow(InvalidInputError);
});

function nullsOf(column: Column): number {
  const { validity, length } = column;
  if (validity === null) return 0;
  let nulls = 0;
  for (let value = 0; value < length; value++) {
    const bit = validity.bitOffset + value;
    nulls += ((validity.bytes[bit >> 3] >> (bit & 7)) & 1) ^ 1;
  }
  return nulls;
}
