/** Indexes in several segments answer as a scan does, in both engines, while rows come, go and change. */

import { connect } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";
import { Random } from "../../support/generators.js";
import { buildIndex, foundHere, foundThere } from "../../support/indexedTable.js";

const WORDS = ["alder", "beech", "cedar", "date", "elm", "fir"];

interface Row {
  readonly id: number;
  readonly n: number;
  readonly s: string;
  readonly l: string[];
  readonly b: string;
  readonly vector: Float32Array;
}

const rowOf = (id: number, n = id): Row => ({
  id,
  n: n % 97,
  s: `${WORDS[n % 6]} ${WORDS[(n * 5 + 1) % 6]} no${n}`,
  l: [WORDS[n % 6], `x${n % 11}`],
  b: `b${n % 13}`,
  vector: Float32Array.of(n % 50, (n * 7) % 31),
});

/** Filters with their meaning. */
const FILTERS: readonly (readonly [string, (row: Row) => boolean])[] = [
  ["n = 5", ({ n }) => n === 5],
  ["n IN (3, 96) OR id < 4", ({ n, id }) => n === 3 || n === 96 || id < 4],
  ["n > 90 AND NOT (n = 95)", ({ n }) => n > 90 && n !== 95],
  ["b IN ('b3', 'b5') AND n > 20", ({ b, n }) => (b === "b3" || b === "b5") && n > 20],
  ["array_has(l, 'x3')", ({ l }) => l.includes("x3")],
  ["contains(s, 'no90')", ({ s }) => s.includes("no90")],
];
const SCALAR = {
  BTREE: "n",
  BITMAP: "b",
  LABEL_LIST: "l",
  ZONEMAP: "n",
  BLOOMFILTER: "n",
  NGRAM: "s",
} as const;

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let tables = 0;

/** A table and what it holds. */
async function newTable(rowCount: number, stableRowIds: boolean) {
  const name = `t${tables++}`;
  const rows = new Map(Array.from({ length: rowCount }, (_, id) => [id, rowOf(id)]));
  const table = namespace.table(name);
  await table.create([...rows.values()], { stableRowIds });
  let nextId = rowCount;
  const random = new Random(tables);
  return {
    name,
    table,
    rows,
    async append(count: number) {
      const added = Array.from({ length: count }, () => rowOf(nextId++));
      for (const row of added) rows.set(row.id, row);
      await table.insert(added);
    },
    /** Updates and deletes some rows, old and new. */
    async change() {
      const rest = random.below(50);
      for (const row of [...rows.values()]) {
        if (row.id % 50 === rest) rows.delete(row.id);
        else if (row.id % 53 === rest) rows.set(row.id, { ...row, b: "b5", n: (row.n + 1) % 97 });
      }
      await table.delete(`id % 50 = ${rest}`);
      await table.update({
        where: `id % 53 = ${rest}`,
        values: { b: "b5" },
        valuesSql: { n: "(n + 1) % 97" },
      });
    },
    /** Writes a column of some fragments anew, while their rows stay where they are. */
    async changeInPlace() {
      const changed = [...rows.values()]
        .filter(({ id }) => id % 7 === 3)
        .map(({ id }) => ({ id, n: 5, b: "b3" }));
      for (const { id, n, b } of changed) rows.set(id, { ...(rows.get(id) as Row), n, b });
      await table.mergeInsert("id", changed, { whenMatchedUpdateAll: true });
    },
  };
}
type TestTable = Awaited<ReturnType<typeof newTable>>;

const segmentsOf = async ({ table }: TestTable, name: string): Promise<number> =>
  (await table.indexes()).find((index) => index.indexName === name)?.numSegments ?? 0;

async function expectAnswers({ name, rows }: TestTable): Promise<void> {
  for (const [filter, holds] of FILTERS) {
    const ids = [...rows.values()].filter(holds).map(({ id }) => id);
    expect(await foundHere(namespace, name, filter), filter).toEqual(ids.sort((a, b) => a - b));
    expect(await foundThere(root, name, filter), `there: ${filter}`).toEqual(ids);
  }
}

