/** Generated merges leave the same rows and counts in both engines, or both refuse. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { NamespaceError } from "tiltyard";
import { arrow as theirs } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { columnsOf, fieldOf, int32s } from "../support/arrowColumns.js";
import { openBothEngines } from "../support/bothEngines.js";
import { runsOf } from "../support/effort.js";
import { reference } from "../support/reference.js";

type Value = number | bigint | string | boolean | Uint8Array | null;

/** Key types with few values each, so that rows match. */
const KEYS: readonly (readonly [arrow.DataType, fc.Arbitrary<Value>])[] = [
  [new arrow.Int8(), fc.integer({ min: -4, max: 4 })],
  [new arrow.Int32(), fc.integer({ min: 0, max: 9 })],
  [new arrow.Int64(), fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 5n })],
  [new arrow.Uint64(), fc.bigInt({ min: 2n ** 64n - 8n, max: 2n ** 64n - 1n })],
  [new arrow.Float32(), fc.constantFrom(0, -0, Number.NaN, 1.5, 2.5, -1)],
  [new arrow.Float64(), fc.constantFrom(0, -0, Number.NaN, 1.5, 2.5, Number.NEGATIVE_INFINITY)],
  [new arrow.Utf8(), fc.string({ maxLength: 2, unit: fc.constantFrom("a", "é", "𝄞") })],
  [new arrow.Binary(), fc.uint8Array({ maxLength: 2, max: 2 })],
  [new arrow.TimestampMicrosecond("UTC"), fc.integer({ min: 0, max: 6 })],
  [new arrow.DateDay(), fc.integer({ min: 0, max: 6 }).map((day) => day * 86_400_000)],
  [new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()), fc.constantFrom("", "a", "bb", "c")],
];

const NAMES = ["k", "l", "v", "s"] as const;
type Name = (typeof NAMES)[number];
type Row = Readonly<Record<Name, Value>>;
type Types = Readonly<Record<Name, arrow.DataType>>;

interface Step {
  readonly on: readonly Name[];
  readonly update: string | null;
  readonly insert: boolean;
  readonly remove: string | null;
  readonly names: readonly Name[];
  readonly rows: readonly Row[];
}

interface Case {
  readonly types: Types;
  readonly fileVersion: string;
  readonly stableRowIds: boolean;
  /** Fragments; rows with a negative `v` are deleted before the merges. */
  readonly target: readonly (readonly Row[])[];
  readonly steps: readonly Step[];
}

const ALL = "";
const UPDATES = [
  ALL,
  ALL,
  ALL,
  "source.v > target.v",
  "target.s = 'x' or source.s is null",
  "target.v > 2",
  "source.v % 2 = 0",
];
const REMOVALS = [ALL, "v > 3", "s = 'x' and v is not null", "v in (1, 2, 3)"];

const cases: fc.Arbitrary<Case> = fc
  .tuple(fc.constantFrom(...KEYS), fc.constantFrom(...KEYS))
  .chain(([[k, kValue], [l, lValue]]) => {
    const row: fc.Arbitrary<Row> = fc.record({
      k: fc.option(kValue, { freq: 10 }),
      l: fc.option(lValue, { freq: 10 }),
      v: fc.option(fc.integer({ min: -2, max: 9 }), { freq: 8 }),
      s: fc.option(fc.constantFrom("x", "y", "z"), { freq: 5 }),
    });
    const keyName = (each: Row) =>
      JSON.stringify([each.k, each.l], (_, value) => (typeof value === "bigint" ? `${value}n` : value));
    const rows = fc.oneof(
      fc.array(row, { minLength: 1, maxLength: 12 }),
      fc.uniqueArray(row, { minLength: 1, maxLength: 12, selector: keyName }),
      fc.uniqueArray(row, { minLength: 1, maxLength: 12, selector: (each) => String(each.k) }),
    );
    const step: fc.Arbitrary<Step> = fc
      .record({
        on: fc.constantFrom<readonly Name[]>(["k"], ["k"], ["k", "l"], ["l", "k"]),
        update: fc.option(fc.constantFrom(...UPDATES), { freq: 4 }),
        insert: fc.boolean(),
        remove: fc.option(fc.constantFrom(...REMOVALS), { freq: 1 }),
        names: fc.constantFrom<readonly Name[]>(
          NAMES,
          NAMES,
          ["s", "v", "l", "k"],
          ["k", "l", "v"],
          ["k", "l", "s"],
        ),
        rows,
      })
      .filter(({ update, insert, remove }) => update !== null || insert || remove !== null);
    return fc.record({
      types: fc.constant({ k, l, v: new arrow.Int32(), s: new arrow.Utf8() }),
      fileVersion: fc.constantFrom("2.0", "2.1", "2.2"),
      stableRowIds: fc.boolean(),
      target: fc.array(rows, { minLength: 1, maxLength: 3 }),
      steps: fc.array(step, { minLength: 2, maxLength: 3 }),
    });
  });

/** Copies a dictionary type: columns of one type object would share a dictionary. */
const unsharedType = (type: arrow.DataType): arrow.DataType =>
  arrow.DataType.isDictionary(type) ? new arrow.Dictionary(type.dictionary, type.indices) : type;

function tableOf(types: Types, rows: readonly Row[], names: readonly Name[] = NAMES): arrow.Table {
  const unshared = names.map((name) => unsharedType(types[name]));
  const schema = new arrow.Schema(names.map((name, index) => fieldOf(name, unshared[index])));
  const children = names.map(
    (name, index) => columnsOf(unshared[index])(rows.map((row) => row[name])).data[0],
  );
  const type = new arrow.Struct(schema.fields);
  return new arrow.Table(schema, [
    new arrow.RecordBatch(schema, arrow.makeData({ type, length: rows.length, nullCount: 0, children })),
  ]);
}

