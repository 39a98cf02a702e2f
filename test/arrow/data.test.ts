import { createRequire } from "node:module";
import {
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Int8,
  Int32,
  makeData,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
  Vector,
  vectorFromArray,
} from "apache-arrow";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeBatch, toTable } from "../../src/arrow/batch.js";
import type { Column, DictionaryColumn, FixedColumn } from "../../src/arrow/column.js";
import { columnFromData, dataFromColumn, type ForeignData } from "../../src/arrow/data.js";
import {
  concatColumns,
  decodeDictionary,
  nullColumn,
  sliceColumn,
  takeColumn,
} from "../../src/arrow/rearrange.js";
import { adoptSchema, adoptType, layoutOf } from "../../src/arrow/types.js";
import { InvalidInputError, UnsupportedError } from "../../src/errors.js";
import { compareTables } from "../support/compareTables.js";
import { allTypesSpec, makeTable, NULL_PATTERNS } from "../support/generators.js";
import { COLUMN_NAMES, columnValues, randomData, valuesOf } from "./columns.js";

const arrow18 = createRequire(new URL("../reference/package.json", import.meta.url))(
  "apache-arrow",
) as typeof import("apache-arrow");

const columnArbitrary = fc.record({
  name: fc.constantFrom(...COLUMN_NAMES),
  rowCount: fc.nat(80),
  nulls: fc.constantFrom(...NULL_PATTERNS),
  seed: fc.nat(1_000_000),
  // Slices, as fractions of what is left.
  slices: fc.array(
    fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
    {
      maxLength: 3,
    },
  ),
});

/** A column that apache-arrow has sliced, and its values. */
function slicedData({
  name,
  rowCount,
  nulls,
  seed,
  slices,
}: typeof columnArbitrary extends fc.Arbitrary<infer T> ? T : never) {
  let data = randomData(name, rowCount, nulls, seed);
  for (const [at, size] of slices) {
    const start = Math.floor(at * data.length);
    data = data.slice(start, Math.floor(size * (data.length - start)));
  }
  return data;
}

const columnOf = (data: ReturnType<typeof slicedData>): Column =>
  columnFromData(data, layoutOf(data.type, "test"));

