/** Scalar indexes of either engine: both list, use and maintain them while rows come, go and move. */

import * as arrow from "apache-arrow";
import type { DirectoryNamespace, IndexType } from "tiltyard";
import { Index } from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import type { IndexKindName } from "../../src/indexes/kind.js";
import { int32s, listOf } from "./arrowColumns.js";
import { someOf } from "./effort.js";
import { sharedDirectory, sharedNamespace } from "./fixtures.js";
import { buildIndex, expectSameAnswers, foundThere, planThere, withReference } from "./indexedTable.js";
import { reference } from "./reference.js";

let root: string;
let namespace: DirectoryNamespace;
let tables = 0;

interface Values {
  readonly type: arrow.DataType;
  /** Value of a row; values repeat. */
  readonly of: (id: number) => unknown;
  readonly filters: readonly string[];
  /** A filter that makes both engines use an index. Default: the first. */
  readonly asked?: string;
}

/** A filter that an index of text fragments answers. */
const CONTAINS = "contains(v, 'tex')";
const DAY_MS = 86_400_000;
const common = (one: string, second: string): string[] => [
  `v = ${one}`,
  `v IN (${one}, ${second})`,
  "v IS NULL",
  "v IS NOT NULL",
  `v != ${one}`,
  `v = ${one} OR id < 3`,
  `NOT (v = ${one}) AND id > 5`,
];
const ordered = (one: string, second: string): string[] => [
  ...common(one, second),
  `v > ${one}`,
  `v >= ${one} AND v < ${second}`,
  `v BETWEEN ${one} AND ${second}`,
];
const number = (type: arrow.DataType, of = (id: number): unknown => id % 17): Values => ({
  type,
  of,
  filters: ordered("5", "11"),
});
const big = (id: number): bigint => BigInt(id % 17);
const instant = "timestamp '2020-01-03 00:00:00'";
const later = "timestamp '2020-01-09 00:00:00'";
const instantOf = (id: number): number => (18_262 + (id % 17)) * DAY_MS;
const timestamps = (type: arrow.DataType): Values => ({
  type,
  of: instantOf,
  filters: ordered(instant, later),
});
const times = (
  type: arrow.DataType,
  of: (id: number) => unknown,
  literal: (value: number) => string,
): Values => ({
  type,
  of,
  filters: ordered(literal(5), literal(11)),
});
const texts = (type: arrow.DataType): Values => ({
  type,
  of: (id) => ["", "a", "ä", "text", "\u{1f600}", "tex"][id % 6] + (id % 5),
  filters: [...ordered("'a1'", "'text3'"), "v LIKE 'tex%'", "v LIKE '%1'", "starts_with(v, 'ä')", CONTAINS],
});
const bytes = (type: arrow.DataType): Values => ({
  type,
  of: (id) => Uint8Array.of(id % 7, id % 3).subarray(0, type instanceof arrow.FixedSizeBinary ? 2 : id % 3),
  filters: common("X'0201'", "X'03'").filter(
    (text) => !(type instanceof arrow.FixedSizeBinary) || !text.includes("X'03'"),
  ),
});
const literalOf = (value: unknown): string => {
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString("hex")}'`;
  return typeof value === "string" ? `'${value}'` : String(value);
};

/** Lists of values; `literal` has the exact type of the items: the reference uses no index for others. */
const lists = (
  type: arrow.DataType,
  of: (id: number) => unknown,
  literal = (id: number): string => literalOf(of(id)),
): Values => ({
  type: listOf(type),
  of: (id) => (id % 9 === 4 ? [] : [of(id % 5), id % 4 === 0 ? null : of(5 + (id % 3))]),
  filters: [
    `array_has(v, ${literal(2)})`,
    `array_has_any(v, [${literal(1)}, ${literal(6)}])`,
    `array_has_all(v, [${literal(1)}, ${literal(6)}])`,
    `NOT array_has(v, ${literal(2)})`,
    "v IS NULL",
  ],
});
const listsOfNumbers = (type: arrow.DataType, of = (id: number): unknown => id): Values =>
  lists(type, of, (id) => `arrow_cast(${id}, '${String(type).replace("Ui", "UI")}')`);

