/**
 * Our indexes have at most a point less recall than the reference's, whose indexes are random. The soak
 * compares means over many shapes; `npm test` compares with recorded results ({@link RECORDED}).
 */

import { tableToIPC } from "apache-arrow";
import { Index, type Table } from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import { openBothEngines } from "../support/bothEngines.js";
import { runsOf, seedOf } from "../support/effort.js";
import {
  drawEmbeddings,
  type EmbeddingShape,
  type Embeddings,
  embeddingTable,
} from "../support/embeddingShapes.js";
import { buildIndex } from "../support/indexedTable.js";
import { reference } from "../support/reference.js";
import { type Found, searchRows } from "../support/vectorTables.js";

const IS_LONG = process.env.SOAK_SCALE !== undefined;
const NEAREST = 10;
const AT_ONCE = 50;
/** One point of recall. */
const LEEWAY = 0.01;
/** Random error of a single index. */
const LUCK = 0.02;

interface Size {
  readonly rows: number;
  readonly queries: number;
  readonly partitions: number;
}
const LARGE: Size = { rows: 5000, queries: 400, partitions: 16 };
const SMALL: Size = { rows: 1500, queries: 200, partitions: 8 };

type FloatMetric = "l2" | "cosine" | "dot";

interface Setting {
  readonly nprobes: number;
  readonly ef?: number;
  readonly refineFactor?: number;
}

interface Kind {
  readonly indexType: "IVF_FLAT" | "IVF_PQ" | "IVF_HNSW_FLAT" | "IVF_HNSW_SQ" | "IVF_HNSW_PQ";
  /** The reference's settings; if its API for Node.js lacks a kind, the next one that is no better. */
  config(options: { numPartitions: number; distanceType: FloatMetric; numSubVectors: number }): Index;
  readonly settings: readonly Setting[];
}

const probes = [1, 4].map((nprobes) => ({ nprobes }));
const walks = [10, 20, 50].map((ef) => ({ nprobes: 1, ef }));
const KINDS: readonly Kind[] = [
  { indexType: "IVF_FLAT", config: Index.ivfFlat, settings: probes },
  {
    indexType: "IVF_PQ",
    config: Index.ivfPq,
    settings: [...probes, { nprobes: 16 }, { nprobes: 4, refineFactor: 4 }],
  },
  { indexType: "IVF_HNSW_SQ", config: Index.hnswSq, settings: walks },
  { indexType: "IVF_HNSW_PQ", config: Index.hnswPq, settings: walks },
  { indexType: "IVF_HNSW_FLAT", config: Index.hnswSq, settings: walks },
];

/** Shape, dimension and metric. */
type Vectors = readonly [shape: EmbeddingShape, dimension: number, metric: FloatMetric];

const VECTORS: readonly Vectors[] = [
  ["correlated", 64, "cosine"],
  ["repeated", 32, "l2"],
  ["unnormalised", 64, "dot"],
  ["anisotropic", 64, "l2"],
  ["clustered", 64, "l2"],
  ["curved", 64, "l2"],
  ["elsewhere", 64, "cosine"],
  ["sparse", 128, "dot"],
  ["shapeless", 16, "l2"],
  ["unnormalised", 64, "l2"],
  ["anisotropic", 128, "cosine"],
  ["correlated", 384, "l2"],
];

const { root, namespace, connection } = await openBothEngines();

/** Returns the ids of the rows found for each query. */
type Search = (vectors: readonly number[][], setting: Setting) => Promise<readonly number[][]>;

function byQuery(rows: readonly Found[], count: number): number[][] {
  const answers = Array.from({ length: count }, (): number[] => []);
  for (const { id, query_index = 0 } of rows) answers[query_index].push(id);
  return answers;
}

const here =
  (name: string, distanceType: FloatMetric): Search =>
  async (vector, setting) => {
    const request = {
      id: [name],
      vector: [...vector],
      k: NEAREST,
      columns: ["id"],
      distanceType,
      ...setting,
    };
    return byQuery(await searchRows(namespace, request), vector.length);
  };

