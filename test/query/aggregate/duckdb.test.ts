/** Generated aggregations beside DuckDB. `AGGREGATE_QUERIES=5000` runs more of them. */

import {
  Bool,
  DateDay,
  Float32,
  Float64,
  Int32,
  Int64,
  Table,
  TimestampMicrosecond,
  Uint8,
  Utf8,
  type Vector,
  vectorFromArray,
} from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, expect, it } from "vitest";
import { areClose, type Comparable, comparable, type Oracle, openDuckDb } from "../../support/duckdb.js";
import { makeTempDir } from "../../support/tempDir.js";

const QUERIES = Number(process.env.AGGREGATE_QUERIES ?? 250);
const SEED = Number(process.env.AGGREGATE_SEED ?? 20_261_128);
const ROWS = 1500;
const ID = ["t"];

let namespace: DirectoryNamespace;
let oracle: Oracle;

/** Returns a generator of numbers below 1. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Value = null | number | bigint | string | boolean;

/** Columns: their values by a generator of numbers, their type here and in DuckDB. */
const COLUMNS: Readonly<
  Record<
    string,
    { sql: string; value(random: () => number): Value; vector(values: readonly Value[]): Vector }
  >
> = {
  i: {
    sql: "INTEGER",
    value: (random) => orNull(random, 0.1, Math.floor(random() * 41) - 20),
    vector: (values) => vectorFromArray(values as number[], new Int32()),
  },
  n: {
    sql: "BIGINT",
    value: (random) => orNull(random, 0.1, BigInt(Math.floor((random() - 0.5) * 2 ** 44))),
    vector: (values) => vectorFromArray(values as bigint[], new Int64()),
  },
  u: {
    sql: "UTINYINT",
    value: (random) => orNull(random, 0.05, Math.floor(random() * 256)),
    vector: (values) => vectorFromArray(values as number[], new Uint8()),
  },
  f: {
    sql: "DOUBLE",
    value: (random) =>
      orNull(random, 0.1, [Number.NaN, 0, -0, 1.5, Math.round(random() * 100) / 4][Math.floor(random() * 5)]),
    vector: (values) => vectorFromArray(values as number[], new Float64()),
  },
  g: {
    sql: "DOUBLE",
    value: (random) => orNull(random, 0.1, (random() - 0.3) * 1000),
    vector: (values) => vectorFromArray(values as number[], new Float64()),
  },
  h: {
    sql: "FLOAT",
    value: (random) => orNull(random, 0.1, Math.fround(random() * 16)),
    vector: (values) => vectorFromArray(values as number[], new Float32()),
  },
  s: {
    sql: "VARCHAR",
    value: (random) =>
      orNull(random, 0.1, ["", "a", "Ash", "ash", "élan", "猫", "b b", "zz"][Math.floor(random() * 8)]),
    vector: (values) => vectorFromArray(values as string[], new Utf8()),
  },
  t: {
    sql: "VARCHAR",
    value: (random) => orNull(random, 0.02, `row ${Math.floor(random() * 700)}`),
    vector: (values) => vectorFromArray(values as string[], new Utf8()),
  },
  b: {
    sql: "BOOLEAN",
    value: (random) => orNull(random, 0.2, random() < 0.4),
    vector: (values) => vectorFromArray(values as boolean[], new Bool()),
  },
  d: {
    sql: "DATE",
    value: (random) => orNull(random, 0.1, Math.floor(random() * 900) * 86_400_000),
    vector: (values) =>
      vectorFromArray(
        (values as (number | null)[]).map((value) => (value === null ? null : new Date(value))),
        new DateDay(),
      ),
  },
  ts: {
    sql: "TIMESTAMP",
    value: (random) => orNull(random, 0.1, Math.floor(random() * 2 ** 36) + 1_700_000_000_000),
    vector: (values) => vectorFromArray(values as number[], new TimestampMicrosecond()),
  },
};

function orNull(random: () => number, part: number, value: Value): Value {
  return random() < part ? null : value;
}

