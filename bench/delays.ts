/**
 * `npm run bench:delays`: how late the event loop is while each long operation runs, and how long single
 * turns hold it.
 *
 *   -- --load             a second process keeps one core busy
 *   -- --small            small parameters: shows that it runs
 *   -- --only <text>      only operations whose name contains the text
 *
 * TILTYARD_BENCH_DIR: where tables are made (default: the system's temporary directory).
 */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import type { TableHandle } from "tiltyard";
import { makeRows } from "./data.js";
import { openTiltyard, tiltyardTable } from "./sides.js";
import { textRows } from "./textData.js";
import { quantile, turnsDuring } from "./turns.js";
import { rowsFrom as vectorRows } from "./vectorData.js";

const SMALL = process.argv.includes("--small");
const LOAD = process.argv.includes("--load");
const ONLY = process.argv.indexOf("--only");
const FILTER = ONLY < 0 ? "" : process.argv[ONLY + 1];
const [ROWS, VECTORS, TEXTS] = SMALL ? [4_000, 600, 600] : [2_000_000, 100_000, 200_000];

const directory = mkdtempSync(join(process.env.TILTYARD_BENCH_DIR ?? tmpdir(), "tiltyard-delays-"));
const ns = openTiltyard(join(directory, "tables"));
const [rows, vectors, texts] = ["rows", "vectors", "texts"].map((name) => ns.table(name));
const FRAGMENTS = 20;

async function build(table: TableHandle, column: string, options: object): Promise<void> {
  const { state, error } = await table.waitForJob(
    await table.createIndex(column, { replace: true, ...options }),
  );
  if (state !== "Succeeded") throw new Error(`the build ended as ${state}`, { cause: error });
}

async function drain(batches: AsyncIterable<unknown>): Promise<void> {
  for await (const batch of batches) if (batch === null) throw new Error("no batch");
}

const source = tiltyardTable(makeRows(ROWS / 10, 1, ["id", "score", "label"]));
const OPERATIONS: Readonly<Record<string, () => Promise<unknown>>> = {
  "full scan": () => drain(rows.scan()),
  "filter on floats": () => drain(rows.scan({ filter: "score < 0.5" })),
  "filter with LIKE": () => drain(rows.scan({ filter: "label LIKE '%kal%'" })),
  "sort of all rows": () => drain(rows.scan({ orderBy: "score" })),
  "order by + limit 10": () => drain(rows.scan({ orderBy: "label", limit: 10 })),
  "sums in 1,000 groups": () =>
    drain(rows.aggregate({ groupBy: ["id % 1000"], values: { total: "sum(score)" } })),
  "update of 10 %": () => rows.update({ where: "score < 0.1", values: { score: 0.05 } }),
  "merge of 10 %": () =>
    rows.mergeInsert("id", source, { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true }),
  "delete of 1 %": () => rows.delete("score < 0.01"),
  "add a column by SQL": () => rows.addColumns([{ name: "twice", expression: "score * 2" }]),
  "insert of 10 %": () => rows.insert(source),
  compaction: () => rows.optimize(),
  "build of a BTREE": () => build(rows, "id", { indexType: "BTREE" }),
  "build of a BTREE on text": () => build(rows, "label", { indexType: "BTREE" }),
  "build of a text index": () => build(texts, "text", { indexType: "FTS" }),
  "build of IVF_PQ": () => build(vectors, "v", { indexType: "IVF_PQ", numPartitions: 64, numSubVectors: 16 }),
  "build of IVF_HNSW_SQ": () => build(vectors, "v", { indexType: "IVF_HNSW_SQ", numPartitions: 1 }),
  "search without an index": () =>
    vectors
      .search({ vector: Array.from({ length: 128 }, () => 0.1), limit: 10, bypassVectorIndex: true })
      .toArrow(),
  cleanup: () => rows.cleanup({ olderThanMs: 0 }),
};

/** Operations that change nothing. They run again: a percentile of a short run is its longest turn. */
const READS: ReadonlySet<string> = new Set([
  "full scan",
  "filter on floats",
  "filter with LIKE",
  "sort of all rows",
  "order by + limit 10",
  "sums in 1,000 groups",
  "search without an index",
]);
const LEAST_MILLISECONDS = SMALL ? 1 : 2000;

async function repeat(name: string, operation: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + LEAST_MILLISECONDS;
  do await operation();
  while (READS.has(name) && performance.now() < end);
}

async function prepare(): Promise<void> {
  await rows.create(tiltyardTable(makeRows(ROWS / FRAGMENTS, 1, ["id", "score", "label"])));
  for (let seed = 2; seed <= FRAGMENTS; seed++) {
    await rows.insert(tiltyardTable(makeRows(ROWS / FRAGMENTS, seed, ["id", "score", "label"])));
  }
  await vectors.create(vectorRows(0, VECTORS));
  await texts.create(tableToIPC(textRows(0, TEXTS), "stream"));
}

await prepare();
const busy = LOAD ? spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }) : undefined;
console.log(LOAD ? "A second process keeps one core busy." : "Nothing else runs for this.");
console.log(
  "| operation | took | delay, 99th percentile | longest delay | longest hold |\n|---|--:|--:|--:|--:|",
);
try {
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    if (!name.includes(FILTER)) continue;
    const { delays, holds, tookMilliseconds } = await turnsDuring(() => repeat(name, operation));
    const figures = [tookMilliseconds, quantile(delays, 0.99), Math.max(...delays), Math.max(...holds)];
    console.log(`| ${name} | ${figures.map((each) => `${each.toFixed(1)} ms`).join(" | ")} |`);
  }
} finally {
  busy?.kill();
  await ns.close();
  rmSync(directory, { recursive: true, force: true });
}
