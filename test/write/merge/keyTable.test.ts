/** A key table finds exactly the equal keys, whatever their types and however their hashes collide. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { columnFromData } from "../../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { logicalTypeOf } from "../../../src/arrow/types/logicalTypes.js";
import { type KeyColumn, keyColumn, keyFormOf } from "../../../src/query/compare/keyColumns.js";
import { hashKeys } from "../../../src/write/merge/keyHashes.js";
import { KeyTable, NO_ROW } from "../../../src/write/merge/keyTable.js";

type Value = number | bigint | string | boolean | Uint8Array | null;

const bytes = (length?: number) =>
  fc.uint8Array(
    length === undefined ? { maxLength: 9, max: 2 } : { minLength: length, maxLength: length, max: 1 },
  );

/** Types with few values each, so that rows match. */
const TYPES: readonly (readonly [arrow.DataType, fc.Arbitrary<Value>])[] = [
  [new arrow.Int8(), fc.integer({ min: -2, max: 2 })],
  [new arrow.Int16(), fc.integer({ min: -300, max: -298 })],
  [new arrow.Int32(), fc.integer({ min: 2 ** 31 - 3, max: 2 ** 31 - 1 })],
  [new arrow.Int64(), fc.bigInt({ min: 2n ** 33n - 2n, max: 2n ** 33n + 2n })],
  [new arrow.Float32(), fc.constantFrom(0, -0, Number.NaN, 1.5, Number.POSITIVE_INFINITY)],
  [new arrow.Float64(), fc.constantFrom(0, -0, Number.NaN, 1.5, Number.POSITIVE_INFINITY)],
  [new arrow.Utf8(), fc.string({ maxLength: 2, unit: fc.constantFrom("a", "é", "\0") })],
  [new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()), fc.constantFrom("", "a", "bb")],
  [new arrow.Binary(), bytes()],
  [new arrow.FixedSizeBinary(3), bytes(3)],
  [new arrow.FixedSizeBinary(8), bytes(8)],
  [new arrow.FixedSizeBinary(12), bytes(12)],
  [new arrow.Bool(), fc.boolean()],
];

interface Keys {
  readonly types: readonly arrow.DataType[];
  /** Rows of the table, and rows to look up. */
  readonly rows: readonly (readonly Value[])[];
  readonly others: readonly (readonly Value[])[];
}

const keys: fc.Arbitrary<Keys> = fc
  .array(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 3 })
  .chain((columns) => {
    const row = fc.tuple(...columns.map(([, value]) => fc.option(value, { freq: 9 })));
    const rows = fc.array(row, { minLength: 1, maxLength: 40 });
    return fc.record({ types: fc.constant(columns.map(([type]) => type)), rows, others: rows });
  });

function columnsOf(types: readonly arrow.DataType[], rows: readonly (readonly Value[])[]): KeyColumn[] {
  return types.map((type, index) => {
    const values = rows.map((row) => row[index]);
    const form = keyFormOf({ type: logicalTypeOf(type, "k"), children: [] }, "k");
    const vector = arrow.vectorFromArray(values, type);
    const layout = layoutOf(type, "k");
    return keyColumn(columnFromData(vector.data[0], layout, new WeakMap()), form);
  });
}

/** Returns equal names for equal keys; null for a key with a null. */
function nameOf(row: readonly Value[]): string | null {
  if (row.includes(null)) return null;
  return JSON.stringify(
    row.map((value) =>
      value instanceof Uint8Array
        ? [...value]
        : Object.is(value, -0)
          ? "-0"
          : typeof value === "number" && Number.isNaN(value)
            ? "NaN"
            : String(value),
    ),
  );
}

/** Returns the rows without nulls; only these are put in a table. */
const withKey = (rows: Keys["rows"]) => rows.filter((row) => nameOf(row) !== null);

async function chains({ types, rows, others }: Keys, hashesOf: typeof hashKeys): Promise<number[][]> {
  const tableRows = withKey(rows);
  const seed = 7;
  const columns = tableRows.length === 0 ? [] : columnsOf(types, tableRows);
  const table = await KeyTable.of(columns, hashesOf(columns, tableRows.length, seed));
  const wanted = columnsOf(types, others);
  const firstRows = table.find(wanted, hashesOf(wanted, others.length, seed));
  return others.map((_, index) => {
    const chain: number[] = [];
    for (let row = firstRows[index] ?? NO_ROW; row !== NO_ROW; row = table.next(row)) chain.push(row);
    return chain.sort((a, b) => a - b);
  });
}

function expected({ rows, others }: Keys): number[][] {
  const tableNames = withKey(rows).map(nameOf);
  return others.map((otherName) => {
    const name = nameOf(otherName);
    return tableNames.flatMap((each, row) => (name !== null && each === name ? [row] : []));
  });
}

describe("a table of keys", () => {
  it("finds the rows with the same key", async () => {
    await fc.assert(
      fc.asyncProperty(keys, async (each) => {
        expect(await chains(each, hashKeys)).toEqual(expected(each));
      }),
      { numRuns: 400 },
    );
  });

  it("finds them if all hashes are equal", async () => {
    const same: typeof hashKeys = (_, rowCount) => new Int32Array(rowCount).fill(-5);
    await fc.assert(
      fc.asyncProperty(keys, async (each) => {
        expect(await chains(each, same)).toEqual(expected(each));
      }),
      { numRuns: 200 },
    );
  });

  it("spreads the hashes of consecutive numbers", () => {
    const values = Int32Array.from({ length: 2 ** 16 }, (_, index) => index << 8);
    const column: KeyColumn = {
      kind: "fixed",
      length: values.length,
      validity: null,
      byteWidth: 4,
      values: new Uint8Array(values.buffer),
    };
    const hashes = hashKeys([column], values.length, 1);
    expect(new Set(hashes).size).toBe(values.length);
    expect(new Set(hashes.map((hash) => hash & 0xffff)).size).toBeGreaterThan(2 ** 16 * 0.6);
  });

  it("refuses keys that can't be compared, at any depth", () => {
    const json = { type: { kind: "json" }, children: [] } as const;
    const list = { kind: "list", large: false, ofStructs: false } as const;
    for (const field of [json, { type: list, children: [json] }]) {
      expect(() => keyFormOf(field, "k")).toThrow(/by which rows are not matched/);
    }
  });
});