const { root, namespace, connection } = await openBothEngines({});

/** Updated, inserted and deleted rows; null if the merge is refused. */
type Counts = readonly number[] | null;

async function byUs(
  table: string,
  types: Types,
  { on, update, insert, remove, names, rows }: Step,
): Promise<Counts> {
  try {
    const done = await namespace.table(table).mergeInsert(on, tableOf(types, rows, names), {
      whenMatchedUpdateAll: update !== null,
      whenMatchedUpdateAllFilt: update || undefined,
      whenNotMatchedInsertAll: insert,
      whenNotMatchedBySourceDelete: remove !== null,
      whenNotMatchedBySourceDeleteFilt: remove || undefined,
    });
    return [done.numUpdatedRows, done.numInsertedRows, done.numDeletedRows];
  } catch (error) {
    if (error instanceof NamespaceError && [12, 13, 20].includes(error.code)) return null;
    throw error;
  }
}

async function byThem(
  name: string,
  types: Types,
  { on, update, insert, remove, names, rows }: Step,
): Promise<Counts> {
  const table = await connection.openTable(name);
  let merge = table.mergeInsert([...on]);
  if (update !== null) merge = merge.whenMatchedUpdateAll(update === ALL ? undefined : { where: update });
  if (insert) merge = merge.whenNotMatchedInsertAll();
  if (remove !== null)
    merge = merge.whenNotMatchedBySourceDelete(remove === ALL ? undefined : { where: remove });
  try {
    const done = await merge.execute(theirs.tableFromIPC(arrow.tableToIPC(tableOf(types, rows, names))));
    return [done.numUpdatedRows, done.numInsertedRows, done.numDeletedRows];
  } catch (error) {
    if (!/Ambiguous|No field named/.test(String(error))) throw error;
    return null;
  } finally {
    table.close();
  }
}

function shown(value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "number" && Number.isNaN(value)) return "NaN";
  return value instanceof Uint8Array ? [...value].join() : value;
}

const textsOf = (rows: arrow.Table): string[] =>
  rows
    .toArray()
    .map((row) => JSON.stringify(NAMES.map((column) => shown(row[column]))))
    .sort();

const rowsOf = async (name: string): Promise<string[]> =>
  textsOf(await namespace.table(name).scan().toArrow());

let tableCount = 0;

async function makeTable({ types, fileVersion, stableRowIds, target }: Case): Promise<string> {
  const name = `t${tableCount++}`;
  const [first, ...others] = target.map((rows) => arrow.tableToIPC(tableOf(types, rows)));
  await reference.createTable(root, name, first, { dataStorageVersion: fileVersion, stableRowIds });
  for (const rows of others) await reference.appendTable(root, name, rows);
  await reference.deleteRows(root, name, "v < 0");
  return name;
}

describe("merges", () => {
  it("leave the same rows", async () => {
    let done = 0;
    await fc.assert(
      fc.asyncProperty(cases, async (each) => {
        const [first, second] = [await makeTable(each), await makeTable(each)];
        for (const [index, step] of each.steps.entries()) {
          const engines = index % 2 === 0 ? [byUs, byThem] : [byThem, byUs];
          const before = await namespace.table(first).version();
          const counts = [
            await engines[0](first, each.types, step),
            await engines[1](second, each.types, step),
          ];
          expect(counts[0]).toEqual(counts[1]);
          expect(await rowsOf(first)).toEqual(await rowsOf(second));
          if (counts[0] === null) expect(await namespace.table(first).version()).toBe(before);
          else done++;
        }
        expect(textsOf(arrow.tableFromIPC(await reference.readTable(root, first)))).toEqual(
          await rowsOf(first),
        );
      }),
      { numRuns: runsOf("MERGE_PAIRS", 60) },
    );
    expect(done).toBeGreaterThan(20);
  }, 300_000);

  it("leave rows that are updated their ids, and say when they were made", async () => {
    const rows = (ks: readonly number[], v: number) =>
      new arrow.Table({
        k: int32s(ks),
        v: int32s(ks.map(() => v)),
      });
    const upsert = { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
    const answers: unknown[] = [];
    for (const engine of ["ours", "theirs"]) {
      const name = `stable_${engine}`;
      await reference.createTable(root, name, arrow.tableToIPC(rows([1, 2, 3], 0)), { stableRowIds: true });
      const table = await connection.openTable(name);
      for (const [v, ks] of [
        [3, 2, 1],
        [5, 2],
        [4, 6, 3],
      ].entries()) {
        if (engine === "ours") await namespace.table(name).mergeInsert("k", rows(ks, v), upsert);
        else {
          await table.checkoutLatest();
          const merge = table.mergeInsert("k").whenMatchedUpdateAll().whenNotMatchedInsertAll();
          await merge.execute(theirs.tableFromIPC(arrow.tableToIPC(rows(ks, v))));
        }
      }
      await table.checkoutLatest();
      const versions = ["_row_created_at_version", "_row_last_updated_at_version"];
      const read = await table
        .query()
        .select(["k", "v", "_rowid", ...versions])
        .toArray();
      const old = read
        .filter(({ k }) => k <= 3)
        .map((row) => [row.k, row.v, row._rowid, ...versions.map((each) => row[each])]);
      const added = read
        .filter(({ k }) => k > 3)
        .map((row) => [row.k, row.v, ...versions.map((each) => row[each])]);
      expect(new Set(read.map(({ _rowid }) => _rowid)).size).toBe(6);
      answers.push([old, added].map((part) => part.map((row) => row.map(shown)).sort()));
      table.close();
    }
    expect(answers[0]).toEqual(answers[1]);
  });
});
