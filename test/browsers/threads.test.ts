/** Threads in a page: Web Workers that the program starts, and that share memory with the page. */

import { expect, it } from "vitest";
import { run, sharedBrowser } from "./support/browser.js";
import { ISOLATED } from "./support/bundleServer.js";

const browser = sharedBrowser();

/**
 * Writes and indexes vectors and texts, and searches them. Returns what it found, the number of workers, and
 * the longest time in milliseconds for which the page's thread was held.
 * @param options of the namespace
 */
const WORK = (options: string) => `
  let started = 0;
  const startWorker = () => { started++; return new Worker("/worker.js", { type: "module" }); };
  const ns = new tiltyard.DirectoryNamespace({ root: "/", disk: disks.memoryDisk(), ${options} });
  const random = (seed) => () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const next = random(7);
  const words = Array.from({ length: 500 }, (_, i) => "word" + ((i * 7919) % 1000));
  const row = (id) => ({
    id,
    text: Array.from({ length: 12 }, () => words[Math.floor(next() * words.length)]).join(" "),
    vector: Array.from({ length: 64 }, () => Math.fround(next())),
  });
  const schema = tiltyard.defineTable({ id: tiltyard.int64(), text: tiltyard.utf8(), vector: tiltyard.vector(64) });
  const rows = Array.from({ length: 20_000 }, (_, id) => row(id));
  const table = ns.table("t", { schema });
  await table.create(rows);
  let held = 0, last = performance.now();
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    const now = performance.now();
    held = Math.max(held, now - last);
    last = now;
    channel.port2.postMessage(0);
  };
  channel.port2.postMessage(0);
  const start = performance.now();
  await table.waitForJob(await table.createIndex("vector", { indexType: "IVF_PQ", numPartitions: 16, numSubVectors: 8 }));
  await table.waitForJob(await table.createIndex("text", { indexType: "FTS" }));
  const ms = performance.now() - start;
  channel.port1.close();
  const nearest = (await table.search({ vector: rows[77].vector, limit: 5 }).toArray()).map((row) => Number(row.id));
  const found = (await table.search({ text: words[3], limit: 5 }).toArray()).map((row) => Number(row.id));
  await ns.close();
  return { nearest, found, started, held, ms };
`;

interface Outcome {
  readonly nearest: readonly number[];
  readonly found: readonly number[];
  readonly started: number;
  readonly held: number;
  readonly ms: number;
}

const work = async (path: string, options: string): Promise<Outcome> => {
  const page = await browser.open(undefined, path);
  const outcome = await run<Outcome>(page, WORK(options));
  const { started, held, ms } = outcome;
  console.log(
    `two indexes by ${started} workers: ${ms.toFixed(0)} ms, the page held for ${held.toFixed(0)} ms at most`,
  );
  return outcome;
};

it("workers of an isolated page do the work of threads, and find the same", async () => {
  const alone = await work(ISOLATED, "");
  const together = await work(ISOLATED, "startWorker, workers: 2");
  expect([alone.started, together.started]).toEqual([0, 2]);
  expect([together.nearest, together.found]).toEqual([alone.nearest, alone.found]);
});

it("a page that is not isolated starts no worker", async () => {
  const { started, nearest } = await work("/", "startWorker, workers: 2");
  expect(started).toBe(0);
  expect(nearest).toContain(77);
});

it("works in line if the script of a worker is missing", async () => {
  const page = await browser.open(undefined, ISOLATED);
  const body = WORK("startWorker, workers: 2").replace("/worker.js", "/missing.js");
  expect((await run<Outcome>(page, body)).nearest).toContain(77);
});
