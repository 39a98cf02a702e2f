/** A change of a large column keeps a bounded part of it in memory, yields, and can be aborted. */

import { randomFillSync } from "node:crypto";
import { Binary, makeData, RecordBatch } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { beforeAll, describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { countingDisk } from "../support/countingDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { sharedDirectory } from "../support/fixtures.js";
import { reference } from "../support/reference.js";

const id = ["t"];
const MEBIBYTE = 1024 * 1024;
const ROW_BYTES = 1024;
const BATCH_ROWS = 4096;
const BATCHES = 64;
const COLUMN_BYTES = ROW_BYTES * BATCH_ROWS * BATCHES;

/** Yields random bytes, which no encoding compresses. */
function* batches(): Generator<RecordBatch> {
  const valueOffsets = Int32Array.from({ length: BATCH_ROWS + 1 }, (_, row) => row * ROW_BYTES);
  for (let number = 0; number < BATCHES; number++) {
    const data = randomFillSync(new Uint8Array(BATCH_ROWS * ROW_BYTES));
    yield new RecordBatch({ b: makeData({ type: new Binary(), length: BATCH_ROWS, valueOffsets, data }) });
  }
}

const root = sharedDirectory();
beforeAll(async () => {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, batches());
  await ns.close();
});

describe(`a column of ${COLUMN_BYTES / MEBIBYTE} MiB`, () => {
  const cast = { path: "b", dataType: { type: "large_binary" } };

  it("leaves no file after an aborted change", async () => {
    const before = await directorySnapshot(root);
    const controller = new AbortController();
    const counting = countingDisk(new NodeDisk({ durability: "none" }));
    const ns = new DirectoryNamespace({ root, disk: counting });
    const ended = ns.alterTableAlterColumns({ id, alterations: [cast], signal: controller.signal });
    const settled = ended.then(
      () => "done",
      (error: Error) => error,
    );
    while (counting.bytesWritten < COLUMN_BYTES / 2) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(await settled).toBeInstanceOf(Error);
    expect(counting.bytesWritten).toBeLessThan(COLUMN_BYTES);
    await ns.close();
    expect(await directorySnapshot(root)).toEqual(before);
  });

  it("is cast with a part of it in memory, and yields", async () => {
    const disk = countingDisk(new NodeDisk({ durability: "none" }));
    const ns = new DirectoryNamespace({ root, disk });
    let held = 0;
    let concurrency = 0;
    let turns = 0;
    let done = false;
    const watch = async () => {
      let before = 0;
      while (!done) {
        held = Math.max(held, disk.bytesRead - disk.bytesWritten);
        concurrency = Math.max(concurrency, disk.bytesWritten - before);
        before = disk.bytesWritten;
        turns++;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const watching = watch();
    await ns.alterTableAlterColumns({ id, alterations: [cast] });
    done = true;
    await watching;
    console.info(
      `cast of ${COLUMN_BYTES / MEBIBYTE} MiB: ${Math.round(held / MEBIBYTE)} MiB read and not yet written at most, ${turns} turns of the event loop`,
    );
    expect(disk.bytesRead).toBeGreaterThanOrEqual(COLUMN_BYTES);
    expect(disk.bytesRead).toBeLessThan(1.1 * COLUMN_BYTES);
    // Covers read-ahead, a decoded page, and waiting rows.
    expect(held).toBeLessThan(112 * MEBIBYTE);
    expect(concurrency).toBeLessThan(32 * MEBIBYTE);
    expect(turns).toBeGreaterThan(BATCHES);
    expect(await reference.countRows(root, "t")).toBe(BATCH_ROWS * BATCHES);
  });

  it("is not read by renames, metadata changes and added columns", async () => {
    const disk = countingDisk(new NodeDisk({ durability: "none" }));
    const ns = new DirectoryNamespace({ root, disk });
    await ns.alterTableAlterColumns({ id, alterations: [{ path: "b", rename: "bytes" }] });
    await ns.updateFieldMetadata({ id, updates: [{ path: "bytes", metadata: { a: "1" } }] });
    await ns.alterTableAddColumns({ id, newColumns: [{ name: "n", dataType: { type: "int32" } }] });
    await ns.alterTableAddColumns({ id, newColumns: [{ name: "c", expression: "'constant'" }] });
    await ns.alterTableDropColumns({ id, columns: ["n"] });
    expect(disk.bytesRead).toBeLessThan(MEBIBYTE);
    expect(disk.bytesWritten).toBeLessThan(MEBIBYTE);
    // Reads of the small column alone, whose file is small.
    disk.reset();
    const rows = await ns
      .table(id)
      .scan({ columns: ["c"], offset: 100_000, limit: 2 })
      .toArrow();
    expect(rows.toArray().map(String)).toEqual(['{"c": "constant"}', '{"c": "constant"}']);
    expect(disk.bytesRead).toBeLessThan(MEBIBYTE);
  });
});