const there =
  (table: Table, metric: FloatMetric): Search =>
  async ([first, ...others], { nprobes, ef, refineFactor }) => {
    let query = table.query().nearestTo(first);
    for (const vector of others) query = query.addQueryVector(vector);
    query = query.distanceType(metric).limit(NEAREST).nprobes(nprobes).select(["id", "_distance"]);
    if (ef !== undefined) query = query.ef(ef);
    if (refineFactor !== undefined) query = query.refineFactor(refineFactor);
    return byQuery((await query.toArray()) as Found[], 1 + others.length);
  };

function distancesFrom(vector: Float32Array, rows: Float32Array, metric: FloatMetric): Float64Array {
  const dimension = vector.length;
  const distances = new Float64Array(rows.length / dimension);
  for (let row = 0, slot = 0; row < distances.length; row++) {
    let [products, squares] = [0, 0];
    for (let index = 0; index < dimension; index++, slot++) {
      products += rows[slot] * vector[index];
      squares += rows[slot] * rows[slot];
    }
    if (metric === "l2") distances[row] = squares - 2 * products;
    else distances[row] = metric === "dot" ? -products : -products / Math.sqrt(squares);
  }
  return distances;
}

/** Computes for each query the part of the results that is as near as the nearest rows. */
class Oracle {
  readonly #queries: readonly Float32Array[];
  readonly #distances: readonly Float64Array[];
  readonly #bounds: readonly number[];

