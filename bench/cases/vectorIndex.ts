/**
 * Indexes on vectors: building them, and the nearest rows by them. Each side asks the index that it built
 * itself.
 */

import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import { Index } from "tiltyard-reference/session.js";
import type { BenchCase, Size } from "../case.js";
import { openReference, openTiltyard } from "../sides.js";
import { DIMENSION, queryVectors, rowsFrom } from "../vectorData.js";

const SMALL_ROWS = 600;
const NEAREST = 10;
const VECTORS = 64;

/** Settings of an index and of its searches. */
interface Kind {
  readonly indexType: "IVF_FLAT" | "IVF_PQ" | "IVF_HNSW_SQ";
  /** Row counts of the large size. The reference needs twenty minutes for a graph of half a million rows. */
  readonly rows: readonly number[];
  partitions(size: Size): number;
  config(numPartitions: number): Index;
  readonly search: { readonly nprobes: number; readonly ef?: number };
}

const KINDS: readonly Kind[] = [
  {
    indexType: "IVF_FLAT",
    rows: [100_000, 500_000],
    partitions: (size) => (size === "small" ? 4 : 256),
    config: (numPartitions) => Index.ivfFlat({ numPartitions, distanceType: "l2" }),
    search: { nprobes: 8 },
  },
  {
    indexType: "IVF_PQ",
    rows: [100_000, 500_000],
    partitions: (size) => (size === "small" ? 4 : 256),
    config: (numPartitions) => Index.ivfPq({ numPartitions, numSubVectors: 16, distanceType: "l2" }),
    search: { nprobes: 8 },
  },
  {
    indexType: "IVF_HNSW_SQ",
    rows: [100_000],
    partitions: () => 1,
    config: (numPartitions) => Index.hnswSq({ numPartitions, distanceType: "l2" }),
    search: { nprobes: 1, ef: 50 },
  },
];

async function open(directory: string, kind: Kind, size: Size, rowCount: number) {
  const root = join(directory, "tables");
  const ns = openTiltyard(root);
  const reference = await openReference(root);
  const rows = tableToIPC(rowsFrom(0, rowCount), "stream");
  for (const name of ["ours", "theirs"]) await ns.createTable({ id: [name] }, rows);
  const table = await reference.openTable("theirs");
  const numPartitions = kind.partitions(size);
  return {
    ns,
    table,
    async buildOurs() {
      const { jobId } = await ns.createTableIndex({
        ...{ id: ["ours"], column: "v", indexType: kind.indexType, distanceType: "l2", numPartitions },
        ...{ replace: true, ...(kind.indexType === "IVF_PQ" && { numSubVectors: 16 }) },
      });
      const { state, error } = await ns.waitForJob({ jobId });
      if (state !== "Succeeded") throw new Error(`the build ended as ${state}: ${error?.message}`);
    },
    async buildTheirs() {
      await table.createIndex("v", { config: kind.config(numPartitions), replace: true });
    },
    async close() {
      await ns.close();
      reference.close();
    },
  };
}

const rowsOf = (size: Size, rows: number): number => (size === "small" ? SMALL_ROWS : rows);

const build = (kind: Kind, rows: number): BenchCase => ({
  area: "write",
  name: `build ${kind.indexType}, ${rows.toLocaleString("en")} × ${DIMENSION}`,
  rounds: { small: 1, large: 2 },
  collectFirst: true,
  async prepare(directory, size) {
    const { buildOurs, buildTheirs, close } = await open(directory, kind, size, rowsOf(size, rows));
    return {
      work: { amount: rowsOf(size, rows), unit: "rows" },
      sides: [
        { name: "tiltyard", run: buildOurs },
        { name: "reference", run: buildTheirs },
      ],
      close,
    };
  },
});

/** @param vectors that are asked about at once */
const ask = (kind: Kind, rows: number, vectors = 1): BenchCase => ({
  area: "read",
  name:
    `nearest 10 ${vectors === 1 ? "" : `of each of ${vectors} vectors `}by ${kind.indexType}, ` +
    `${rows.toLocaleString("en")} × ${DIMENSION}`,
  rounds: { small: 2, large: vectors === 1 ? 200 : 50 },
  async prepare(directory, size) {
    const { ns, table, buildOurs, buildTheirs, close } = await open(
      directory,
      kind,
      size,
      rowsOf(size, rows),
    );
    await buildOurs();
    await buildTheirs();
    const next = queryVectors();
    const { nprobes, ef } = kind.search;
    const check = (result: number): void => {
      const wanted = NEAREST * vectors;
      if (result !== wanted) throw new Error(`${result} rows, not ${wanted}`);
    };
    return {
      work: { amount: 1, unit: "calls" },
      sides: [
        {
          name: "tiltyard",
          async run() {
            const all = Array.from({ length: vectors }, next);
            const vector = vectors === 1 ? all[0] : all;
            const request = { id: ["ours"], vector, k: NEAREST, columns: ["id"], ...kind.search };
            check((await (await ns.queryTable(request)).toArrow()).numRows);
          },
        },
        {
          name: "reference",
          async run() {
            const query = table.query().nearestTo(next()).limit(NEAREST).nprobes(nprobes);
            for (let more = 1; more < vectors; more++) query.addQueryVector(next());
            if (ef !== undefined) query.ef(ef);
            check((await query.select(["id", "_distance"]).toArrow()).numRows);
          },
        },
      ],
      close,
    };
  },
});

export const vectorIndexCases: readonly BenchCase[] = KINDS.flatMap((kind) =>
  kind.rows.flatMap((rows) => [build(kind, rows), ask(kind, rows), ask(kind, rows, VECTORS)]),
);
