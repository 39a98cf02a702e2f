import { rm } from "node:fs/promises";
import { expect } from "vitest";
import { nextMessage, startProcess } from "../../support/childProcess.js";
import { runsOf } from "../../support/effort.js";
import { it } from "../../support/fixtures.js";

interface Report {
  readonly rows: number;
  readonly expectedRows: number;
  readonly seconds: number;
  readonly maxRssMiB: number;
}

const MEBIBYTES = runsOf("MERGE_MIB", 768);

it(`a stream of ${MEBIBYTES} MiB is merged in less than 512 MiB`, async ({ root }) => {
  const process = startProcess("streamInsert.mjs", [root, String(MEBIBYTES), "merge", "0"]);
  const { rows, expectedRows, seconds, maxRssMiB } = (await nextMessage(process)) as Report;
  console.info(`a merge of ${MEBIBYTES} MiB: ${maxRssMiB.toFixed(0)} MiB resident, ${seconds.toFixed(1)} s`);
  expect(rows).toBe(expectedRows);
  expect(maxRssMiB).toBeLessThan(512);
  await rm(root, { recursive: true });
});
