/**
 * Requests per second of the REST handler, over 64 connections from another process. There is no reference
 * beside it: its package has no server. Each case checks that memory stays where it was.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { tableToIPC } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { createRestHandler, toNodeListener } from "tiltyard/rest";
import type { BenchCase, Side } from "../case.js";
import { makeRows } from "../data.js";
import { openTiltyard, tiltyardTable } from "../sides.js";

const LOADER = fileURLToPath(new URL("../loader.js", import.meta.url));
const CONNECTIONS = 64;
const ROWS = 1000;
const ID = ["t"];
/** Bytes that the heap may have grown by from the first timed run to the end. */
const MEMORY_SLACK = 2 ** 25;

interface Load {
  readonly name: string;
  readonly tail: string;
  /** True if rows are sent, into a table that is made anew for every run. */
  readonly inserts?: true;
  readonly requests: { readonly small: number; readonly large: number };
}

const LOADS: readonly Load[] = [
  { name: "exists", tail: "exists", requests: { small: 100, large: 10_000 } },
  { name: "describe", tail: "describe", requests: { small: 100, large: 2000 } },
  { name: "statistics", tail: "stats", requests: { small: 100, large: 4000 } },
  { name: "insert of 1,000 rows", tail: "insert", inserts: true, requests: { small: 70, large: 640 } },
];

function restCase({ name, tail, inserts, requests }: Load): BenchCase {
  return {
    area: "rest",
    name: `${name}, ${CONNECTIONS} connections`,
    rounds: { small: 1, large: 5 },
    collectFirst: true,
    async prepare(directory, size) {
      const namespace = openTiltyard(directory);
      const rows = tiltyardTable(makeRows(ROWS, 1, ["id", "score"]));
      const server = createServer(
        toNodeListener(createRestHandler(namespace, { auth: { anonymous: true } })),
      ).listen(0, "127.0.0.1");
      await once(server, "listening");
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const loader = fork(LOADER, [url, String(CONNECTIONS)], { serialization: "advanced" });
      await messageFrom(loader);
      await namespace.createTable({ id: ID }, rows);
      const amount = requests[size];
      const job = {
        path: `/v1/table/${ID[0]}/${tail}`,
        requests: amount,
        ...(inserts ? { rows: Buffer.from(tableToIPC(rows)).toString("base64") } : { json: "{}" }),
      };
      let memory: number | null = null;
      const side: Side = {
        name: "tiltyard",
        async reset() {
          if (inserts) await makeAnew(namespace, rows);
          globalThis.gc?.();
          memory ??= process.memoryUsage().heapUsed;
        },
        async run() {
          loader.send(job);
          return (await messageFrom(loader)) as number[];
        },
      };
      return {
        work: { amount, unit: "calls" },
        sides: [side],
        async close() {
          if (inserts) expectRows(await namespace.countTableRows({ id: ID }), (amount + 1) * ROWS);
          globalThis.gc?.();
          const grown = process.memoryUsage().heapUsed - (memory ?? 0);
          if (grown > MEMORY_SLACK) throw new Error(`the heap has grown by ${grown} bytes`);
          loader.disconnect();
          server.closeAllConnections();
          server.close();
          await namespace.close();
        },
      };
    },
  };
}

async function makeAnew(
  namespace: DirectoryNamespace,
  rows: ReturnType<typeof tiltyardTable>,
): Promise<void> {
  await namespace.dropTable({ id: ID });
  await namespace.createTable({ id: ID }, rows);
}

function expectRows(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`${actual} rows after the load instead of ${expected}`);
}

/** Returns the loader's measurements. @throws the loader's failure */
async function messageFrom(child: ChildProcess): Promise<unknown> {
  const settled = new AbortController();
  const { signal } = settled;
  const message = once(child, "message", { signal }).then(([sent]) => sent);
  const exit = once(child, "exit", { signal }).then(([code]) => ({
    failure: `the loading process ended with code ${code}`,
  }));
  const waiting = [message, exit];
  const got = (await Promise.race(waiting)) as { failure?: string; milliseconds?: number[] };
  settled.abort();
  await Promise.allSettled(waiting);
  if (got.failure !== undefined) throw new Error(got.failure);
  return got.milliseconds;
}

export const restCases: readonly BenchCase[] = LOADS.map(restCase);