function literal(value: Value, sql: string): string {
  if (value === null) return "NULL";
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (sql === "DATE") return `DATE '1970-01-01' + ${Number(value) / 86_400_000}`;
  if (sql === "TIMESTAMP") return `make_timestamp(${Number(value) * 1000})`;
  // A literal with a point is a decimal, whose cast to a float is not exact.
  if (sql === "DOUBLE" || sql === "FLOAT") return `'${Object.is(value, -0) ? "-0" : value}'::${sql}`;
  return String(value);
}

beforeAll(async () => {
  namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  oracle = await openDuckDb();
  const names = Object.keys(COLUMNS);
  await oracle.rows(
    `CREATE TABLE t (id INTEGER, ${names.map((name) => `${name} ${COLUMNS[name].sql}`).join(", ")})`,
  );
  const random = randomFrom(SEED);
  for (const first of [0, ROWS / 3, (2 * ROWS) / 3]) {
    const ids = Array.from({ length: ROWS / 3 }, (_, row) => first + row);
    const values = Object.fromEntries(
      names.map((name) => [name, ids.map(() => COLUMNS[name].value(random))]),
    );
    const vectors = Object.fromEntries(names.map((name) => [name, COLUMNS[name].vector(values[name])]));
    const rows = new Table({ id: vectorFromArray(ids, new Int32()), ...vectors });
    if (first === 0) await namespace.createTable({ id: ID }, rows);
    else await namespace.insertIntoTable({ id: ID }, rows);
    const tuples = ids.map(
      (id, row) =>
        `(${[id, ...names.map((name) => literal(values[name][row], COLUMNS[name].sql))].join(", ")})`,
    );
    await oracle.rows(`INSERT INTO t VALUES ${tuples.join(", ")}`);
  }
  await namespace.deleteFromTable({ id: ID, predicate: "id % 13 = 5" });
  await oracle.rows("DELETE FROM t WHERE id % 13 = 5");
  await namespace.alterTableAddColumns({
    id: ID,
    newColumns: [{ name: "m", expression: "cast(i as decimal(10, 2)) * cast(0.25 as decimal(4, 2))" }],
  });
  await oracle.rows("ALTER TABLE t ADD COLUMN m DECIMAL(15, 4)");
  await oracle.rows("UPDATE t SET m = cast(i as decimal(10, 2)) * cast(0.25 as decimal(4, 2))");
}, 60_000);
afterAll(async () => {
  await namespace.close();
  oracle.close();
});

const KEYS = [
  ...["i", "n", "u", "f", "h", "s", "t", "b", "d", "ts", "m"],
  ...[
    "i % 3",
    "upper(s)",
    "length(t)",
    "coalesce(s, 'none')",
    "i > 3",
    "i + u",
    "substr(t, 1, 5)",
    "lower(s) || '!'",
  ],
  ...[
    "case when i > 0 then 'pos' when i < 0 then 'neg' end",
    "date_trunc('month', ts)",
    "abs(i)",
    "b and i > 0",
  ],
];
const FILTERS = [
  ...["i > 5", "g < 0", "s = 'ash'", "t like '%1%'", "i > 100", "b", "n is null", "u between 10 and 90"],
  ...["s in ('a', 'zz') or i = 0", "not b", "id < 40"],
];
const NUMBERS = [
  "i",
  "n",
  "u",
  "g",
  "h",
  "i + u",
  "g * 2",
  "g - h",
  "abs(i)",
  "case when b then g else 0 end",
];
const ANY = [...NUMBERS, "f", "s", "t", "b", "d", "ts", "m", "upper(s)", "i % 5"];