describe("columnFromData and dataFromColumn", () => {
  it("agree with apache-arrow on every type and slice", () => {
    fc.assert(
      fc.property(columnArbitrary, (spec) => {
        const data = slicedData(spec);
        const column = columnOf(data);
        expect(column.length).toBe(data.length);
        const expected = valuesOf(new Vector([data]));
        if (column.kind !== "null") {
          expect(column.validity?.nullCount ?? 0).toBe(expected.length === 0 ? 0 : data.nullCount);
        }
        expect(columnValues(data.type, column)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it("copy no values", () => {
    const data = makeData({ type: new Int32(), data: Int32Array.of(1, 2, 3, 4) }).slice(1, 2);
    const column = columnFromData(data, { kind: "fixed", byteWidth: 4 }) as FixedColumn;
    expect(column.values.buffer).toBe(data.values.buffer);
    expect(dataFromColumn(new Int32(), column).values.buffer).toBe(data.values.buffer);
  });

  it("copy values that lie at an odd address", () => {
    const bytes = new Uint8Array(9);
    bytes.set(new Uint8Array(Int32Array.of(7, -8).buffer), 1);
    const column: FixedColumn = {
      kind: "fixed",
      length: 2,
      validity: null,
      byteWidth: 4,
      values: bytes.subarray(1),
    };
    expect(columnValues(new Int32(), column)).toEqual([7, -8]);
  });

  it("write IPC bytes that read back alike", () => {
    for (const nulls of NULL_PATTERNS) {
      const table = makeTable(allTypesSpec(41, nulls, { batchRows: 13 }));
      const schema = adoptSchema(table.schema);
      const batches = table.batches.map((batch) => {
        const columns = batch.data.children.map((child) =>
          columnFromData(child, layoutOf(child.type, "test")),
        );
        return makeBatch(schema, columns, batch.numRows);
      });
      const made = toTable(schema, batches);
      compareTables(table, made);
      compareTables(table, tableFromIPC(tableToIPC(made)));
    }
  });

  it("take data of apache-arrow 18", () => {
    const rows = [
      ["a", null, "bcd", ""],
      [true, null, false, true],
      [1n, 2n, null, -4n],
    ] as const;
    const vectors = [
      arrow18.vectorFromArray([...rows[0]], new arrow18.Utf8()),
      arrow18.vectorFromArray([...rows[0]], new arrow18.LargeUtf8()),
      arrow18.vectorFromArray([...rows[0]]),
      arrow18.vectorFromArray([...rows[1]], new arrow18.Bool()),
      arrow18.vectorFromArray([...rows[2]], new arrow18.Int64()),
      arrow18.vectorFromArray([0, null, 86_400_000, 172_800_000], new arrow18.DateMillisecond()),
      arrow18.vectorFromArray([1, null, 3, 4], new arrow18.TimestampMicrosecond("UTC")),
      arrow18.vectorFromArray(
        [[1, 2], null, [5, 6], [7, 8]],
        new arrow18.FixedSizeList(2, new arrow18.Field("item", new arrow18.Float32(), true)),
      ),
    ];
    for (const vector of vectors) {
      for (const [start, end] of [
        [0, 4],
        [1, 4],
        [2, 3],
        [3, 3],
      ]) {
        const slice = vector.slice(start, end);
        const type = adoptType(vector.type);
        const chunks = slice.data.map((data) => columnFromData(data as ForeignData, layoutOf(type, "test")));
        expect(chunks.flatMap((chunk) => columnValues(type, chunk))).toEqual(valuesOf(slice));
      }
    }
  });

  it("fill in the nulls of a column that apache-arrow only lengthened", () => {
    const short = {
      number: vectorFromArray([1, 2], new Int32()),
      text: vectorFromArray(["a"], new Utf8()),
      vector: vectorFromArray([[1, 2]], new FixedSizeList(2, new Field("item", new Float32(), true))),
      long: vectorFromArray(
        Array.from({ length: 100 }, (_, index) => index),
        new Int32(),
      ),
    };
    const table = new Table(short);
    for (const [index, { type }] of table.schema.fields.entries()) {
      const columns = table.batches.map((batch) =>
        columnFromData(batch.data.children[index], layoutOf(type, "test")),
      );
      const source = valuesOf(Object.values(short)[index]);
      expect(columns.flatMap((column) => columnValues(type, column))).toEqual([
        ...source,
        ...new Array(100 - source.length).fill(null),
      ]);
    }
  });

  it("refuse buffers shorter than the length", () => {
    const fixed = { length: 3, offset: 0, nullCount: 0, values: new Int32Array(2) };
    expect(() => columnFromData(fixed, { kind: "fixed", byteWidth: 4 })).toThrow(InvalidInputError);
    const bits = { length: 9, offset: 0, nullCount: 0, values: new Uint8Array(1) };
    expect(() => columnFromData(bits, { kind: "bits" })).toThrow(InvalidInputError);
    const text = {
      length: 2,
      offset: 0,
      nullCount: 0,
      values: new Uint8Array(4),
      valueOffsets: new Int32Array(2),
    };
    expect(() => columnFromData(text, { kind: "variable", offsetBits: 32, text: true })).toThrow(
      InvalidInputError,
    );
    const nulls = {
      length: 9,
      offset: 0,
      nullCount: 1,
      values: new Int32Array(9),
      nullBitmap: new Uint8Array(1),
    };
    expect(() => columnFromData(nulls, { kind: "fixed", byteWidth: 4 })).toThrow(InvalidInputError);
    const negative = { length: -1, offset: 0, nullCount: 0, values: new Int32Array(9) };
    expect(() => columnFromData(negative, { kind: "fixed", byteWidth: 4 })).toThrow(InvalidInputError);
  });
});

describe("operations on columns", () => {
  it("slice as arrays do", () => {
    fc.assert(
      fc.property(columnArbitrary, fc.nat(), fc.nat(), (spec, at, size) => {
        const data = slicedData(spec);
        const column = columnOf(data);
        const start = at % (column.length + 1);
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
        const indices = Uint32Array.from(
          column.length === 0 ? [] : picks.map((pick) => pick % column.length),
        );
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
      columnOf(
        vectorFromArray(
          Array.from({ length: 100 }, (_, index) => `${prefix}${index}`),
          new Dictionary(new Utf8(), new Int8()),
        ).data[0],
      );
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
