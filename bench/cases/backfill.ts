/**
 * Fills a column by a function that takes some microseconds a row. The other side ("tiltyard, plain") calls
 * the same function in a loop over texts in memory, so the ratio shows the cost of reading, checkpoints and
 * the commit. Row by row it matters if the loop keeps its results, because the garbage collector frees
 * dropped results while the loop runs. So one case has a loop that drops them.
 */

import { Field, FixedSizeList, Float32, Table, Utf8, type Vector, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, type UserFunction } from "tiltyard";
import type { BenchCase } from "../case.js";

const DIMENSION = 64;
/** Default number of rows per call of a function. */
const BATCH_ROWS = 1024;
const TABLE = { id: ["t"] };
const CALL = { signal: new AbortController().signal };
const OUTPUT = new FixedSizeList(DIMENSION, new Field("item", new Float32(), true));

/** Counts the hashed trigrams of a text, and scales the counts to length one. */
function embed(text: string, out: Float32Array, start: number): void {
  for (let slot = 0; slot + 2 < text.length; slot++) {
    let hash = 0x811c9dc5;
    for (let index = slot; index < slot + 3; index++)
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    out[start + (hash & (DIMENSION - 1))] += hash & 0x100 ? 1 : -1;
  }
  let sum = 0;
  for (let index = start; index < start + DIMENSION; index++) sum += out[index] * out[index];
  const scale = sum === 0 ? 0 : 1 / Math.sqrt(sum);
  for (let index = start; index < start + DIMENSION; index++) out[index] *= scale;
}

const textOf = (row: number): string =>
  Array.from({ length: 40 }, (_, word) => `word${Math.imul(row + 1, 2654435761 + word) >>> 20}`).join(" ");

const byBatch: UserFunction = {
  ...{ version: "1", inputs: ["text"], output: OUTPUT },
  batch({ text }, { rowCount }) {
    const out = new Float32Array(rowCount * DIMENSION);
    for (let row = 0; row < rowCount; row++) embed(text.get(row), out, row * DIMENSION);
    return out;
  },
};
const byRow: UserFunction = {
  ...{ version: "1", inputs: ["text"], output: OUTPUT },
  row({ text }) {
    const out = new Float32Array(DIMENSION);
    embed(text as string, out, 0);
    return out;
  },
};

/** Returns the results for each text or batch of texts; nothing if the loop drops them. */
function callInLoop(
  embedding: UserFunction,
  texts: readonly string[],
  batches: readonly Vector<Utf8>[],
  keepsResults: boolean,
): unknown[] {
  const { row, batch } = embedding;
  if (row === undefined) return batches.map((text) => batch({ text }, { ...CALL, rowCount: text.length }));
  if (keepsResults) return texts.map((text) => row({ text }, CALL));
  let last: unknown;
  for (const text of texts) last = row({ text }, CALL);
  return [last];
}

function backfill(
  label: string,
  embedding: UserFunction,
  { rowsWhereLarge = 100_000, keepsResults = true } = {},
): BenchCase {
  return {
    area: "write",
    name: `backfill a vector of ${rowsWhereLarge.toLocaleString("en-US")} texts by a function: ${label}`,
    // Many: a machine that others share has slow moments, and ours works on two processors.
    rounds: { small: 2, large: rowsWhereLarge > 100_000 ? 9 : 21 },
    isApart: true,
    async prepare(directory, size) {
      const rowCount = size === "large" ? rowsWhereLarge : 2000;
      const texts = Array.from({ length: rowCount }, (_, row) => textOf(row));
      const column = vectorFromArray(texts, new Utf8());
      const batches = Array.from({ length: Math.ceil(rowCount / BATCH_ROWS) }, (_, batch) =>
        column.slice(batch * BATCH_ROWS, (batch + 1) * BATCH_ROWS),
      );
      const ns = new DirectoryNamespace({ root: directory, durability: "none", functions: { embedding } });
      await ns.createTable(TABLE, new Table({ text: column }));
      const { version } = await ns.alterTableAddColumns({
        ...TABLE,
        newColumns: [{ name: "vector", virtualColumn: { udfName: "embedding" } }],
      });
      return {
        work: { amount: rowCount, unit: "rows" },
        sides: [
          {
            name: "tiltyard",
            async reset() {
              await ns.restoreTable({ ...TABLE, version });
            },
            async run() {
              const { jobId } = await ns.alterTableBackfillColumns({ ...TABLE, column: "vector" });
              const { result } = await ns.waitForJob({ jobId });
              if ((result as { rows?: number }).rows !== rowCount) throw new Error("rows are missing");
            },
          },
          {
            name: "tiltyard, plain",
            async run() {
              const results = callInLoop(embedding, texts, batches, keepsResults);
              if (results.length === 0) throw new Error("rows are missing");
            },
          },
        ],
        close: () => ns.close(),
      };
    },
  };
}

export const backfillCases: readonly BenchCase[] = [
  backfill("in batches", byBatch),
  backfill("row by row", byRow),
  backfill("row by row, the loop keeps no results", byRow, { keepsResults: false }),
  // More values than stay in memory: they are saved while further ones are computed.
  backfill("row by row", byRow, { rowsWhereLarge: 400_000 }),
];
