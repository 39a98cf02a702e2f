import * as arrow from "apache-arrow";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FixedColumn } from "../../../src/arrow/columns/column.js";
import { makeBatch, toTable } from "../../../src/arrow/exchange/batch.js";
import type { ForeignData } from "../../../src/arrow/exchange/data.js";
import { dataFromColumn } from "../../../src/arrow/exchange/dataFromColumn.js";
import { columnFromData } from "../../../src/arrow/exchange/wholeData.js";
import { adoptSchema, adoptType } from "../../../src/arrow/types/foreignTypes.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { InvalidInputError } from "../../../src/errors.js";
import { arrow18 } from "../../support/arrow18.js";
import { fieldOf, int32s, utf8s } from "../../support/arrowColumns.js";
import { compareTables } from "../../support/compareTables.js";
import { allTypesSpec, makeTable, NULL_PATTERNS } from "../../support/generators.js";
import { columnArbitrary, columnOf, columnValues, slicedData, valuesOf } from "../columns.js";

describe("columnFromData and dataFromColumn", () => {
  it("agree with apache-arrow on every type and slice", () => {
    fc.assert(
      fc.property(columnArbitrary, (spec) => {
        const data = slicedData(spec);
        const column = columnOf(data);
        expect(column.length).toBe(data.length);
        const expected = valuesOf(new arrow.Vector([data]));
        if (column.kind !== "null") {
          expect(column.validity?.nullCount ?? 0).toBe(expected.length === 0 ? 0 : data.nullCount);
        }
        expect(columnValues(data.type, column)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it("copy no values", () => {
    const data = arrow.makeData({ type: new arrow.Int32(), data: Int32Array.of(1, 2, 3, 4) }).slice(1, 2);
    const column = columnFromData(data, { kind: "fixed", byteWidth: 4 }) as FixedColumn;
    expect(column.values.buffer).toBe(data.values.buffer);
    expect(dataFromColumn(new arrow.Int32(), column).values.buffer).toBe(data.values.buffer);
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
    expect(columnValues(new arrow.Int32(), column)).toEqual([7, -8]);
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
      compareTables(table, arrow.tableFromIPC(arrow.tableToIPC(made)));
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
      number: int32s([1, 2]),
      text: utf8s(["a"]),
      vector: arrow.vectorFromArray(
        [[1, 2]],
        new arrow.FixedSizeList(2, fieldOf("item", new arrow.Float32())),
      ),
      long: int32s(100, (index) => index),
    };
    const table = new arrow.Table(short);
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
