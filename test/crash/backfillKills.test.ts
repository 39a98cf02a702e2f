/**
 * Kills a process that fills a column at random moments, while another resumes. No value in a finished
 * checkpoint is computed again, and no file is left.
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Int32, Int64, Table, tableFromIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { startProcess } from "../support/childProcess.js";
import { runsOf } from "../support/effort.js";
import { afterEach, describe, expect, it } from "../support/fixtures.js";
import { RunnerProcess } from "../support/jobTable.js";
import { succeeds } from "../support/outcomes.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const KILLS = runsOf("BACKFILL_KILLS", 32);
const FRAGMENTS = 6;
const FRAGMENT_ROWS = 100;
const BATCH_ROWS = 10;
const CONCURRENCY = 2;
const ID = { id: ["t"] };

const running: RunnerProcess[] = [];
afterEach(async () => {
  for (const runner of running.splice(0)) await runner.kill();
});

async function startRunner(root: string, log: string): Promise<RunnerProcess> {
  const runner = new RunnerProcess(startProcess("backfillRunner.mjs", []));
  running.push(runner);
  await runner.ask({ root, log, staleMs: 2000 });
  return runner;
}

async function makeTable(root: string): Promise<void> {
  await using ns = new DirectoryNamespace({
    ...{ root, durability: "none" },
    functions: { double: { version: "1", inputs: ["n"], output: new Int64(), row: () => 0 } },
  });
  for (let part = 0; part < FRAGMENTS; part++) {
    const values = Array.from({ length: FRAGMENT_ROWS }, (_, row) => part * FRAGMENT_ROWS + row);
    const data = new Table({ n: vectorFromArray(values, new Int32()) });
    if (part === 0) await ns.createTable(ID, data);
    else await ns.insertIntoTable(ID, data);
  }
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", virtualColumn: { udfName: "double" } }] });
}

const request = (change: object = {}) => ({
  ...{ ...ID, column: "d", checkpointSize: BATCH_ROWS, batchCheckpointFlushIntervalSeconds: 0 },
  ...{ concurrency: CONCURRENCY, taskSize: 50, commitGranularity: 2, ...change },
});

async function computed(log: string): Promise<number[]> {
  const text = await readFile(log, "utf8").catch(() => "");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => line.split(" ")[1].split(",").map(Number));
}

async function expectWhole(root: string): Promise<void> {
  const table = tableFromIPC(await reference.readTable(root, "t"));
  const pairs = [...table].map(({ n, d }): [number, number | null] => [n, d === null ? null : Number(d)]);
  pairs.sort(([a], [b]) => a - b);
  expect(pairs).toEqual(Array.from({ length: FRAGMENTS * FRAGMENT_ROWS }, (_, n) => [n, n * 2]));
}

async function orphans(root: string): Promise<string[]> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.cleanupTable({ ...ID, deleteUnverified: true, olderThanMs: 0 } as never);
  await ns.close();
  const table = tableFromIPC(await reference.readTable(root, "t"));
  expect(table.numRows).toBe(FRAGMENTS * FRAGMENT_ROWS);
  const names = await readdir(join(root, "t.lance"), { recursive: true });
  const data = names.filter((name) => name.startsWith("data/"));
  // Each fragment has a file with the rows, and one with the filled column.
  expect(data.length).toBe(2 * FRAGMENTS);
  const all = await readdir(root, { recursive: true });
  const records = all.filter((name) => /^\.tiltyard-jobs\/[^/]*$/.test(name)).map((name) => name.slice(15));
  // Each table keeps the record of one job for a while: what it was, and how it ended.
  expect(records.filter((name) => !name.startsWith("."))).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  return all.filter((name) => /\.tmp|checkpoints|\.lock/.test(name));
}

describe("backfills", () => {
  it(`resume after ${KILLS} kills`, async () => {
    let kills = 0;
    let pauseMs = 0;
    for (let table = 0; kills < KILLS; table++) {
      const root = await makeTempDir();
      const log = join(root, "calls.txt");
      await makeTable(root);
      let runner = await startRunner(root, log);
      // `true` selects every row, so that only the note tells which are done.
      const where = table % 2 === 0 ? {} : { where: "true" };
      let ended = false;
      let ownKills = 0;
      while (!ended) {
        const { jobId } = (await runner.ask({ backfill: request(where) })) as { jobId: string };
        const done = succeeds(runner.ask({ wait: jobId }));
        pauseMs = (pauseMs + 17 + table) % 97;
        const isKilled = kills < KILLS && ownKills < 8;
        ended = await (isKilled
          ? Promise.race([done, new Promise<boolean>((resolve) => setTimeout(resolve, 10 + pauseMs, false))])
          : done);
        if (ended) break;
        expect(isKilled).toBe(true);
        await runner.kill();
        await done;
        kills++;
        ownKills++;
        runner = await startRunner(root, log);
      }
      await runner.kill();
      await expectWhole(root);
      const calls = await computed(log);
      expect(new Set(calls).size).toBe(FRAGMENTS * FRAGMENT_ROWS);
      // Per killed process: its running calls, and those whose checkpoints were being written.
      const again = calls.length - FRAGMENTS * FRAGMENT_ROWS;
      expect(again).toBeLessThanOrEqual(ownKills * CONCURRENCY * BATCH_ROWS * 2);
      expect(await orphans(root)).toEqual([]);
    }
  });

  it("that two processes request at once run once", async ({ root }) => {
    const log = join(root, "calls.txt");
    await makeTable(root);
    const runners = await Promise.all([startRunner(root, log), startRunner(root, log)]);
    const started = await Promise.all(runners.map((runner) => runner.ask({ backfill: request() })));
    const ids = started.map((each) => (each as { jobId: string }).jobId);
    expect(new Set(ids).size).toBe(1);
    await Promise.all(runners.map((runner) => runner.ask({ wait: ids[0] })));
    const calls = await computed(log);
    expect(calls.length).toBe(FRAGMENTS * FRAGMENT_ROWS);
    await expectWhole(root);
  });
});
