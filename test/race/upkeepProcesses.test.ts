/** Three processes have the option `upkeep` and append to one table: one of them at a time does the upkeep. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { exitOf, nextMessage, startProcess } from "../support/childProcess.js";
import { runsOf } from "../support/effort.js";
import { expect, it } from "../support/fixtures.js";
import { makeTempDir } from "../support/tempDir.js";

const ROWS = runsOf("UPKEEP_PROCESS_ROWS", 30);
const PROCESSES = [1, 2, 3];

it("three processes with upkeep do one job at a time, and lose no row", async ({ root, ns }) => {
  const log = join(await makeTempDir(), "log");
  const table = ns.table("t");
  await table.create([{ n: 0 }]);
  const { jobId } = await table.createIndex("n", { indexType: "BTREE" });
  await table.waitForJob(jobId);
  await table.configureUpkeep({ smallFragments: 2, unindexedRows: 5, versions: 4 });
  const rowsOf = (process: number) => Array.from({ length: ROWS }, (_, n) => 1000 * process + n);
  const runners = PROCESSES.map((process) => {
    const runner = startProcess("upkeepRunner.mjs", []);
    runner.send({ root, log, rows: rowsOf(process) });
    return runner;
  });
  await Promise.all(runners.map(nextMessage));
  const isKept = async (): Promise<boolean> =>
    (await table.stats()).fragmentStats.numFragments <= 2 &&
    (await readFile(log, "utf8")).includes("cleanup ends");
  for (let tries = 0; !(await isKept()); tries++) {
    if (tries > 200) throw new Error("the upkeep did not come");
    await sleep(50);
  }
  for (const runner of runners) runner.send({ end: true });
  expect(await Promise.all(runners.map(exitOf))).toEqual([0, 0, 0]);

  const lines = (await readFile(log, "utf8")).trim().split("\n");
  const kinds = new Set(lines.map((line) => line.split(" ")[1]));
  expect([...kinds].sort()).toEqual(["cleanup", "optimize"]);
  for (let index = 0; index < lines.length; index += 2) {
    expect(lines[index]).toMatch(/ begins$/);
    expect(lines[index + 1], "a second job began").toBe(lines[index].replace("begins", "ends"));
  }
  const read = (await table.scan({ columns: ["n"] }).toArray()).map(({ n }) => Number(n));
  expect(read.sort((a, b) => a - b)).toEqual([0, ...PROCESSES.flatMap(rowsOf)]);
  expect(await table.countRows("n = 2007")).toBe(1);
});