const VALUES: Record<string, Values> = {
  bool: {
    type: new arrow.Bool(),
    of: (id) => id % 3 === 0,
    filters: ["v = true", "v = false", "v IS NULL", "v", "NOT v"],
  },
  int8: number(new arrow.Int8()),
  int16: number(new arrow.Int16()),
  int32: number(new arrow.Int32()),
  int64: number(new arrow.Int64(), big),
  uint8: number(new arrow.Uint8()),
  uint16: number(new arrow.Uint16()),
  uint32: number(new arrow.Uint32()),
  uint64: number(new arrow.Uint64(), big),
  float16: {
    type: new arrow.Float16(),
    of: (id) => id % 17,
    filters: ordered("arrow_cast(5, 'Float16')", "arrow_cast(11, 'Float16')"),
    asked: "v IS NULL",
  },
  float32: number(new arrow.Float32(), (id) => [NaN, -0, 0, Infinity, -Infinity, 1.5][id % 6]),
  float64: number(new arrow.Float64(), (id) => (id % 11 === 3 ? NaN : (id % 17) + 0.5)),
  utf8: texts(new arrow.Utf8()),
  large_utf8: texts(new arrow.LargeUtf8()),
  binary: bytes(new arrow.Binary()),
  large_binary: bytes(new arrow.LargeBinary()),
  fixed_size_binary: bytes(new arrow.FixedSizeBinary(2)),
  date32: {
    type: new arrow.DateDay(),
    of: (id) => new Date(instantOf(id)),
    filters: ordered("date '2020-01-03'", "date '2020-01-09'"),
  },
  date64: {
    type: new arrow.DateMillisecond(),
    of: (id) => new Date(instantOf(id)),
    filters: ordered("arrow_cast(date '2020-01-03', 'Date64')", "arrow_cast(date '2020-01-09', 'Date64')"),
  },
  timestamp_s: timestamps(new arrow.TimestampSecond()),
  timestamp_ms: timestamps(new arrow.TimestampMillisecond()),
  timestamp_us: timestamps(new arrow.TimestampMicrosecond()),
  timestamp_ns: timestamps(new arrow.TimestampNanosecond()),
  timestamp_utc: timestamps(new arrow.TimestampMicrosecond("UTC")),
  time32: times(
    new arrow.TimeMillisecond(),
    (id) => id % 17,
    (value) => `arrow_cast(arrow_cast(${value}, 'Int32'), 'Time32(Millisecond)')`,
  ),
  time64_us: times(
    new arrow.TimeMicrosecond(),
    big,
    (value) => `arrow_cast(${value}, 'Time64(Microsecond)')`,
  ),
  time64_ns: times(new arrow.TimeNanosecond(), big, (value) => `arrow_cast(${value}, 'Time64(Nanosecond)')`),
  list_utf8: lists(new arrow.Utf8(), (id) => `l${id}`),
  list_large_utf8: lists(new arrow.LargeUtf8(), (id) => `l${id}`),
  list_bool: lists(new arrow.Bool(), (id) => id % 3 === 0),
  list_binary: lists(new arrow.Binary(), (id) => Uint8Array.of(id, 1)),
  list_int8: listsOfNumbers(new arrow.Int8()),
  list_int16: listsOfNumbers(new arrow.Int16()),
  list_int32: listsOfNumbers(new arrow.Int32()),
  list_int64: listsOfNumbers(new arrow.Int64(), BigInt as (id: number) => bigint),
  list_uint8: listsOfNumbers(new arrow.Uint8()),
  list_uint16: listsOfNumbers(new arrow.Uint16()),
  list_uint32: listsOfNumbers(new arrow.Uint32()),
  list_uint64: listsOfNumbers(new arrow.Uint64(), BigInt as (id: number) => bigint),
};

const INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];
const FLOATS = ["float16", "float32", "float64"];
const DATES = [
  "date32",
  "date64",
  "timestamp_s",
  "timestamp_ms",
  "timestamp_us",
  "timestamp_ns",
  "timestamp_utc",
];
const TIMES = ["time64_us", "time64_ns"];
/** Types that both engines order. */
const ORDERED = ["bool", ...INTEGERS, ...FLOATS, "utf8", "fixed_size_binary", ...DATES, ...TIMES];

/** A fourth of the values are null, at the start of each fragment and in between. */
function rowsOf({ type, of }: Values, from: number, count: number): arrow.Table {
  const ids = Array.from({ length: count }, (_, row) => from + row);
  const values = ids.map((id) => (id % 8 < 2 ? null : of(id)));
  return new arrow.Table({
    id: int32s(ids),
    v: arrow.vectorFromArray(values, type),
    w: int32s(ids.map((id) => id % 3)),
  });
}

/** Kinds of indexes with their types, the reference's config, and their names in plans. */
const KINDS: readonly {
  readonly kind: IndexKindName;
  readonly types: readonly string[];
  readonly config?: () => ReturnType<typeof Index.btree>;
  readonly isListed: boolean;
}[] = [
  {
    kind: "BTREE",
    types: ORDERED,
    config: () => Index.btree(),
    isListed: true,
  },
  {
    kind: "BITMAP",
    types: ["bool", ...INTEGERS, "utf8", "large_utf8", "binary", "large_binary"],
    config: () => Index.bitmap(),
    isListed: true,
  },
  {
    kind: "LABEL_LIST",
    types: Object.keys(VALUES).filter((name) => name.startsWith("list_")),
    config: () => Index.labelList(),
    isListed: true,
  },
  { kind: "ZONEMAP", types: ORDERED, isListed: false },
  {
    kind: "BLOOMFILTER",
    types: [
      ...INTEGERS,
      ...["float32", "float64"],
      ...["utf8", "large_utf8", "binary", "large_binary"],
      ...DATES,
      ...["time32", ...TIMES],
    ],
    isListed: false,
  },
  { kind: "NGRAM", types: ["utf8", "large_utf8"], isListed: false },
  { kind: "FM", types: ["utf8", "large_utf8"], config: () => Index.fm(), isListed: true },
];
const SPELLED: Record<string, string> = {
  BTREE: "BTree",
  BITMAP: "Bitmap",
  LABEL_LIST: "LabelList",
  FM: "Fm",
};

