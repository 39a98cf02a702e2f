/** Maximum resources of a server with default limits, which the README states, against many clients. */

import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { exitOf, nextMessage, startProcess } from "../support/childProcess.js";
import { runsOf } from "../support/effort.js";

const KEY = "the key";
const CLIENTS = 256;
/** Duration of each kind of attack. */
const MILLISECONDS = runsOf("BOUNDS_MS", 1000);
const IS_LONG = MILLISECONDS >= 4000;
const INFLATED_MIB = IS_LONG ? 500 : 16;
const README = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const GIB = Number(/at most (\d+(?:\.\d+)?) GiB/.exec(README)?.[1]);

interface Calls {
  readonly answered: number;
  readonly slowestMs: number;
}

/** Calls with a key one after the other for some time. */
async function callFor(milliseconds: number, url: string): Promise<Calls> {
  const end = performance.now() + milliseconds;
  let answered = 0;
  let slowestMs = 0;
  while (performance.now() < end || answered === 0) {
    for (const [path, body] of [
      ["t/exists", "{}"],
      ["large/query", JSON.stringify({ k: 5, offset: 1000 })],
    ]) {
      const begun = performance.now();
      const answer = await fetch(`${url}/v1/table/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": KEY },
        body,
      });
      await answer.arrayBuffer();
      slowestMs = Math.max(slowestMs, performance.now() - begun);
      if (answer.status === 200) answered++;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { answered, slowestMs };
}

const KINDS = [
  "slow JSON",
  "slow rows",
  "readers that read nothing",
  "aliases",
  "pipeliners",
  "inflaters",
  "nulls",
  "large JSON",
  // Attacks that cause work: sorts, exact vector searches, merges of many keys, index builds and compactions.
  ...(IS_LONG ? ["sorters", "searchers", "mergers", "builders"] : []),
];
const VECTOR_ROWS = IS_LONG ? 300_000 : 0;

async function startServer(): Promise<{ readonly server: ChildProcess; readonly port: number }> {
  const server = startProcess("boundedServer.mjs", [KEY, `${VECTOR_ROWS}`]);
  const { port } = (await nextMessage(server)) as { port: number };
  await callFor(200, `http://127.0.0.1:${port}`);
  return { server, port };
}

// Callers with a key have all slots, and callers without one a part of them.
describe.each(IS_LONG ? ["strangers", "callers"] : ["strangers"])("hostile %s", (who) => {
  let server: ChildProcess;
  let port: number;
  const begin = async () => {
    ({ server, port } = await startServer());
  };
  const end = async () => {
    // The process removes its files.
    server.disconnect();
    await exitOf(server);
  };
  // The peak memory of a server includes all earlier work.
  (IS_LONG ? beforeEach : beforeAll)(begin);
  (IS_LONG ? afterEach : afterAll)(end);

  it.each(KINDS)("expanding bodies get no more memory than the limit: %s", async (kind) => {
    const key = who === "callers" ? KEY : "";
    const args = [`${port}`, kind, `${CLIENTS}`, key, `${INFLATED_MIB}`];
    const clients = startProcess("hostileClients.mjs", args);
    try {
      await nextMessage(clients);
      const calls = who === "strangers" ? await callFor(MILLISECONDS, `http://127.0.0.1:${port}`) : null;
      if (calls === null) await new Promise((resolve) => setTimeout(resolve, MILLISECONDS));
      server.send("peak");
      const { peak } = (await nextMessage(server)) as { peak: number };
      if (IS_LONG) console.log(`${kind} (${who}): ${Math.round(peak / 2 ** 20)} MiB`, calls);
      expect(peak).toBeLessThan(GIB * 2 ** 30);
      if (calls === null) return;
      expect(calls.answered).toBeGreaterThan(0);
      // Only meaningful if nothing else runs on the machine.
      const slowestMs = Number(process.env.BOUNDS_SLOWEST_MS ?? Number.POSITIVE_INFINITY);
      expect(calls.slowestMs).toBeLessThan(slowestMs);
    } finally {
      clients.kill("SIGKILL");
      await exitOf(clients);
    }
  });
});
