/** Index queries return the rows of a scan, on LanceDB's indexes with uncovered, deleted and moved rows. */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import fc from "fast-check";
import { connect, Index } from "tiltyard-reference/session.js";
import { beforeAll, describe, expect, it } from "vitest";
import type { IndexMetadata } from "../../../src/format/table.js";
import { withCoverage } from "../../../src/table/commit/indexCoverage.js";
import {
  bools,
  columnsOf,
  fieldOf,
  float32s,
  float64s,
  int32s,
  int64s,
  listOf,
  uint64s,
  utf8s,
} from "../../support/arrowColumns.js";
import { changeIndexes } from "../../support/changeIndexes.js";
import { runsOf } from "../../support/effort.js";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";
import { reference } from "../../support/reference.js";

const root = sharedDirectory();
const namespace = sharedNamespace({ root });

const member = new arrow.Struct([fieldOf("x", new arrow.Int32())]);
const SCHEMA = new arrow.Schema([
  fieldOf("id", new arrow.Int32(), false),
  fieldOf("i", new arrow.Int32()),
  fieldOf("l", new arrow.Int64()),
  fieldOf("u", new arrow.Uint64()),
  fieldOf("f", new arrow.Float64()),
  fieldOf("g", new arrow.Float32()),
  fieldOf("s", new arrow.Utf8()),
  fieldOf("b", new arrow.Bool()),
  fieldOf("d", new arrow.DateDay()),
  fieldOf("t", new arrow.TimestampMicrosecond()),
  fieldOf("n", member),
  fieldOf("tags", listOf(new arrow.Utf8())),
  fieldOf("k", new arrow.Int32()),
  fieldOf("c", new arrow.Utf8()),
]);

const FLOATS = [0, -0, 1.5, -1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e300, 3];
const TEXTS = ["", "a", "ab", "abc", "b", "ba", "é", "éa", "zz", "\u{1f600}", "a%", "a_c"];

function rowsFrom(first: number, count: number): arrow.Table {
  const seeds = Array.from({ length: count }, (_, row) => (first + row) * 7919);
  const or = <Value>(value: (n: number) => Value, nulls: number) =>
    seeds.map((n) => (n % nulls === 0 ? null : value(n)));
  return new arrow.Table(SCHEMA, {
    id: int32s(seeds.map((_, row) => first + row)),
    i: int32s(or((n) => (n % 41) - 20, 11)),
    l: int64s(or((n) => BigInt(n % 37) * 2n ** 40n - 2n ** 43n, 13)),
    u: uint64s(or((n) => 2n ** 64n - 1n - BigInt(n % 29), 17)),
    f: float64s(or((n) => FLOATS[n % FLOATS.length], 19)),
    g: float32s(or((n) => FLOATS[n % FLOATS.length], 7)),
    s: utf8s(or((n) => TEXTS[n % TEXTS.length], 5)),
    b: bools(or((n) => n % 3 === 1, 23)),
    d: columnsOf(new arrow.DateDay())(or((n) => new Date((n % 31) * 86_400_000), 9)),
    t: columnsOf(new arrow.TimestampMicrosecond())(or((n) => (n % 53) * 1000, 10)),
    n: columnsOf(member)(or((n) => ({ x: n % 6 === 0 ? null : n % 17 }), 8)),
    tags: columnsOf(listOf(new arrow.Utf8()))(
      or((n) => Array.from({ length: n % 4 }, (_, k) => ((n + k) % 5 === 0 ? null : `t${(n + k) % 7}`)), 12),
    ),
    k: int32s(or((n) => n % 5, 14)),
    c: utf8s(or((n) => `c${n % 4}`, 6)),
  } as never);
}

const FRAGMENT_ROWS = 300;
const FRAGMENTS = 4;

interface Made {
  readonly stableRowIds?: boolean;
}

