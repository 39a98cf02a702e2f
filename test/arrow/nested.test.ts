/** Lists, structs and maps: from and to apache-arrow, sliced, joined, picked, taken apart. */

import { type Data, type DataType, Vector } from "apache-arrow";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Column } from "../../src/arrow/columns/column.js";
import { concatColumns } from "../../src/arrow/columns/concatColumns.js";
import { nullColumn } from "../../src/arrow/columns/nullColumn.js";
import { sliceColumn } from "../../src/arrow/columns/sliceColumn.js";
import { mergeSpines, pruneColumn, spinesOf, unwrapStructs } from "../../src/arrow/columns/spine.js";
import { takeColumn } from "../../src/arrow/columns/takeColumn.js";
import { dataFromColumn } from "../../src/arrow/exchange/dataFromColumn.js";
import { validateColumn } from "../../src/arrow/exchange/validate.js";
import { columnFromData } from "../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../src/arrow/types/layouts.js";
import { runSync } from "../../src/async/eventLoop.js";
import { CorruptFileError, InvalidInputError } from "../../src/errors.js";
import { Random } from "../support/generators.js";
import { leaf, list, makeNestedTable, nestedTableSpecs, struct } from "../support/nestedGenerators.js";

interface Sample {
  readonly type: DataType;
  readonly data: Data;
  readonly column: Column;
  readonly random: Random;
}

/** Types whose values apache-arrow can all show. */
const TYPES = [
  "int32",
  "bool",
  "utf8",
  "largeBinary",
  "float64",
  "vectorFloat32NullItems",
  "dictionary",
  "null",
] as const;

const samples = nestedTableSpecs({ maxRows: 60, types: TYPES }).map((spec): Sample => {
  const table = makeNestedTable({ ...spec, columns: [spec.columns[0]], batchRows: undefined });
  const data = table.batches[0].data.children[0];
  const { type } = table.schema.fields[0];
  return { type, data, column: columnFromData(data, layoutOf(type, "c")), random: new Random(spec.seed) };
});

/** Values as text; tests of files compare bytes. */
const valuesOf = (data: Data): string[] => Array.from(new Vector([data]), (value) => show(value));

function show(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (ArrayBuffer.isView(value)) return `[${Array.from(value as unknown as ArrayLike<unknown>, show)}]`;
  if (Object.is(value, -0)) return "-0";
  if (typeof value !== "object") return String(value);
  return `[${Array.from(value as Iterable<unknown>, (item) => show(item))}]`;
}

