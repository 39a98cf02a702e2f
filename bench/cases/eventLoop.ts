/**
 * Measures how long a program waits for its event loop while a filtered and ordered scan runs, and while an
 * index is built. Every call of a run waits for a timer of one millisecond and reports the delay beyond it.
 * The 99th percentile must stay under 50 ms, and under 20 ms for an index build with threads.
 */

import { join } from "node:path";
import { Field, Float64, Int32, makeData, RecordBatch, Schema, Struct } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import type { BenchCase, Side } from "../case.js";
import { openReference, openTiltyard } from "../sides.js";
import { turnsDuring } from "../turns.js";

const BATCH_ROWS = 100_000;
const ORDER = [{ columnName: "i", ascending: true, nullsFirst: false }];
const FILTER = "f < 0.5";

const schema = new Schema([new Field("i", new Int32(), true), new Field("f", new Float64(), true)]);

/** Numbers that are spread evenly, in no order. */
function batchAt(first: number, length: number): RecordBatch {
  const spread = Int32Array.from({ length }, (_, row) => Math.imul(first + row + 1, 2654435761));
  const children = [
    makeData({ type: new Int32(), length, nullCount: 0, data: spread }),
    makeData({
      type: new Float64(),
      length,
      nullCount: 0,
      data: Float64Array.from(spread, (value) => (value >>> 0) / 2 ** 32),
    }),
  ];
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, children }));
}

async function* batchesOf(rowCount: number): AsyncGenerator<RecordBatch> {
  for (let first = 0; first < rowCount; first += BATCH_ROWS) {
    yield batchAt(first, Math.min(BATCH_ROWS, rowCount - first));
  }
}

const delaysDuring = async (work: () => Promise<void>): Promise<number[]> => (await turnsDuring(work)).delays;

/** "tiltyard" builds with two threads, "tiltyard, plain" in line. */
const indexed: BenchCase = {
  area: "write",
  name: "delay of the event loop while a BTREE of 5,000,000 rows is built",
  rounds: { small: 1, large: 3 },
  async prepare(directory, size) {
    const rowCount = size === "large" ? 5_000_000 : 5_000;
    const opened: DirectoryNamespace[] = [];
    const side = async (name: Side["name"], workers: number): Promise<Side> => {
      const root = join(directory, `workers ${workers}`);
      const ns = new DirectoryNamespace({ root, durability: "none", workers });
      opened.push(ns);
      await ns.createTable({ id: ["t"] }, batchesOf(rowCount));
      return {
        name,
        run: () =>
          delaysDuring(async () => {
            const { jobId } = await ns.table("t").createIndex("i", { name: "i_idx", replace: true });
            await ns.waitForJob({ jobId });
          }),
      };
    };
    const sides = [await side("tiltyard", 2), await side("tiltyard, plain", 0)];
    return {
      work: { amount: rowCount, unit: "rows" },
      sides,
      async close() {
        for (const ns of opened) await ns.close();
      },
    };
  },
};

export const eventLoopCases: readonly BenchCase[] = [
  indexed,
  {
    area: "read",
    name: "delay of the event loop while 10,000,000 rows are filtered and ordered",
    rounds: { small: 1, large: 3 },
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const rowCount = size === "large" ? 10_000_000 : 5_000;
      const ns = openTiltyard(root);
      await ns.createTable({ id: ["t"] }, batchesOf(rowCount));
      const reference = await openReference(root);
      const table = await reference.openTable("t");
      let expected = -1;
      const side = (
        name: Side["name"],
        batches: () => Promise<AsyncIterable<{ numRows: number }>>,
      ): Side => ({
        name,
        run: () =>
          delaysDuring(async () => {
            let result = 0;
            for await (const { numRows } of await batches()) result += numRows;
            if (expected >= 0 && result !== expected) throw new Error(`${result} rows, not ${expected}`);
            expected = result;
          }),
      });
      return {
        work: { amount: rowCount, unit: "rows" },
        sides: [
          side("tiltyard", async () => ns.table("t").scan({ filter: FILTER, orderBy: ORDER })),
          side("reference", async () => table.query().where(FILTER).orderBy(ORDER)),
        ],
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  },
];
