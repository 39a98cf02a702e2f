import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nextMessage, startProcess } from "../../support/childProcess.js";
import { makeTempDir } from "../../support/tempDir.js";

/** MiB of rows; `npm run soak` sorts 5 GiB. */
const MEBIBYTES = Number(process.env.SORT_MIB ?? 200);
/** Node itself, the rows that are sorted at once, twice, and what the garbage collector has not yet seen. */
const MAX_RSS = 2 ** 30;

interface Report {
  readonly rows: number;
  readonly expected: number;
  readonly unordered: number;
  readonly foreign: number;
  readonly peakRss: number;
}

it(`a sort of ${MEBIBYTES} MiB is in order and whole, takes less than a GiB, and leaves no file`, async () => {
  const root = await makeTempDir();
  const child = startProcess("largeSort.mjs", [root, String(MEBIBYTES)]);
  const report = (await nextMessage(child)) as Report;
  console.log(`sorted ${MEBIBYTES} MiB with ${Math.round(report.peakRss / 2 ** 20)} MiB resident`);
  expect(report.rows).toBe(report.expected);
  expect([report.unordered, report.foreign]).toEqual([0, 0]);
  expect(report.peakRss).toBeLessThan(MAX_RSS);
  const left = (await readdir(join(root, "t.lance"))).filter((name) => name.startsWith(".tmp"));
  expect(left).toEqual([]);
}, 3_600_000);