/** A table whose indexes cover all but its last fragment, with deleted rows in every fragment. */
async function makeTable(name: string, { stableRowIds = false }: Made = {}): Promise<void> {
  await namespace.createTable({ id: [name], stableRowIds }, rowsFrom(0, FRAGMENT_ROWS));
  for (let fragment = 1; fragment < FRAGMENTS - 1; fragment++) {
    await namespace.insertIntoTable({ id: [name] }, rowsFrom(fragment * FRAGMENT_ROWS, FRAGMENT_ROWS));
  }
  await reference.deleteRows(root, name, "id % 13 = 2");
  const connection = await connect(root);
  const table = await connection.openTable(name);
  for (const column of ["id", "i", "l", "u", "f", "g", "s", "b", "d", "t", "n.x"]) {
    await table.createIndex(column, { config: Index.btree() });
  }
  for (const column of ["k", "c"]) await table.createIndex(column, { config: Index.bitmap() });
  await table.createIndex("tags", { config: Index.labelList() });
  connection.close();
  await reference.deleteRows(root, name, "id % 17 = 5");
  const last = rowsFrom((FRAGMENTS - 1) * FRAGMENT_ROWS, FRAGMENT_ROWS);
  await reference.appendTable(root, name, arrow.tableToIPC(last));
}

interface Options {
  readonly filter: string;
  readonly limit?: number;
  readonly offset?: number;
}

async function rows(
  name: string,
  { filter, limit, offset }: Options,
  useScalarIndex: boolean,
  columns: string[],
  more: object = {},
): Promise<string[]> {
  const result = await namespace
    .table(name)
    .scan({ filter, limit, offset, useScalarIndex, columns, withRowId: true, ...more })
    .toArrow();
  return result
    .toArray()
    .map((row) => JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value)));
}

async function expectAlike(name: string, options: Options, more: object = {}): Promise<number> {
  const scanned = await rows(name, options, false, ["id", "s"], more);
  expect(await rows(name, options, true, ["id", "s"], more), options.filter).toEqual(scanned);
  expect(await rows(name, options, true, ["i"], more), options.filter).toHaveLength(scanned.length);
  const count = (useScalarIndex: boolean) =>
    namespace.countTableRows({ id: [name], predicate: options.filter, useScalarIndex });
  expect(await count(true), options.filter).toBe(await count(false));
  return scanned.length;
}

const value = {
  i: fc.integer({ min: -22, max: 22 }).map(String),
  l: fc.integer({ min: -9, max: 30 }).map((n) => String(BigInt(n) * 2n ** 40n)),
  u: fc.integer({ min: 0, max: 31 }).map((n) => String(2n ** 64n - 1n - BigInt(n))),
  f: fc.constantFrom("0.0", "-0.0", "1.5", "-1.5", "3", "1e300", "'NaN'::double", "2.25"),
  g: fc.constantFrom("0.0", "-0.0", "1.5", "-1.5", "3", "2.25"),
  s: fc.constantFrom(...TEXTS).map((text) => `'${text}'`),
  d: fc
    .integer({ min: 0, max: 33 })
    .map((day) => `date '1970-01-${String((day % 31) + 1).padStart(2, "0")}'`),
  t: fc
    .integer({ min: 0, max: 55 })
    .map((ms) => `timestamp '1970-01-01 00:00:00.0${String(ms).padStart(2, "0")}'`),
  "n.x": fc.integer({ min: -1, max: 18 }).map(String),
  k: fc.integer({ min: -1, max: 6 }).map(String),
  c: fc.integer({ min: 0, max: 5 }).map((n) => `'c${n}'`),
  id: fc.integer({ min: 0, max: FRAGMENTS * FRAGMENT_ROWS }).map(String),
} as const;
type Column = keyof typeof value;
const columns = Object.keys(value) as Column[];

