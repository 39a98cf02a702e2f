/** Memory of an aggregation with many groups. `AGGREGATE_GROUPS=5000000` has as many as the aim says. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nextMessage, startProcess } from "../../support/childProcess.js";
import { makeTempDir } from "../../support/tempDir.js";

const GROUPS = Number(process.env.AGGREGATE_GROUPS ?? 400_000);
const MAX_RSS = 2 ** 30;

interface Report {
  readonly rows: number;
  readonly wrong: number;
  readonly peakRss: number;
}

it.each([
  "number",
  "text",
])(`${GROUPS} groups by a %s are right, take less than a GiB, and leave no file`, async (kind) => {
  const root = await makeTempDir();
  const child = startProcess("manyGroups.mjs", [root, String(GROUPS), kind]);
  const report = (await nextMessage(child)) as Report;
  console.log(`${GROUPS} groups by a ${kind}: ${Math.round(report.peakRss / 2 ** 20)} MiB resident`);
  expect(report.rows).toBe(GROUPS);
  expect(report.wrong).toBe(0);
  expect(report.peakRss).toBeLessThan(MAX_RSS);
  const left = (await readdir(join(root, "t.lance"))).filter((name) => name.startsWith(".tmp"));
  expect(left).toEqual([]);
}, 3_600_000);
