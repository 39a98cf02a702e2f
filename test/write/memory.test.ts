/**
 * Memory of an insert is bounded by batch and page, not by the stream; and of a compaction not by the table.
 */

import { rm } from "node:fs/promises";
import { describe, expect } from "vitest";
import { nextMessage, startProcess } from "../support/childProcess.js";
import { runsOf } from "../support/effort.js";
import { it } from "../support/fixtures.js";
import { makeTempDir } from "../support/tempDir.js";

/** Many times the memory of the insert. */
const MEBIBYTES = runsOf("STREAM_MIB", 4096);

interface Report {
  rows: number;
  expectedRows: number;
  seconds: number;
  maxRssMiB: number;
  /** `turns` of the event loop during the compaction. */
  compaction?: { fragmentsRemoved: number; fragmentsAdded: number; turns: number };
}

const insertStream = (root: string, mebibytes: number, form: string, blobMebibytes = 0): Promise<Report> => {
  const args = [root, String(mebibytes), form, String(blobMebibytes)];
  return nextMessage(startProcess("streamInsert.mjs", args)) as Promise<Report>;
};

describe(`a stream of ${MEBIBYTES} MiB`, () => {
  it.each(["batches", "bytes"])("of %s is inserted in less than 400 MiB", async (form) => {
    const root = await makeTempDir();
    const report = await insertStream(root, MEBIBYTES, form);
    console.info(
      `${MEBIBYTES} MiB of ${form}: ${report.maxRssMiB.toFixed(0)} MiB resident, ${report.seconds.toFixed(1)} s`,
    );
    expect(report.rows).toBe(report.expectedRows);
    expect(report.maxRssMiB).toBeLessThan(400);
    await rm(root, { recursive: true });
  });
});

describe("1 GiB of blobs", () => {
  it.each([
    [100, 600],
    [2, 250],
  ])("of %d MiB each is inserted in less than %d MiB", async (blobMebibytes, limit) => {
    const root = await makeTempDir();
    const report = await insertStream(root, 1000, "blobs", blobMebibytes);
    console.info(`blobs of ${blobMebibytes} MiB: ${report.maxRssMiB.toFixed(0)} MiB resident`);
    expect(report.rows).toBe(report.expectedRows);
    expect(report.maxRssMiB).toBeLessThan(limit);
    await rm(root, { recursive: true });
  });
});

describe("768 MiB in fragments", () => {
  it("are compacted in less than 400 MiB, and the thread yields", async ({ root }) => {
    const { rows, expectedRows, compaction, maxRssMiB } = await insertStream(root, 768, "fragments");
    console.info(`a compaction of 768 MiB: ${maxRssMiB.toFixed(0)} MiB resident, ${compaction?.turns} turns`);
    expect(rows).toBe(expectedRows);
    expect(compaction).toMatchObject({ fragmentsRemoved: 6, fragmentsAdded: 1 });
    expect(maxRssMiB).toBeLessThan(400);
    // One turn for every few MiB.
    expect(compaction?.turns).toBeGreaterThan(100);
    await rm(root, { recursive: true });
  });
});
