/** Bytes that scans hold after their consumers stop half-way, measured as bytes read. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { makeVector, type RecordBatch, Table } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { SharedReadAhead, STREAMED } from "../../src/rows/readAhead.js";
import { type CountingDisk, countingDisk } from "../support/countingDisk.js";
import { sharedDirectory } from "../support/fixtures.js";
import { Random } from "../support/generators.js";

const MIB = 2 ** 20;
const FRAGMENTS = 24;
const FRAGMENT_ROWS = 3 * 2 ** 17;
const ROWS = FRAGMENTS * FRAGMENT_ROWS;
const SHARED = 192 * MIB;
/** Maximum bytes per scan in addition: a page, and the ends of its opened files. */
const EACH = 5 * MIB;
const READERS = 40;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const root = sharedDirectory();
let disk: CountingDisk;
let ns: DirectoryNamespace;

/** One page of 3 MiB of random bytes. */
function fragment(seed: number): Table {
  const values = new Float64Array(FRAGMENT_ROWS);
  const random = new Random(seed + 1);
  random.fill(new Uint8Array(values.buffer));
  return new Table({ v: makeVector(values) });
}

beforeAll(async () => {
  await using writer = new DirectoryNamespace({ root, durability: "none" });
  await writer.createTable({ id: ["t"] }, fragment(0));
  for (let seed = 1; seed < FRAGMENTS; seed++) await writer.insertIntoTable({ id: ["t"] }, fragment(seed));
});
beforeEach(() => {
  disk = countingDisk(new NodeDisk({ durability: "none" }));
  ns = new DirectoryNamespace({ root, durability: "none", disk });
  return () => ns.close();
});

async function stopAfterOne(): Promise<AsyncIterator<RecordBatch>> {
  const batches = (await ns.queryTable({ id: ["t"] }))[Symbol.asyncIterator]();
  expect((await batches.next()).done).toBe(false);
  return batches;
}

async function rowsOfScan(): Promise<number> {
  let rows = 0;
  for await (const batch of await ns.queryTable({ id: ["t"] })) rows += batch.numRows;
  return rows;
}

describe("scans whose consumers have stopped", () => {
  it("read no more than a window each, and together no more than they share", async () => {
    const stopped = [await stopAfterOne()];
    expect(disk.bytesRead).toBeGreaterThan(STREAMED.windowBytes / 2);
    expect(disk.bytesRead).toBeLessThan(STREAMED.windowBytes + EACH);
    while (stopped.length < READERS) stopped.push(await stopAfterOne());
    expect(disk.bytesRead).toBeLessThan(SHARED + READERS * EACH);
    // Other consumers go on.
    expect(await rowsOfScan()).toBe(ROWS);
    for (const scan of stopped) await scan.return?.();
  });

  it("read no more over HTTP if clients stop reading answers", async () => {
    const handler = createRestHandler(ns, { auth: { anonymous: true } });
    const bodies: ReadableStreamDefaultReader<Uint8Array>[] = [];
    for (let reader = 0; reader < READERS; reader++) {
      const response = await handler(new Request("http://localhost/v1/table/t/query", { method: "POST" }));
      expect(response.status).toBe(200);
      const body = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
      expect((await body.read()).done).toBe(false);
      bodies.push(body);
    }
    expect(disk.bytesRead).toBeLessThan(SHARED + READERS * EACH);
    for (const body of bodies) await body.cancel();
    expect(handler.counters.inFlight).toBe(0);
    // The next scan gets their bytes.
    disk.reset();
    await stopAfterOne();
    expect(disk.bytesRead).toBeGreaterThan(STREAMED.windowBytes / 2);
  });
});

describe("the read-ahead that scans share", () => {
  it("gives one scan a whole window, and every scan a little", () => {
    const shared = new SharedReadAhead();
    const first = shared.open();
    expect(first).toMatchObject(STREAMED);
    const others = Array.from({ length: 500 }, () => shared.open());
    for (const scan of others) scan.hold?.(scan.windowBytes);
    expect(shared.heldBytes).toBeLessThan(SHARED + others.length * MIB);
    expect(first.windowBytes).toBe(MIB);
    for (const scan of others) scan.hold?.(0);
    expect(shared.heldBytes).toBe(0);
    expect(first).toMatchObject(STREAMED);
  });

  it("gets bytes back from abandoned scans", async () => {
    const shared = new SharedReadAhead();
    const forget = () => {
      for (let scan = 0; scan < 10; scan++) shared.open().hold?.(MIB);
    };
    forget();
    expect(shared.heldBytes).toBe(10 * MIB);
    await expect
      .poll(() => {
        collect();
        return shared.heldBytes;
      })
      .toBe(0);
  });
});
