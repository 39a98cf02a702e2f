/**
 * Scalar indexes that either engine makes: both list them, both use them, and both keep them right while rows come, go and
 * move. What is found by an index is always what is found without one.
 */

import {
  Bool,
  type DataType,
  DateDay,
  DateMillisecond,
  Field,
  FixedSizeBinary,
  Float16,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  List,
  Table,
  TimeNanosecond,
  TimestampMicrosecond,
  TimestampSecond,
  tableToIPC,
  Uint8,
  Uint32,
  Uint64,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { Index } from "tiltyard-reference/session.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kindOfName } from "../../src/indexes/kinds/kinds.js";
import {
  buildIndex,
  expectSameAnswers,
  foundThere,
  planThere,
  withReference,
} from "../support/indexedTable.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

let root: string;
let namespace: DirectoryNamespace;
let tables = 0;
beforeAll(async () => {
  root = await makeTempDir();
  namespace = new DirectoryNamespace({ root, durability: "none" });
});
afterAll(() => namespace.close());

interface Values {
  readonly type: DataType;
  /** The value of a row; the same values come again and again. */
  readonly of: (id: number) => unknown;
  readonly filters: readonly string[];
}

/** What an index of text fragments is asked. */
const CONTAINS = "contains(v, 'tex')";
const DAY_MS = 86_400_000;
const common = (one: string, other: string): string[] => [
  `v = ${one}`,
  `v IN (${one}, ${other})`,
  "v IS NULL",
  "v IS NOT NULL",
  `v != ${one}`,
  `v = ${one} OR id < 3`,
  `NOT (v = ${one}) AND id > 5`,
];
const ordered = (one: string, other: string): string[] => [
  ...common(one, other),
  `v > ${one}`,
  `v >= ${one} AND v < ${other}`,
  `v BETWEEN ${one} AND ${other}`,
];
const number = (type: DataType, of = (id: number): unknown => id % 17): Values => ({
  type,
  of,
  filters: ordered("5", "11"),
});
const big = (id: number): bigint => BigInt(id % 17);
const instant = "timestamp '2020-01-03 00:00:00'";
const later = "timestamp '2020-01-09 00:00:00'";
const instantOf = (id: number): number => (18_262 + (id % 17)) * DAY_MS;

const VALUES: Record<string, Values> = {
  bool: { type: new Bool(), of: (id) => id % 3 === 0, filters: ["v = true", "v = false", "v IS NULL", "v"] },
  int8: number(new Int8()),
  int16: number(new Int16()),
  int32: number(new Int32()),
  int64: number(new Int64(), big),
  uint8: number(new Uint8()),
  uint32: number(new Uint32()),
  uint64: number(new Uint64(), big),
  // Literals are not of this type.
  float16: { type: new Float16(), of: (id) => id % 17, filters: ["v IS NULL", "v IS NOT NULL"] },
  float32: number(new Float32(), (id) => [NaN, -0, 0, Infinity, -Infinity, 1.5][id % 6]),
  float64: number(new Float64(), (id) => (id % 11 === 3 ? NaN : (id % 17) + 0.5)),
  utf8: {
    type: new Utf8(),
    of: (id) => ["", "a", "ä", "text", "\u{1f600}", "tex"][id % 6] + (id % 5),
    filters: [...ordered("'a1'", "'text3'"), "v LIKE 'tex%'", "v LIKE '%1'", "starts_with(v, 'ä')", CONTAINS],
  },
  fixed_size_binary: {
    type: new FixedSizeBinary(2),
    of: (id) => Uint8Array.of(id % 7, id % 3),
    filters: ["v IS NULL", "v IS NOT NULL"],
  },
  date32: {
    type: new DateDay(),
    of: (id) => new Date((18_262 + (id % 17)) * DAY_MS),
    filters: ordered("date '2020-01-03'", "date '2020-01-09'"),
  },
  date64: {
    type: new DateMillisecond(),
    of: (id) => new Date((18_262 + (id % 17)) * DAY_MS),
    filters: ["v IS NULL", "v IS NOT NULL"],
  },
  timestamp_s: { type: new TimestampSecond(), of: instantOf, filters: ordered(instant, later) },
  timestamp_us: {
    type: new TimestampMicrosecond(),
    of: instantOf,
    filters: ordered(instant, later),
  },
  time64: {
    type: new TimeNanosecond(),
    of: (id) => BigInt(id % 17),
    filters: ["v IS NULL", "v IS NOT NULL"],
  },
  list: {
    type: new List(new Field("item", new Utf8(), true)),
    of: (id) => (id % 9 === 4 ? [] : [`l${id % 5}`, id % 4 === 0 ? null : `m${id % 3}`]),
    filters: [
      "array_has(v, 'l2')",
      "array_has_any(v, ['l1', 'm2'])",
      "array_has_all(v, ['l1', 'm2'])",
      "NOT array_has(v, 'l2')",
      "v IS NULL",
    ],
  },
};

/** A fourth of the values are null, at the start of each fragment and in between. */
function rowsOf({ type, of }: Values, from: number, count: number): Table {
  const ids = Array.from({ length: count }, (_, row) => from + row);
  const values = ids.map((id) => (id % 8 < 2 ? null : of(id)));
  return new Table({
    id: vectorFromArray(ids, new Int32()),
    v: vectorFromArray(values, type),
    w: vectorFromArray(
      ids.map((id) => id % 3),
      new Int32(),
    ),
  });
}

/** The kinds, what they are on, what the reference makes them with, and what its plans call them. */
const KINDS: readonly {
  readonly kind: string;
  readonly types: readonly string[];
  readonly config?: () => ReturnType<typeof Index.btree>;
  readonly isListed: boolean;
}[] = [
  {
    kind: "BTREE",
    types: Object.keys(VALUES).filter((name) => name !== "list"),
    config: () => Index.btree(),
    isListed: true,
  },
  {
    kind: "BITMAP",
    types: ["bool", "int8", "int32", "int64", "uint8", "uint64", "utf8"],
    config: () => Index.bitmap(),
    isListed: true,
  },
  { kind: "LABEL_LIST", types: ["list"], config: () => Index.labelList(), isListed: true },
  { kind: "ZONEMAP", types: ["int32", "float64", "utf8", "date32", "timestamp_us"], isListed: false },
  { kind: "BLOOMFILTER", types: ["int32", "int64", "utf8"], isListed: false },
  { kind: "NGRAM", types: ["utf8"], isListed: false },
];
const PRESENT = KINDS.filter(({ kind }) => kindOfName(kind) !== null);
const SPELLED: Record<string, string> = { BTREE: "BTree", BITMAP: "Bitmap", LABEL_LIST: "LabelList" };

/** Two tables of the same rows, one of which has an index. */
async function makePair(values: Values, stable: boolean): Promise<{ name: string; plain: string }> {
  const name = `i${tables++}`;
  const plain = `${name}_plain`;
  for (const each of [name, plain]) {
    await reference.createTable(root, each, tableToIPC(rowsOf(values, 0, 120)), { stableRowIds: stable });
    await namespace.insertIntoTable({ id: [each] }, rowsOf(values, 120, 60));
    await namespace.deleteFromTable({ id: [each], predicate: "id % 10 = 7" });
  }
  return { name, plain };
}

const statsHere = (name: string) => namespace.describeTableIndexStats({ id: [name], indexName: "v_idx" });
const statsThere = (name: string) => withReference(root, name, (table) => table.indexStats("v_idx"));

/** What both engines say about an index, and what they find by it. */
async function check(
  { name, plain }: { name: string; plain: string },
  { filters }: Values,
  { kind, isListed }: (typeof KINDS)[number],
): Promise<void> {
  const here = await statsHere(name);
  const there = await statsThere(name);
  expect(there).toMatchObject({
    numIndexedRows: here.numIndexedRows,
    numUnindexedRows: here.numUnindexedRows,
  });
  expect(here.indexType).toBe(kind);
  expect(there?.indexType).toBe(isListed ? kind : "UNKNOWN");
  expect((here.numIndexedRows ?? 0) + (here.numUnindexedRows ?? 0)).toBe(
    await namespace.countTableRows({ id: [name] }),
  );
  const [listed] = (await namespace.listTableIndices({ id: [name] })).indexes;
  expect(listed).toMatchObject({ indexName: "v_idx", columns: ["v"], indexType: kind, status: "SUCCEEDED" });
  const listedThere = await withReference(root, name, (table) => table.listIndices());
  if (isListed)
    expect(listedThere).toMatchObject([{ name: "v_idx", indexType: SPELLED[kind], columns: ["v"] }]);
  await expectSameAnswers(namespace, root, name, (filter) => foundThere(root, plain, filter), filters);
}

describe.each(PRESENT)("$kind", (each) => {
  const { kind, types, config } = each;

  it.each(types)("on %s is used by the reference, which merges into it", async (type) => {
    const values = VALUES[type];
    const pair = await makePair(values, false);
    await buildIndex(namespace, { id: [pair.name], column: "v", indexType: kind });
    expect(await statsHere(pair.name)).toMatchObject({
      numIndexedRows: 162,
      numUnindexedRows: 0,
      numIndices: 1,
    });
    await check(pair, values, each);
    const used = kind === "NGRAM" ? CONTAINS : values.filters[0];
    if (type !== "bool") expect(await planThere(root, pair.name, used)).toContain("v_idx");
    for (const name of [pair.name, pair.plain]) {
      await reference.appendTable(root, name, tableToIPC(rowsOf(values, 500, 40)));
      if (name === pair.name) await reference.optimizeTable(root, name);
    }
    await check(pair, values, each);
    for (const name of [pair.name, pair.plain]) {
      await namespace.insertIntoTable({ id: [name] }, rowsOf(values, 600, 40));
      await namespace.optimizeTable({ id: [name] });
    }
    expect(await statsHere(pair.name)).toMatchObject({ numUnindexedRows: 0, numIndices: 1 });
    await check(pair, values, each);
  });

  const lives = [false, true].flatMap((stable) =>
    (["us", "them"] as const).flatMap((maker) =>
      (["us", "them"] as const).map((actor) => ({ stable, maker, actor })),
    ),
  );
  it.each(
    lives.filter(({ maker }) => maker === "us" || config !== undefined),
  )("made by $maker stays right while $actor change rows, stable row ids: $stable", async ({
    stable,
    maker,
    actor,
  }) => {
    const values = VALUES[types.includes("int32") ? "int32" : types[0]];
    const pair = await makePair(values, stable);
    const { name, plain } = pair;
    if (maker === "us") await buildIndex(namespace, { id: [name], column: "v", indexType: kind });
    else await withReference(root, name, (table) => table.createIndex("v", { config: config?.() }));
    const both = async (
      here: (id: string[]) => Promise<unknown>,
      there: (of: string) => Promise<unknown>,
    ) => {
      for (const of of [name, plain]) await (actor === "us" ? here([of]) : there(of));
      await check(pair, values, each);
    };
    const append = (from: number) => {
      const rows = rowsOf(values, from, 30);
      return both(
        (id) => namespace.insertIntoTable({ id }, rows),
        (of) => reference.appendTable(root, of, tableToIPC(rows)),
      );
    };
    const remove = (predicate: string) =>
      both(
        (id) => namespace.deleteFromTable({ id, predicate }),
        (of) => reference.deleteRows(root, of, predicate),
      );
    const update = (column: string, sql: string, where: string) =>
      both(
        (id) => namespace.updateTable({ id, updates: [[column, sql]], predicate: where }),
        (of) => reference.updateRows(root, of, { [column]: sql }, where),
      );
    const optimize = () =>
      both(
        (id) => namespace.optimizeTable({ id }),
        (of) => reference.optimizeTable(root, of),
      );
    await append(300);
    await remove("id % 7 = 3");
    await update("w", "w + 10", "id % 6 = 1");
    await update("v", "NULL", "id % 6 = 2");
    await optimize();
    expect(await statsHere(name)).toMatchObject({ numUnindexedRows: 0, numIndices: 1 });
    // The table with the index has more versions.
    const versions = new Map<string, number>();
    for (const of of [name, plain]) versions.set(of, await namespace.table(of).version());
    await append(400);
    await remove("id < 30");
    await optimize();
    await both(
      ([of]) => namespace.restoreTable({ id: [of], version: versions.get(of) ?? 0 }),
      (of) => reference.restoreTable(root, of, versions.get(of) ?? 0),
    );
    await append(500);
    await optimize();
    expect(await statsHere(name)).toMatchObject({ numUnindexedRows: 0, numIndices: 1 });
  });
});