const comparison = fc.constantFrom(...columns).chain((column) =>
  fc.oneof(
    fc
      .tuple(fc.constantFrom("=", "!=", "<", "<=", ">", ">="), value[column])
      .map(([op, v]) => `${column} ${op} ${v}`),
    fc.tuple(value[column], value[column]).map(([a, b]) => `${column} between ${a} and ${b}`),
    fc
      .tuple(fc.array(value[column], { minLength: 1, maxLength: 6 }), fc.boolean(), fc.boolean())
      .map(
        ([list, isNot, hasNull]) =>
          `${column} ${isNot ? "not " : ""}in (${list.join(", ")}${hasNull ? ", null" : ""})`,
      ),
    fc.boolean().map((isNot) => `${column} is ${isNot ? "not " : ""}null`),
  ),
);

const atom = fc.oneof(
  { weight: 6, arbitrary: comparison },
  fc.constantFrom(
    "b",
    "not b",
    "b is true",
    "b is not false",
    "b = true",
    "tags is null",
    "i % 3 = 0",
    "n is null",
    "true",
  ),
  fc
    .tuple(
      fc.constantFrom("like", "not like"),
      fc.constantFrom("a%", "ab%", "%b%", "a_c", "a%c", "\u00e9%", "", "abc", "%"),
    )
    .map(([like, pattern]) => `s ${like} '${pattern}'`),
  fc.constantFrom("starts_with(s, 'a')", "contains(s, 'b')", "starts_with(s, '')"),
  fc
    .tuple(
      fc.constantFrom("array_has_any", "array_has_all"),
      fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 3 }),
    )
    .map(([name, items]) => `${name}(tags, [${items.map((n) => `'t${n}'`).join(", ")}])`),
  fc.integer({ min: 0, max: 8 }).map((n) => `array_has(tags, 't${n}')`),
  fc
    .tuple(
      fc.constantFrom("_rowaddr", "_rowoffset", "_rowid"),
      fc.array(fc.integer({ min: 0, max: 1300 }), { minLength: 1, maxLength: 6 }),
    )
    .map(([name, list]) => `${name} in (${list.join(", ")})`),
);

const { filter } = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    atom,
    fc
      .tuple(fc.constantFrom("and", "or"), fc.array(tie("filter"), { minLength: 2, maxLength: 3 }))
      .map(([op, parts]) => `(${parts.join(` ${op} `)})`),
    tie("filter").map((part) => `not (${part})`),
  ),
}));

const query = fc.record({
  filter,
  limit: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined }),
  offset: fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined }),
});

async function expectFiltersAlike(name: string, more: object = {}): Promise<void> {
  const orderBy = [{ columnName: "t", ascending: false }, { columnName: "id" }];
  for (const filter of FILTERS) {
    await expectAlike(name, { filter }, more);
    await expectAlike(name, { filter, limit: 7, offset: 3 }, { ...more, orderBy });
  }
}

const FILTERS = [
  "i = 3",
  "i > 5 and k = 2",
  "k in (1, 3) or i < -10",
  "not (k = 1)",
  "s like 'a%'",
  "id < 50",
  "b and k = 0",
  "f > 1 and not (g <= 1.5)",
  "array_has(tags, 't3') and i is not null",
  "id >= 290 and id < 910 and i between -3 and 3",
];

it("branches use inherited indexes", async () => {
  await makeTable("branched");
  await reference.createBranch(root, "branched", "b");
  const branch = namespace.table("branched", { branch: "b" });
  await branch.insert(rowsFrom(FRAGMENTS * FRAGMENT_ROWS, 50));
  await branch.delete("id % 19 = 7");
  for (const filter of FILTERS) {
    const idsOf = async (useScalarIndex: boolean) => {
      const scan = branch.scan({ filter, columns: ["id"], useScalarIndex });
      return Array.from((await scan.toArrow()).getChild("id") ?? []);
    };
    expect(await idsOf(true)).toEqual(await idsOf(false));
  }
});

const directoryOf = (id: Uint8Array): string => {
  const hex = Buffer.from(id).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
};

