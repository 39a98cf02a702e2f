/**
 * Kills a process that builds or updates an index of words at random moments, while another resumes. Searches
 * with and without the index agree, and no file is left. `npm run soak` kills more often.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { Drawing } from "../support/drawing.js";
import { runsOf } from "../support/effort.js";
import type { EngineOutcome } from "../support/engineWorker.js";
import { withReference } from "../support/indexedTable.js";
import { KillableEngine } from "../support/killableEngine.js";
import { makeTempDir } from "../support/tempDir.js";

const KILLS = runsOf("TEXT_KILLS", 6);
/** Kills of processes that work on one table. */
const KILLS_OF_TABLE = 3;
const MAX_DELAY_MS = 250;
const ROWS = 8000;
const id = ["t"];

/** Returns texts with a unique word, a word of every seventh text, and a word of all texts. */
const rowsFrom = (first: number) =>
  new Table({
    t: vectorFromArray(
      Array.from({ length: ROWS }, (_, index) => {
        const row = first + index;
        return `own${row} kind${row % 7} every ${"filler ".repeat(row % 30)} end${row % 100}`;
      }),
      new Utf8(),
    ),
  });

async function check(root: string, rowCount: number, where: string): Promise<void> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  const table = ns.table(id);
  expect(await table.countRows(), where).toBe(rowCount);
  const count = async (text: string): Promise<number> =>
    (await table.search({ fullTextQuery: { stringQuery: { query: text, columns: ["t"] } } }).toArrow())
      .numRows;
  expect(await count("own17"), where).toBe(1);
  expect(await count(`own${rowCount - 1}`), where).toBe(1);
  expect(await count("kind3"), where).toBe(
    Array.from({ length: rowCount }, (_, row) => row).filter((row) => row % 7 === 3).length,
  );
  expect(await count("every"), where).toBe(rowCount);
}

it(`builds of indexes of words resume after ${KILLS} kills`, async () => {
  const seed = Number(process.env.FC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
  const drawing = new Drawing(seed);
  let kills = 0;
  let underWay = 0;
  while (kills < KILLS) {
    const root = await makeTempDir();
    const options = { root, durability: "none" } as const;
    const begin = new DirectoryNamespace(options);
    let rowCount = ROWS;
    await begin.createTable({ id }, rowsFrom(0));
    await begin.close();
    let engine = new KillableEngine(options);
    await engine.ready;
    const interrupt = async (work: Promise<EngineOutcome | null>): Promise<void> => {
      await sleep(drawing.number(MAX_DELAY_MS));
      engine.kill();
      if ((await work) === null) underWay++;
      await engine.gone();
      kills++;
      engine = new KillableEngine(options);
      await engine.ready;
    };
    const ok = (outcome: EngineOutcome | null): void => {
      if (outcome === null || !("ok" in outcome)) throw new Error(JSON.stringify(outcome));
    };
    const request = { id, column: "t", indexType: "FTS", name: "i", replace: true, stem: false };
    const build = async (): Promise<EngineOutcome | null> => {
      const started = await engine.call(["createTableIndex", { ...request, withPosition: true } as never]);
      if (started === null || !("ok" in started)) return started;
      return engine.call(["waitForJob", { jobId: (started.ok as { jobId: string }).jobId }]);
    };
    for (let kill = 0; kill < KILLS_OF_TABLE && kills < KILLS; kill++) {
      const where = `seed ${seed}, kill ${kills}`;
      if (kill % 2 === 0) {
        await interrupt(build());
        await check(root, rowCount, where);
        ok(await build());
      } else {
        ok(await engine.call(["insertIntoTable", { id }, tableToIPC(rowsFrom(rowCount))]));
        rowCount += ROWS;
        await interrupt(engine.call(["optimizeTable", { id }]));
        await check(root, rowCount, where);
        ok(await engine.call(["optimizeTable", { id }]));
      }
      await check(root, rowCount, where);
    }
    engine.kill();
    await engine.gone();
    await using ns = new DirectoryNamespace(options);
    await ns.optimizeTable({ id });
    await ns.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
    await check(root, rowCount, `seed ${seed}, cleaned up`);
    const { indexes } = await ns.listTableIndices({ id });
    expect(indexes).toMatchObject([
      { indexName: "i", indexType: "FTS", numUnindexedRows: 0, numSegments: 1 },
    ]);
    const directory = join(root, "t.lance");
    expect(await readdir(join(directory, "_indices"))).toEqual([indexes[0].indexUuid]);
    const names = await readdir(directory, { recursive: true });
    expect(names.filter((name) => /\.tmp|#\d+$/.test(name))).toEqual([]);
    const seen = await withReference(root, "t", (table) =>
      table
        .query()
        .fullTextSearch("own4711", { columns: ["t"] })
        .limit(5)
        .toArray(),
    );
    expect(seen).toHaveLength(1);
  }
  // Some of them were in the middle of their work.
  expect(underWay).toBeGreaterThan(0);
});
