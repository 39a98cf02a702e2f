/** The memory of an insert is bounded by batch and page size, not by the stream. */

import { fork } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

interface Report {
  rows: number;
  expectedRows: number;
  seconds: number;
  maxRssMiB: number;
}

const ENTRY = fileURLToPath(new URL("../support/processes/streamInsert.mjs", import.meta.url));

function insertStream(root: string, mebibytes: number, form: string): Promise<Report> {
  return new Promise((resolve, reject) => {
    const child = fork(ENTRY, [root, String(mebibytes), form], { execArgv: [] });
    child.once("message", (report) => resolve(report as Report));
    child.once("exit", (code) => reject(new Error(`the inserting process ended with code ${code}`)));
  });
}

describe("a 2 GiB stream", () => {
  it.each(["batches", "bytes"])("of %s is inserted in less than 400 MiB", async (form) => {
    const root = await makeTempDir();
    const report = await insertStream(root, 2048, form);
    console.info(
      `2 GiB of ${form}: ${report.maxRssMiB.toFixed(0)} MiB resident, ${report.seconds.toFixed(1)} s`,
    );
    expect(report.rows).toBe(report.expectedRows);
    expect(report.maxRssMiB).toBeLessThan(400);
    await rm(root, { recursive: true });
  });
});
