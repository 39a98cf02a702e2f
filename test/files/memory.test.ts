/** Memory of files is bounded by batch or row group, not by the file. */

import { describe, expect } from "vitest";
import { nextMessage, startProcess } from "../support/childProcess.js";
import { runsOf } from "../support/effort.js";
import { it } from "../support/fixtures.js";

/** Rows of about 250 bytes in text. */
const ROWS = runsOf("FILE_ROWS", 2_000_000);
const HEAP_MIB = 160;

interface Report {
  readonly written: number;
  readonly rows: number;
  readonly exported: number;
  readonly isSame: boolean;
  readonly fileMiB: number;
  readonly maxRssMiB: number;
  readonly seconds: Readonly<Record<string, number>>;
  readonly holdMs: Readonly<Record<string, number>>;
}

describe(`${ROWS} rows`, () => {
  it.for(["csv", "jsonl", "parquet"])("go to %s, a table and back with a small heap", async (format, {
    root,
  }) => {
    const args = [root, format, String(ROWS)];
    const child = startProcess("fileStream.mjs", args, [`--max-old-space-size=${HEAP_MIB}`]);
    const report = (await nextMessage(child)) as Report;
    console.info(`${ROWS} rows as ${format}: ${JSON.stringify(report)}`);
    const { written, rows, exported } = report;
    expect([written, rows, exported]).toEqual([ROWS, ROWS, ROWS]);
    expect(report.maxRssMiB).toBeLessThan(600);
  });
});