it("each segment answers for its covered fragments", async () => {
  await makeTable("segments");
  const tableRoot = join(root, "segments.lance");
  await changeIndexes(tableRoot, async (indices) => {
    const split: IndexMetadata[] = [];
    for (const index of indices) {
      const uuid = Uint8Array.from({ length: 16 }, (_, byte) => (byte * 7 + split.length) & 0xff);
      const from = join(tableRoot, "_indices", directoryOf(index.uuid?.uuid ?? new Uint8Array()));
      await cp(from, join(tableRoot, "_indices", directoryOf(uuid)), { recursive: true });
      // A second segment knows rows of fragments that it no longer covers.
      split.push(withCoverage(index, [0]), withCoverage({ ...index, uuid: { uuid } }, [2]));
    }
    return split;
  });
  const plan = await namespace.explainTableQueryPlan({
    id: ["segments"],
    query: { filter: "i = 3", useScalarIndex: true },
  });
  expect(plan).toMatch(/fragments=2, expectedRows/);
  await expectFiltersAlike("segments");
});

it("queries skip untrusted indexes", async () => {
  await makeTable("foreign");
  const tableRoot = join(root, "foreign.lance");
  const explain = () =>
    namespace.explainTableQueryPlan({ id: ["foreign"], query: { filter: "i = 3", useScalarIndex: true } });
  expect(await explain()).toMatch(/IndexSearch/);
  const changedEntries: IndexMetadata[] = [];
  await changeIndexes(tableRoot, (indices) => {
    changedEntries.push(...indices);
    return indices;
  });
  const [first] = changedEntries;
  const changes: ((index: IndexMetadata) => IndexMetadata)[] = [
    (index) => ({ ...index, indexVersion: 9 }),
    (index) => ({ ...index, indexDetails: undefined }),
    (index) => ({
      ...index,
      indexDetails: { typeUrl: "/lance.table.OtherDetails", value: new Uint8Array() },
    }),
    (index) => withCoverage(index, []),
    (index) => ({ ...index, fragmentBitmap: new Uint8Array() }),
    (index) => withCoverage(index, [77]),
    (index) => ({ ...index, coveringFields: [0] }),
  ];
  for (const change of changes) {
    await changeIndexes(tableRoot, () => changedEntries.map(change));
    expect(await explain(), String(change)).not.toMatch(/IndexSearch/);
    await expectAlike("foreign", { filter: "i = 3" });
  }
  await changeIndexes(tableRoot, () => [...changedEntries, { ...first, name: "__lance_frag_reuse" }]);
  expect(await explain()).not.toMatch(/IndexSearch/);
  await changeIndexes(tableRoot, () => changedEntries);
  expect(await explain()).toMatch(/IndexSearch/);
});

describe.each([
  ["addresses", {}],
  ["stable row ids", { stableRowIds: true }],
] as const)("tables whose ids are %s", (kind, made) => {
  const name = `t${kind.length}`;
  beforeAll(() => makeTable(name, made));

  it("an index answers like a scan", { timeout: 60_000 }, async () => {
    let selected = 0;
    await fc.assert(
      fc.asyncProperty(query, async (options) => {
        selected += await expectAlike(name, options);
      }),
      { numRuns: runsOf("INDEXED_QUERIES", 150) },
    );
    expect(selected).toBeGreaterThan(0);
  });

  it("an index answers like a scan after LanceDB updates, compacts and optimizes", {
    timeout: 60_000,
  }, async () => {
    await reference.updateRows(root, name, { i: "i + 1", k: "(k + 1) % 5" }, "id % 7 = 3");
    await expectFiltersAlike(name);
    await reference.optimizeTable(root, name);
    await expectFiltersAlike(name);
    await namespace.table(name).update({ valuesSql: { k: "4" }, where: "id % 11 = 4" });
    await expectFiltersAlike(name);
    await namespace.table(name).delete("k = 4 and i > 0");
    await expectFiltersAlike(name);
  });
});
