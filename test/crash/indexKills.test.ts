/**
 * Kills a process that builds or updates an index at random moments, while another resumes. The table is at
 * its old or its new version, answers by the index are those of a scan, and no file is left. `npm run soak`
 * kills more often.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  Field,
  FixedSizeList,
  Float32,
  List,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { Drawing } from "../support/drawing.js";
import { runsOf } from "../support/effort.js";
import type { EngineOutcome } from "../support/engineWorker.js";
import { KillableEngine } from "../support/killableEngine.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const KILLS = runsOf("INDEX_KILLS", 6);
/** Kills of processes that work on one table. */
const KILLS_OF_TABLE = 4;
const MAX_DELAY_MS = 150;
const ROWS = 20_000;
const DIMENSION = 4;
const KINDS = [
  { column: "v", indexType: "BTREE" },
  { column: "e", indexType: "IVF_HNSW_SQ", numPartitions: 3, m: 6, efConstruction: 24 },
  { column: "v", indexType: "BITMAP" },
  { column: "l", indexType: "LABEL_LIST" },
  { column: "s", indexType: "NGRAM" },
  { column: "e", indexType: "IVF_PQ", numPartitions: 5, numSubVectors: 4, maxIterations: 5 },
  { column: "v", indexType: "ZONEMAP" },
  { column: "v", indexType: "BLOOMFILTER" },
] as const;
const id = ["t"];

/** Returns a vector that is unique to a value and far from those of its neighbours. */
const vectorOf = (value: number): number[] =>
  Array.from({ length: DIMENSION }, (_, index) => Math.floor(value / 16 ** index) % 16);

/** Returns two items, one of them unique to the value. */
const listOf = (value: number): string[] => [`v${value}`, `of ${value % 40}`];
const textOf = (value: number): string => `text of ${value} here`;

/** By column: a filter that only the rows of one value pass. */
const FILTERS = {
  v: (value: number) => `v = ${value}`,
  e: (value: number) => `v = ${value}`,
  l: (value: number) => `array_has_all(l, ['v${value}', 'of ${value % 40}'])`,
  s: (value: number) => `contains(s, 'of ${value} he')`,
};

function rowsFrom(first: number): Table {
  const values = Int32Array.from({ length: ROWS }, (_, row) => first + ((row * 7919) % ROWS));
  const type = new FixedSizeList(DIMENSION, new Field("item", new Float32(), true));
  return new Table({
    v: vectorFromArray(values),
    e: vectorFromArray(Array.from(values, vectorOf), type),
    l: vectorFromArray(Array.from(values, listOf), new List(new Field("item", new Utf8(), true))),
    s: vectorFromArray(Array.from(values, textOf), new Utf8()),
  });
}
const valuesOf = (table: Table) =>
  Array.from(table.getChild("v") ?? [], Number).sort((left, right) => left - right);

/** Checks the answers of the index. */
async function check(
  root: string,
  column: keyof typeof FILTERS,
  rowCount: number,
  where: string,
): Promise<void> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  const table = ns.table(id);
  expect(await table.countRows(), where).toBe(rowCount);
  for (const value of [0, 777, rowCount - 1, rowCount]) {
    const answer = await table.scan({ filter: FILTERS[column](value), useScalarIndex: true }).toArrow();
    expect(valuesOf(answer), where).toEqual(value < rowCount ? [value] : []);
  }
  const neighbours = await table.scan({ filter: "v >= 19990 AND v < 20010", useScalarIndex: true }).toArrow();
  expect(neighbours.numRows, where).toBe(rowCount > ROWS ? 20 : 10);
  for (const value of [5, ROWS - 1, rowCount - 1]) {
    const near = table.search({ vector: vectorOf(value), limit: 3, nprobes: 9, refineFactor: 20, ef: 200 });
    expect(valuesOf(await near.toArrow()), where).toContain(value);
  }
  for (const { numIndexedRows = 0, numUnindexedRows = 0 } of (await ns.listTableIndices({ id })).indexes) {
    expect(numIndexedRows + numUnindexedRows, where).toBe(rowCount);
  }
}

it(`index builds resume after ${KILLS} kills`, async () => {
  const seed = Number(process.env.FC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
  const drawing = new Drawing(seed);
  let kills = 0;
  let underWay = 0;
  for (let turn = 0; kills < KILLS; turn++) {
    const root = await makeTempDir();
    const options = { root, durability: "none" } as const;
    const begin = new DirectoryNamespace(options);
    let rowCount = ROWS;
    await begin.createTable({ id }, rowsFrom(0));
    await begin.close();
    let engine = new KillableEngine(options);
    await engine.ready;
    /** Kills the process after a delay; returns true if it was done. */
    const interrupt = async (work: Promise<EngineOutcome | null>): Promise<void> => {
      await sleep(drawing.number(MAX_DELAY_MS));
      engine.kill();
      if ((await work) === null) underWay++;
      await engine.gone();
      kills++;
      engine = new KillableEngine(options);
      await engine.ready;
    };
    const ok = (outcome: EngineOutcome | null): unknown => {
      if (outcome === null || !("ok" in outcome)) throw new Error(JSON.stringify(outcome));
      return outcome.ok;
    };
    const kind = KINDS[(seed + turn) % KINDS.length];
    const { column, indexType } = kind;
    const request = { id, ...kind, name: "i", replace: true };
    const build = async (): Promise<EngineOutcome | null> => {
      const started = await engine.call(["createTableIndex", request]);
      if (started === null || !("ok" in started)) return started;
      return engine.call(["waitForJob", { jobId: (started.ok as { jobId: string }).jobId }]);
    };
    for (let kill = 0; kill < KILLS_OF_TABLE && kills < KILLS; kill++) {
      const where = `seed ${seed}, ${indexType}, kill ${kills}`;
      if (kill % 2 === 0) {
        await interrupt(build());
        await check(root, column, rowCount, where);
        ok(await build());
      } else {
        if (rowCount === ROWS) {
          ok(await engine.call(["insertIntoTable", { id }, tableToIPC(rowsFrom(ROWS))]));
          rowCount += ROWS;
        } else ok(await build());
        await interrupt(engine.call(["optimizeTable", { id }]));
        await check(root, column, rowCount, where);
        ok(await engine.call(["optimizeTable", { id }]));
      }
      await check(root, column, rowCount, where);
    }
    engine.kill();
    await engine.gone();
    await using ns = new DirectoryNamespace(options);
    await ns.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
    await check(root, column, rowCount, `seed ${seed}, cleaned up`);
    const { indexes } = await ns.listTableIndices({ id });
    expect(indexes).toMatchObject([{ indexName: "i", indexType, numUnindexedRows: 0, numSegments: 1 }]);
    const directory = join(root, "t.lance");
    expect(await readdir(join(directory, "_indices"))).toEqual([indexes[0].indexUuid]);
    const names = await readdir(directory, { recursive: true });
    expect(names.filter((name) => /\.tmp|#\d+$/.test(name))).toEqual([]);
    const seen = tableFromIPC(await reference.readTable(root, "t", { filter: "v >= 19990 AND v < 19995" }));
    expect(valuesOf(seen)).toEqual([19_990, 19_991, 19_992, 19_993, 19_994]);
  }
  // Some of them were in the middle of their work.
  expect(underWay).toBeGreaterThan(0);
});