describe.each([false, true])("with stable row ids: %s", (stableRowIds) => {
  it.each(Object.entries(SCALAR))("a %s in segments answers as a scan does", async (indexType, column) => {
    const made = await newTable(6000, stableRowIds);
    await buildIndex(namespace, { id: [made.name], column, indexType: indexType as "BTREE", name: "i" });
    const counts: number[] = [];
    for (let round = 0; round < 5; round++) {
      await made.append(300);
      if (round > 0) await made.change();
      await made.table.optimize();
      counts.push(await segmentsOf(made, "i"));
      await expectAnswers(made);
    }
    expect(counts[0]).toBe(2);
    expect(Math.max(...counts)).toBeLessThan(5);
    await made.changeInPlace();
    await made.append(20);
    await made.table.optimize();
    await expectAnswers(made);
    await connectAndOptimize(made.name);
    await expectAnswers(made);
  });

  it("vectors in segments are all found, and each once", async () => {
    const made = await newTable(6000, stableRowIds);
    const options = { distanceType: "l2", numPartitions: 4 } as const;
    await buildIndex(namespace, {
      id: [made.name],
      column: "vector",
      indexType: "IVF_FLAT",
      name: "i",
      ...options,
    });
    for (let round = 0; round < 3; round++) {
      await made.append(300);
      if (round > 0) await made.change();
      await made.table.optimize();
      if (round === 0) expect(await segmentsOf(made, "i")).toBe(2);
      const vector = [made.rows.size % 50, 3];
      const distance = ({ vector: [x, y] }: Row): number => (x - vector[0]) ** 2 + (y - vector[1]) ** 2;
      const expected = [...made.rows.values()]
        .map(distance)
        .sort((a, b) => a - b)
        .slice(0, 40);
      const here = await made.table.search({ vector, limit: 40, nprobes: 4, columns: ["id"] }).toArray();
      expect(here.map(({ _distance }) => _distance)).toEqual(expected);
      expect(new Set(here.map(({ id }) => id)).size).toBe(40);
      expect(await distancesThere(made.name, vector)).toEqual(expected);
    }
  });

  it("a full-text index stays in one segment, and both engines score alike", async () => {
    const made = await newTable(6000, stableRowIds);
    await buildIndex(namespace, { id: [made.name], column: "s", indexType: "FTS", name: "i" });
    for (let round = 0; round < 4; round++) {
      await made.append(300);
      if (round > 1) await made.change();
      await made.table.optimize();
      expect(await segmentsOf(made, "i")).toBe(1);
      for (const text of ["cedar", `no${made.rows.size}`, "no6001", "no17"]) {
        const here = await made.table.search({ text, limit: 10_000, columns: ["id"] }).toArray();
        const ids = [...made.rows.values()]
          .filter(({ s }) => s.split(" ").includes(text))
          .map(({ id }) => id);
        expect(
          here.map(({ id }) => Number(id)).sort((a, b) => a - b),
          text,
        ).toEqual(ids.sort((a, b) => a - b));
        expect(await scoresThere(made.name, text)).toEqual(scoresOf(here));
      }
    }
  });
});

it("two optimizes at once give each new row to one segment", async () => {
  const made = await newTable(6000, false);
  await buildIndex(namespace, { id: [made.name], column: "n", indexType: "BTREE", name: "i" });
  await made.append(300);
  await Promise.all([made.table.optimize(), made.table.optimize()]);
  expect(await segmentsOf(made, "i")).toBe(2);
  await expectAnswers(made);
});

async function connectAndOptimize(name: string): Promise<void> {
  const connection = await connect(root);
  await (await connection.openTable(name)).optimize();
  connection.close();
}

async function distancesThere(name: string, vector: number[]): Promise<number[]> {
  const connection = await connect(root);
  const rows = await (await connection.openTable(name)).vectorSearch(vector).nprobes(4).limit(40).toArray();
  connection.close();
  return rows.map(({ _distance }) => _distance);
}

/** Texts of ids and rounded scores, sorted. */
const scoresOf = (rows: readonly { [name: string]: unknown }[]): string[] =>
  rows.map(({ id, _score }) => `${id} ${Number(_score).toFixed(3)}`).sort();

async function scoresThere(name: string, text: string): Promise<string[]> {
  const connection = await connect(root);
  const rows = await (await connection.openTable(name)).search(text, "fts", "s").limit(10_000).toArray();
  connection.close();
  return scoresOf(rows);
}