/** Returns an aggregate of a random form. */
function aggregateFrom(random: () => number): string {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)];
  const forms: readonly (() => string)[] = [
    () => "count(*)",
    () => `count(${pick(ANY)})`,
    () => `count(distinct ${pick(ANY)})`,
    () => `sum(${pick([...NUMBERS, "f", "m"])})`,
    () => `sum(distinct ${pick(["i", "u", "m"])})`,
    () => `avg(${pick([...NUMBERS, "f", "m"])})`,
    () => `min(${pick(ANY)})`,
    () => `max(${pick(ANY)})`,
    () => `first(${pick(ANY)})`,
    () => `last(${pick(ANY)})`,
    () => `any_value(${pick(ANY)})`,
    () =>
      `${pick(["stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"])}(${pick(NUMBERS)})`,
    () => `median(${pick(["i", "g", "f", "u"])})`,
    () => `quantile_cont(${pick(["i", "g", "u"])}, ${pick(["0", "0.1", "0.25", "0.9", "1"])})`,
    () => `percentile_cont(${pick(["0.2", "0.75"])}) within group (order by ${pick(["g", "u desc"])})`,
  ];
  const call = pick(forms)();
  return random() < 0.15 ? `${call} filter (where ${pick(FILTERS)})` : call;
}

/** Returns an expression of a random form around aggregates. */
function valueFrom(random: () => number): string {
  const kind = random();
  if (kind < 0.75) return aggregateFrom(random);
  if (kind < 0.82) return "sum(g * h) / count(*)";
  if (kind < 0.88) return "coalesce(sum(i), -1) + count(*)";
  if (kind < 0.94) return "case when count(*) > 2 then max(s) else 'few' end";
  return "max(u) - min(u) > 100";
}

interface Query {
  readonly groupBy: readonly string[];
  readonly values: Readonly<Record<string, string>>;
  readonly filter?: string;
  readonly having?: string;
}

function queryFrom(random: () => number): Query {
  const keyCount = [0, 1, 1, 1, 2, 2, 3][Math.floor(random() * 7)];
  const groupBy = new Set<string>();
  while (groupBy.size < keyCount) groupBy.add(KEYS[Math.floor(random() * KEYS.length)]);
  const valueCount = 1 + Math.floor(random() * 4);
  const values = Object.fromEntries(
    Array.from({ length: valueCount }, (_, index) => [`v${index}`, valueFrom(random)]),
  );
  return {
    groupBy: [...groupBy],
    values,
    ...(random() < 0.5 && { filter: FILTERS[Math.floor(random() * FILTERS.length)] }),
    ...(random() < 0.25 && {
      having: ["count(*) > 2", "sum(i) > 0", "max(u) > 100 or min(s) is null"][Math.floor(random() * 3)],
    }),
  };
}

function sqlOf({ groupBy, values, filter, having }: Query): string {
  const columns = [...groupBy, ...Object.values(values)];
  return [
    `SELECT ${columns.join(", ")} FROM t`,
    filter === undefined ? "" : `WHERE ${filter}`,
    groupBy.length === 0 ? "" : `GROUP BY ${groupBy.map((_, index) => index + 1).join(", ")}`,
    having === undefined ? "" : `HAVING ${having}`,
  ].join(" ");
}

/** Returns rows by their keys. */
function byKeys(rows: readonly Comparable[][], keyCount: number): Map<string, Comparable[]> {
  const keyOf = (value: Comparable) =>
    typeof value === "string" ? `'${value}'` : String(typeof value === "number" ? value + 0 : value);
  return new Map(rows.map((row) => [JSON.stringify(row.slice(0, keyCount).map(keyOf)), row.slice(keyCount)]));
}

it(`${QUERIES} generated queries give the rows of DuckDB`, { timeout: 3_600_000 }, async () => {
  const random = randomFrom(SEED + 1);
  for (let count = 0; count < QUERIES; count++) {
    const query = queryFrom(random);
    const names = [...query.groupBy, ...Object.keys(query.values)];
    const objects = await (await namespace.aggregateTable({ id: ID, ...query })).toArray();
    const ours = objects.map((row) => names.map((name) => comparable(row[name])));
    const theirs = await oracle.rows(sqlOf(query));
    const shown = JSON.stringify(query);
    expect(ours.length, shown).toBe(theirs.length);
    const keyCount = query.groupBy.length;
    const expected = byKeys(theirs, keyCount);
    expect(expected.size).toBe(theirs.length);
    for (const [key, row] of byKeys(ours, keyCount)) {
      const other = expected.get(key);
      if (other !== undefined && row.every((value, index) => areClose(value, other[index]))) continue;
      expect({ key, row }, shown).toEqual({ key, row: other });
    }
  }
});
