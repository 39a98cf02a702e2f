/** Memory of rows in JSON is bounded by batch, not by the stream. */

import { expect } from "vitest";
import { nextMessage, startProcess } from "../support/childProcess.js";
import { runsOf } from "../support/effort.js";
import { it } from "../support/fixtures.js";

const ROWS = runsOf("JSON_ROWS", 100_000);

interface Report {
  readonly inserted: number;
  readonly rows: number;
  readonly bytes: number;
  readonly insertSeconds: number;
  readonly readSeconds: number;
  readonly insertHoldMs: number;
  readonly readHoldMs: number;
  readonly maxRssMiB: number;
}

it(`${ROWS} rows as NDJSON go in and come out in less than 500 MiB`, async ({ root }) => {
  const report = (await nextMessage(startProcess("jsonRowStream.mjs", [root, String(ROWS)]))) as Report;
  const { inserted, rows, maxRssMiB } = report;
  console.info(`${ROWS} rows as NDJSON: ${JSON.stringify(report)}`);
  expect({ inserted, rows }).toEqual({ inserted: ROWS, rows: ROWS });
  expect(maxRssMiB).toBeLessThan(500);
});