/** Two tables of the same rows, one of which has an index. */
async function makePair(values: Values, stable: boolean): Promise<{ name: string; plain: string }> {
  const name = `i${tables++}`;
  const plain = `${name}_plain`;
  for (const each of [name, plain]) {
    await reference.createTable(root, each, arrow.tableToIPC(rowsOf(values, 0, 120)), {
      stableRowIds: stable,
    });
    await namespace.insertIntoTable({ id: [each] }, rowsOf(values, 120, 60));
    await namespace.deleteFromTable({ id: [each], predicate: "id % 10 = 7" });
  }
  return { name, plain };
}

const planHere = (name: string, filter: string): Promise<string> =>
  namespace.explainTableQueryPlan({ id: [name], query: { k: 10, filter } });

const statsHere = (name: string) => namespace.describeTableIndexStats({ id: [name], indexName: "v_idx" });
const statsThere = (name: string) => withReference(root, name, (table) => table.indexStats("v_idx"));

/** Compares what both engines say about an index, and find by it. */
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

/** Defines the tests of one kind; each has a file, because all take minutes. */
export function testIndexKind(kind: IndexKindName): void {
  const each = KINDS.find((one) => one.kind === kind)!;
  const { types, config } = each;
  root = sharedDirectory();
  namespace = sharedNamespace({ root });
  const makeIndex = (maker: "us" | "them", name: string): Promise<void> =>
    maker === "us"
      ? buildIndex(namespace, { id: [name], column: "v", indexType: kind as IndexType })
      : withReference(root, name, (table) => table.createIndex("v", { config: config?.() }));
  const makers = (["us", "them"] as const).filter((maker) => maker === "us" || config !== undefined);
  // The maker changes with the type, so that a part of the cases has every type and every maker.
  const onTypes = types.flatMap((type, index) =>
    (index % 2 === 0 ? makers : makers.toReversed()).map((maker) => ({ type, maker })),
  );
  it.each(
    someOf(onTypes, makers.length),
  )("on $type, made by $maker, is used by both while both change rows", async ({ type, maker }) => {
    const values = VALUES[type];
    const pair = await makePair(values, false);
    const { name } = pair;
    await makeIndex(maker, name);
    expect(await statsHere(name)).toMatchObject({ numIndexedRows: 162, numUnindexedRows: 0, numIndices: 1 });
    await check(pair, values, each);
    const asked = kind === "NGRAM" || kind === "FM" ? CONTAINS : (values.asked ?? values.filters[0]);
    expect(await planThere(root, name, asked)).toContain("v_idx");
    expect(await planHere(name, asked)).toContain("v_idx");
    const both = async (change: (of: string) => Promise<unknown>) => {
      for (const of of [name, pair.plain]) await change(of);
    };
    await both((of) => reference.appendTable(root, of, arrow.tableToIPC(rowsOf(values, 500, 40))));
    await both((of) =>
      namespace.updateTable({ id: [of], updates: [["v", "NULL"]], predicate: "id % 6 = 2" }),
    );
    await both((of) => reference.deleteRows(root, of, "id % 7 = 3"));
    await both((of) => reference.optimizeTable(root, of));
    await check(pair, values, each);
    const versions = new Map<string, number>();
    await both(async (of) => versions.set(of, await namespace.table(of).version()));
    await both((of) => namespace.insertIntoTable({ id: [of] }, rowsOf(values, 600, 40)));
    await both((of) => reference.updateRows(root, of, { w: "w + 10" }, "id % 6 = 1"));
    await both((of) => namespace.deleteFromTable({ id: [of], predicate: "id < 30" }));
    await both((of) => namespace.optimizeTable({ id: [of] }));
    expect(await statsHere(name)).toMatchObject({ numUnindexedRows: 0, numIndices: 1 });
    await check(pair, values, each);
    await both((of) =>
      maker === "us"
        ? reference.restoreTable(root, of, versions.get(of) ?? 0)
        : namespace.restoreTable({ id: [of], version: versions.get(of) ?? 0 }),
    );
    await check(pair, values, each);
  });

  const lives = [false, true].flatMap((stable) =>
    (["us", "them"] as const).flatMap((maker) =>
      (["us", "them"] as const).map((actor) => ({ stable, maker, actor })),
    ),
  );
  it.each(
    someOf(
      lives.filter(({ maker }) => maker === "us" || config !== undefined),
      3,
    ),
  )("made by $maker stays right while $actor change rows, stable row ids: $stable", async ({
    stable,
    maker,
    actor,
  }) => {
    const values = VALUES[types.includes("int32") ? "int32" : types[0]];
    const pair = await makePair(values, stable);
    const { name, plain } = pair;
    await makeIndex(maker, name);
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
        (of) => reference.appendTable(root, of, arrow.tableToIPC(rows)),
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
}
