/**
 * Fills a column of vectors by a job that calls an embedding API. The API is a stand-in on this machine. Like
 * real ones, it takes a few texts per call and answers 429 to calls that are too frequent. Run the example
 * with `npm run backfill`. Stop it with Ctrl-C and run it again: it resumes. The directory stays for
 * inspection.
 */

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Field, FixedSizeList, Float32, Table, Utf8, type Vector, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, type Job, type UserFunction } from "tiltyard";

const ROOT = resolve("backfill-data");
const ROWS = Number(process.env.BACKFILL_ROWS ?? 4000);
const DIMENSION = 32;
/** Texts that the API takes in one request. */
const TEXTS_PER_REQUEST = 50;
/** Requests that the API has under way at a time; it refuses others. */
const REQUESTS_AT_ONCE = 2;
/** Milliseconds that the API takes for an answer. */
const ANSWER_MS = 20;
const MAX_ATTEMPTS = 12;

// ------------------------------------------------------------------------------------------- the stand-in

/** Counts letters: not much of an embedding, but the same for equal texts. */
function embed(text: string): number[] {
  const counts = new Array<number>(DIMENSION).fill(0);
  for (const letter of text) counts[letter.charCodeAt(0) % DIMENSION]++;
  const length = Math.hypot(...counts) || 1;
  return counts.map((count) => count / length);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return body;
}

let refusals = 0;
let underWay = 0;
const api = createServer(async (request, response) => {
  const body = await bodyOf(request);
  if (underWay === REQUESTS_AT_ONCE) {
    refusals++;
    response.writeHead(429, { "retry-after": "0.05" }).end();
    return;
  }
  underWay++;
  await sleep(ANSWER_MS);
  underWay--;
  const { texts } = JSON.parse(body) as { texts: string[] };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(texts.map(embed)));
});
await new Promise<void>((listening) => api.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}/embed`;

// ------------------------------------------------------------------------------------------- the function

/** Asks the API; waits where it refuses, twice as long each time, or as long as it says. */
async function request(texts: readonly string[], signal: AbortSignal): Promise<number[][]> {
  for (let attempt = 0; ; attempt++) {
    const answer = await fetch(url, { method: "POST", body: JSON.stringify({ texts }), signal });
    if (answer.ok) return (await answer.json()) as number[][];
    if (answer.status !== 429 || attempt === MAX_ATTEMPTS)
      throw new Error(`the API answers ${answer.status}`);
    const askedMs = Number(answer.headers.get("retry-after")) * 1000;
    const ownMs = 50 * 2 ** attempt;
    // Not all at the same moment again.
    await sleep(Math.max(askedMs, Math.min(ownMs, 5000)) * (1 + Math.random() / 2), undefined, { signal });
  }
}

const embedding: UserFunction = {
  version: "letters-1",
  inputs: ["text"],
  output: new FixedSizeList(DIMENSION, new Field("item", new Float32(), true)),
  async batch({ text }: Readonly<Record<string, Vector>>, { rowCount, signal }) {
    const vectors = new Float32Array(rowCount * DIMENSION);
    for (let start = 0; start < rowCount; start += TEXTS_PER_REQUEST) {
      const texts = [...text.slice(start, start + TEXTS_PER_REQUEST)] as string[];
      const answers = await request(texts, signal);
      for (const [row, vector] of answers.entries()) vectors.set(vector, (start + row) * DIMENSION);
    }
    return vectors;
  },
};

// ------------------------------------------------------------------------------------------------ the job

function drawProgress({ done, total, unit, rate }: Job): void {
  const part = total === undefined || total === 0 ? 0 : done / total;
  const filled = Math.round(part * 30);
  const bar = `${"█".repeat(filled)}${"░".repeat(30 - filled)}`;
  const speed = rate === undefined ? "" : `, ${Math.round(rate)} a second`;
  const line = `${bar} ${Math.round(part * 100)} %  ${done} of ${total ?? "?"} ${unit}${speed}`;
  if (process.stdout.isTTY) process.stdout.write(`\r${line.padEnd(80)}`);
  else console.log(line);
}

const ns = new DirectoryNamespace({ root: ROOT, functions: { embedding } });
const id = ["documents"];
const isThere = await ns.tableExists({ id }).then(
  () => true,
  () => false,
);
if (!isThere) {
  const texts = Array.from(
    { length: ROWS },
    (_, row) => `Document ${row} is about the number ${row * 7919}.`,
  );
  await ns.createTable({ id }, new Table({ text: vectorFromArray(texts, new Utf8()) }));
  await ns.alterTableAddColumns({
    id,
    newColumns: [{ name: "vector", virtualColumn: { udfName: "embedding" } }],
  });
}

const [before] = (await ns.describeComputedColumns({ id })).columns;
console.log(`${before.staleRows} rows have no ${before.column} yet.`);
const { jobId } = await ns.alterTableBackfillColumns({
  id,
  column: "vector",
  checkpointSize: 200,
  // Several requests at a time, and what they brought is kept at once.
  intraApplierConcurrency: 4,
  batchCheckpointFlushIntervalSeconds: 0,
});
process.once("SIGINT", () => {
  console.log("\nStopped; the next run goes on from here.");
  void ns.close().then(() => process.exit(130));
});
await ns.waitForJob({ jobId, onProgress: drawProgress });

const [after] = (await ns.describeComputedColumns({ id })).columns;
console.log(
  `\n${after.staleRows} rows are left. The API refused ${refusals} requests, which were made again.`,
);
const first = (await ns.table("documents").scan({ limit: 1 }).toArrow()).get(0)?.toJSON();
const numbers = [...(first?.vector as Vector<Float32>)].slice(0, 4).map((value) => value?.toFixed(3));
console.log(`${first?.text} → ${numbers.join(", ")}, …`);

await ns.close();
api.close();