describe("nested columns", () => {
  it("agree with apache-arrow, slices too", () => {
    fc.assert(
      fc.property(samples, ({ type, data, column, random }) => {
        runSync(validateColumn(column, layoutOf(type, "c"), "c"));
        expect(valuesOf(dataFromColumn(type, column))).toEqual(valuesOf(data));
        const start = random.below(data.length + 1);
        const length = random.below(data.length - start + 1);
        const expected = valuesOf(data).slice(start, start + length);
        expect(valuesOf(dataFromColumn(type, sliceColumn(column, start, length)))).toEqual(expected);
        const sliced = columnFromData(data.slice(start, length), layoutOf(type, "c"));
        expect(valuesOf(dataFromColumn(type, sliced))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it("are joined and picked from as arrays are", () => {
    fc.assert(
      fc.property(samples, ({ type, data, column, random }) => {
        const values = valuesOf(data);
        const middle = random.below(data.length + 1);
        const parts = [sliceColumn(column, middle, data.length - middle), sliceColumn(column, 0, middle)];
        const joined = concatColumns([...parts, nullColumn(layoutOf(type, "c"), 2)]);
        const expected = [...values.slice(middle), ...values.slice(0, middle), "null", "null"];
        expect(valuesOf(dataFromColumn(type, joined))).toEqual(expected);
        const rows = Uint32Array.from({ length: random.below(30) }, () => random.below(joined.length));
        expect(valuesOf(dataFromColumn(type, takeColumn(joined, rows)))).toEqual(
          Array.from(rows, (row) => expected[row]),
        );
      }),
      { numRuns: 60 },
    );
  });

  it("are the sum of their spines, wherever these are cut", () => {
    fc.assert(
      fc.property(samples, ({ type, data, column, random }) => {
        const layout = layoutOf(type, "c");
        const start = random.below(data.length + 1);
        const length = random.below(data.length - start + 1);
        const spines = spinesOf(layout).map((spine) => {
          const pruned = pruneColumn(column, spine.path, spine.layout);
          // Columns of a file have separate pages: each spine starts at another row.
          const first = random.below(start + 1);
          const page = concatColumns([
            sliceColumn(pruned, first, start - first),
            sliceColumn(pruned, start, length),
          ]);
          return sliceColumn(page, start - first, length);
        });
        const merged = mergeSpines(layout, spines, length, "t.lance");
        expect(valuesOf(dataFromColumn(type, merged))).toEqual(valuesOf(data).slice(start, start + length));
      }),
      { numRuns: 60 },
    );
  });
});

describe("spines", () => {
  const table = makeNestedTable({
    columns: [
      list(struct([leaf("int32", "some"), leaf("utf8", "some")], "some"), "some"),
      struct([leaf("int32", "some")], "some"),
    ],
    rowCount: 50,
    seed: 4,
  });
  const [pairs, single] = table.schema.fields.map(({ type }, index) => {
    const layout = layoutOf(type, "c");
    const column = columnFromData(table.batches[0].data.children[index], layout);
    return { type, layout, column };
  });

  it("that are missing become nulls", () => {
    const [first] = spinesOf(pairs.layout);
    const spine = pruneColumn(pairs.column, first.path, first.layout);
    const merged = mergeSpines(pairs.layout, [spine, null], 50, "t.lance");
    const rows = Array.from(new Vector([dataFromColumn(pairs.type, merged)]));
    const source = Array.from(new Vector([dataFromColumn(pairs.type, pairs.column)]));
    for (const [row, value] of rows.entries()) {
      const items = (values: unknown) =>
        Array.from((values ?? []) as Iterable<{ m0: unknown; m1: unknown } | null>);
      expect(value === null).toBe(source[row] === null);
      expect(items(value).map((item) => item?.m0)).toEqual(items(source[row]).map((item) => item?.m0));
      expect(items(value).every((item) => item === null || item.m1 === null)).toBe(true);
    }
  });

  it("whose lists differ in length are refused", () => {
    const [first, second] = spinesOf(pairs.layout);
    const spines = [
      pruneColumn(pairs.column, first.path, first.layout),
      takeColumn(
        pruneColumn(pairs.column, second.path, second.layout),
        Uint32Array.from({ length: 50 }, (_, row) => 49 - row),
      ),
    ];
    expect(() => mergeSpines(pairs.layout, spines, 50, "t.lance")).toThrow(CorruptFileError);
  });

  it("without their structs are null where these are", () => {
    const inner = unwrapStructs(single.column, [0]);
    expect(inner.kind).toBe("fixed");
    const rows = Array.from(new Vector([dataFromColumn(single.type, single.column)])) as ({
      m0: unknown;
    } | null)[];
    const values = Array.from(new Vector([dataFromColumn(single.type.children[0].type, inner)]));
    expect(values).toEqual(rows.map((row) => row?.m0 ?? null));
  });
});

describe("lists that cannot be", () => {
  const layout = layoutOf(
    makeNestedTable({ columns: [list(leaf("int32"))], rowCount: 1, seed: 1 }).schema.fields[0].type,
    "c",
  );
  const items: Column = {
    kind: "fixed",
    length: 3,
    validity: null,
    byteWidth: 4,
    values: new Uint8Array(12),
  };
  it.each([
    [0, 2, 1],
    [0, 2, 4],
    [-1, 0, 3],
  ])("offsets %i %i %i into 3 items", (...offsets) => {
    const column: Column = {
      kind: "list",
      length: 2,
      validity: null,
      offsets: Int32Array.from(offsets),
      items,
    };
    expect(() => runSync(validateColumn(column, layout, "c"))).toThrow(InvalidInputError);
  });
});