  constructor({ dimension, rows, queries }: Embeddings, metric: FloatMetric) {
    this.#queries = Array.from({ length: queries.length / dimension }, (_, query) =>
      queries.subarray(query * dimension, (query + 1) * dimension),
    );
    this.#distances = this.#queries.map((query) => distancesFrom(query, rows, metric));
    this.#bounds = this.#distances.map((distances) => {
      const bound = distances.slice().sort()[NEAREST - 1];
      // Equal rows count as equal.
      return bound + 1e-6 * Math.abs(bound);
    });
  }

  async recall(search: Search, setting: Setting): Promise<Float64Array> {
    const recall = new Float64Array(this.#queries.length);
    for (let start = 0; start < recall.length; start += AT_ONCE) {
      const asked = this.#queries.slice(start, start + AT_ONCE);
      const answers = await search(
        asked.map((query) => [...query]),
        setting,
      );
      for (const [index, ids] of answers.entries()) {
        const query = start + index;
        const right = ids.filter((id) => this.#distances[query][id] <= this.#bounds[query]);
        expect(new Set(ids).size).toBe(ids.length);
        recall[query] = right.length / NEAREST;
      }
    }
    return recall;
  }
}

const meanOf = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((sum, value) => sum + value, 0) / values.length;

function errorOf(values: readonly number[]): number {
  const mean = meanOf(values);
  return Math.sqrt(meanOf(values.map((value) => (value - mean) ** 2)) / values.length);
}

/** Rows of a shape, with their nearest rows and indexes. */
class Trial {
  readonly #data: Embeddings;
  readonly #stream: Uint8Array;
  readonly #vectors: Vectors;
  readonly #size: Size;
  readonly #name: string;
  readonly oracle: Oracle;

  constructor(vectors: Vectors, size: Size, seed: number) {
    const [shape, dimension, metric] = vectors;
    this.#vectors = vectors;
    this.#size = size;
    this.#name = `${shape}_${dimension}_${metric}_${size.rows}_${seed}`;
    this.#data = drawEmbeddings(shape, dimension, size.rows, size.queries, seed);
    this.#stream = tableToIPC(embeddingTable(this.#data), "stream");
    this.oracle = new Oracle(this.#data, metric);
  }

  #settings({ indexType }: Kind) {
    const [, dimension, distanceType] = this.#vectors;
    const numPartitions = indexType.includes("HNSW") ? 1 : this.#size.partitions;
    return { numPartitions, distanceType, numSubVectors: dimension / 8 };
  }

  async ours(kind: Kind): Promise<{ readonly byUs: Search; readonly byThem: Search }> {
    const { indexType } = kind;
    const { numSubVectors, ...settings } = this.#settings(kind);
    const name = `ours_${this.#name}_${indexType}`;
    await namespace.createTable({ id: [name] }, this.#stream);
    const request = { id: [name], column: "v", indexType, ...settings };
    await buildIndex(namespace, { ...request, ...(indexType.endsWith("PQ") && { numSubVectors }) });
    const { distanceType } = settings;
    return { byUs: here(name, distanceType), byThem: there(await connection.openTable(name), distanceType) };
  }

  async theirs(kind: Kind, round = 0): Promise<Search> {
    const name = `theirs_${this.#name}_${kind.indexType}_${round}`;
    await reference.createTable(root, name, this.#stream);
    const table = await connection.openTable(name);
    const settings = this.#settings(kind);
    await table.createIndex("v", { config: kind.config(settings) });
    return there(table, settings.distanceType);
  }
}

const nameOf = ([shape, dimension, metric]: Vectors): string => `${shape} × ${dimension} by ${metric}`;
const settingOf = ({ indexType }: Kind, { nprobes, ef, refineFactor }: Setting): string =>
  `${indexType} ${ef === undefined ? `${nprobes} probes` : `ef ${ef}`}${refineFactor === undefined ? "" : ` refined ${refineFactor} times`}`;

/** Mean of several indexes of the reference on the same rows, and the standard deviation of single ones. */
type Recorded = readonly [mean: number, spread: number];
const RECORDED: readonly (readonly [Vectors, readonly (readonly Recorded[])[]])[] = [
  [
    ["correlated", 64, "cosine"],
    [
      [
        [0.6649, 0.0151],
        [0.9819, 0.0032],
      ],
      [
        [0.569, 0.0117],
        [0.7391, 0.0082],
        [0.7444, 0.0078],
        [0.9779, 0.0033],
      ],
      [
        [0.9833, 0.0008],
        [0.9931, 0.0003],
        [0.994, 0],
      ],
    ],
  ],
  [
    ["repeated", 32, "l2"],
    [
      [
        [0.7425, 0.0214],
        [0.9899, 0.0039],
      ],
      [
        [0.6688, 0.016],
        [0.8136, 0.0066],
        [0.8174, 0.0065],
        [0.9787, 0.005],
      ],
      [
        [0.9372, 0.001],
        [0.9423, 0.0008],
        [0.943, 0.001],
      ],
    ],
  ],
  [
    ["unnormalised", 64, "dot"],
    [
      [
        [0.529, 0.0169],
        [0.9516, 0.0048],
      ],
      [
        [0.5085, 0.0148],
        [0.8025, 0.0095],
        [0.8224, 0.0078],
        [0.9505, 0.0077],
      ],
      [
        [0.9793, 0.0013],
        [0.9929, 0.0003],
        [0.994, 0],
      ],
    ],
  ],
  [
    ["unnormalised", 64, "l2"],
    [
      [
        [0.6943, 0.0212],
        [0.9982, 0.001],
      ],
      [
        [0.5436, 0.0155],
        [0.7025, 0.0075],
        [0.7028, 0.0073],
        [0.9839, 0.0023],
      ],
      [
        [0.9309, 0.002],
        [0.9416, 0.0009],
        [0.9445, 0.0004],
      ],
    ],
  ],
];
/** Number of indexes in each recorded mean. */
const RECORDED_INDEXES = 20;
/** Number of indexes built beside the recorded ones. */
const INDEXES_BESIDE = 5;
/** Lower bound of the spread for settings with nearly equal results. */
const LEAST_SPREAD = 0.002;
/** Allowed error in standard errors: none of some 40 figures reaches it. */
const CHANCE = 4;
const RECORDED_KINDS = KINDS.slice(0, 3);

it("ours find as many as was recorded of the reference's", async () => {
  const differences: number[] = [];
  for (const [vectors, recorded] of RECORDED) {
    const trial = new Trial(vectors, SMALL, 1);
    for (const [position, kind] of RECORDED_KINDS.entries()) {
      const { byUs } = await trial.ours(kind);
      for (const [index, setting] of kind.settings.entries()) {
        const recall = meanOf(await trial.oracle.recall(byUs, setting));
        const what = `${nameOf(vectors)}, ${settingOf(kind, setting)}`;
        const [mean] = recorded[position][index];
        expect.soft(recall, what).toBeGreaterThan(mean - LEEWAY - LUCK);
        differences.push(recall - mean);
      }
    }
  }
  expect(meanOf(differences)).toBeGreaterThan(-LEEWAY);
});

it.runIf(IS_LONG)("the reference finds what was recorded of it", async () => {
  for (const [vectors, recorded] of RECORDED) {
    const trial = new Trial(vectors, SMALL, 1);
    for (const [position, kind] of RECORDED_KINDS.entries()) {
      const rounds = Array.from({ length: INDEXES_BESIDE }, (_, round) => trial.theirs(kind, round));
      const searches = await Promise.all(rounds);
      const recalls: number[] = [];
      for (const setting of kind.settings) {
        const each: number[] = [];
        for (const search of searches) each.push(meanOf(await trial.oracle.recall(search, setting)));
        recalls.push(meanOf(each));
      }
      console.log(nameOf(vectors), kind.indexType, recalls.map((part) => part.toFixed(4)).join(", "));
      for (const [index, part] of recalls.entries()) {
        const [mean, spread] = recorded[position][index];
        // Both are means of a few.
        const off = Math.max(spread, LEAST_SPREAD) * Math.sqrt(1 / INDEXES_BESIDE + 1 / RECORDED_INDEXES);
        const what = `${nameOf(vectors)}, ${settingOf(kind, kind.settings[index])}`;
        expect.soft(Math.abs(part - mean), what).toBeLessThan(CHANCE * off);
      }
    }
  }
});

interface Compared {
  readonly setting: string;
  readonly theirs: number;
  readonly byThem: number;
  readonly byUs: number;
}

const compared: Compared[] = [];
const SEEDS = Array.from({ length: IS_LONG ? runsOf("RECALL_SEEDS", 0.5) : 0 }, (_, seed) =>
  seedOf(seed + 1),
);
const CASES = SEEDS.flatMap((seed) =>
  VECTORS.flatMap((vectors) =>
    KINDS.map((kind) => ({ vectors, kind, seed, what: nameOf(vectors), indexType: kind.indexType })),
  ),
);

it.each(CASES)("of $what, $indexType finds as many as the reference's (seed $seed)", async ({
  vectors,
  kind,
  seed,
}) => {
  const trial = new Trial(vectors, LARGE, seed);
  const { byUs, byThem } = await trial.ours(kind);
  const theirs = await trial.theirs(kind);
  for (const setting of kind.settings) {
    const recall = await trial.oracle.recall(theirs, setting);
    const [us, them] = [await trial.oracle.recall(byUs, setting), await trial.oracle.recall(byThem, setting)];
    const means = { theirs: meanOf(recall), byThem: meanOf(them), byUs: meanOf(us) };
    compared.push({ setting: settingOf(kind, setting), ...means });
    console.log(nameOf(vectors), settingOf(kind, setting), means);
    for (const recalls of [us, them]) {
      const differences = Array.from(recalls, (part, query) => part - recall[query]);
      const allowed = LEEWAY + LUCK + 2 * errorOf(differences);
      expect.soft(meanOf(differences), settingOf(kind, setting)).toBeGreaterThan(-allowed);
    }
  }
});

it.runIf(IS_LONG)("on the whole, no kind finds more than a point less by any setting", () => {
  for (const setting of new Set(compared.map((each) => each.setting))) {
    const those = compared.filter((each) => each.setting === setting);
    const mean = (side: "theirs" | "byThem" | "byUs") => meanOf(those.map((each) => each[side]));
    const means = { theirs: mean("theirs"), byThem: mean("byThem"), byUs: mean("byUs") };
    console.log(setting, means);
    expect.soft(means.byThem, setting).toBeGreaterThan(means.theirs - LEEWAY);
    expect.soft(means.byUs, setting).toBeGreaterThan(means.theirs - LEEWAY);
  }
});
