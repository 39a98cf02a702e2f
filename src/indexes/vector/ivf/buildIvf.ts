/**
 * Builds the files of a vector index (ivfFiles.ts). It trains centroids and the code model on a sample, then
 * assigns each row to the partition of its nearest centroid and encodes it.
 */

import { runAsync } from "../../../async/eventLoop.js";
import { InvalidInputError } from "../../../errors.js";
import { StepProgress } from "../../buildProgress.js";
import type { IndexTarget, RowStream, VectorKindName, WrittenFiles } from "../../kind.js";
import type { CodeModel } from "../codes/codes.js";
import { trainBounds, trainCodebook } from "../codes/encoders.js";
import {
  bitsToBytes,
  bytesToBits,
  type IndexedVectors,
  numbersPerVector,
  sampleVectors,
} from "../codes/indexedVectors.js";
import { trainCentroids } from "../codes/kmeans.js";
import { newRotation } from "../codes/rotation.js";
import { codeKindOf, hasGraphs } from "../codes/vectorKindNames.js";
import { VectorWork } from "../codes/vectorWork.js";
import { centroidMetric, METRIC_NAMES } from "../distance/metric.js";
import { vectorTypeOf } from "../distance/vectorType.js";
import { codeProducts, rowTimes, trainingProducts } from "./buildTimes.js";
import { addRows, type IvfModelParts, type VectorParameters, writeIvf } from "./writeIvf.js";

/** Default number of rows of a partition. */
const PARTITION_ROWS = { FLAT: 4096, PQ: 8192, SQ: 8192, RQ: 4096 } as const;
/** Default number of rows of a partition with a graph: fewer graphs make searches faster. */
const GRAPH_ROWS = 2 ** 20;
/** Maximum default number of partitions. */
const MAX_DEFAULT_PARTITIONS = 4096;
/** Sample vectors per partition. */
const SAMPLE_RATE = 256;
/** Maximum bytes of a sample. */
const SAMPLE_BYTES = 2 ** 28;
const MAX_ROUNDS = 50;
const SEED = 42;

/** Builds an index. @param rows iterable more than once @throws InvalidInputError if no row has a vector */
export async function buildIvf(
  kind: VectorKindName,
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> {
  const parameters = target.parameters as unknown as VectorParameters;
  const indexed = indexedOf(target, parameters);
  const dimension = numbersPerVector(indexed);
  const { sampleRate = SAMPLE_RATE, maxIterations = MAX_ROUNDS } = parameters;
  const wanted = partitionCount(kind, parameters, target.rowCount);
  // The code model trains on the sample too.
  const sampleRows = Math.max(sampleRate * wanted, isTrained(kind) ? SAMPLE_RATE * 256 : 0);
  const most = Math.max(wanted, Math.min(sampleRows, Math.floor(SAMPLE_BYTES / (4 * dimension))));
  const sample = await sampleVectors(indexed, rows, most, SEED);
  const count = Math.min(wanted, sample.length / dimension);
  if (count === 0)
    throw new InvalidInputError(`column: no row of ${target.field.name} has a vector to index`);
  const { workers, signal } = target;
  const steps = trainingSteps(kind, target, dimension, sample.length / dimension, count);
  const training = { seed: SEED, work: new VectorWork(workers, signal, steps.trained), signal };
  const metric = centroidMetric(indexed.metric);
  const options = { ...training, metric, count, dimension, maxRounds: maxIterations };
  const trained = await trainCentroids(sample, options);
  // Each bit of a binary centroid is the majority of its vectors.
  const centroids = indexed.item === "uint8" ? bytesToBits(bitsToBytes(trained)) : trained;
  const model = await modelOf(kind, indexed, parameters, sample, centroids, training);
  const parts: IvfModelParts = { kind, indexed, centroids, model };
  return writeIvf(parts, { ...target, progress: steps.written }, (into, encoding, encoded) =>
    addRows(rows, encoded, encoding, into),
  );
}

/** Returns the reports of the training, by multiplications, and of the rest, by rows. */
function trainingSteps(
  kind: VectorKindName,
  target: IndexTarget,
  dimension: number,
  sampleCount: number,
  centroidCount: number,
): { readonly trained: (products: number) => void; readonly written: (rowCount: number) => void } {
  const rowCount = Math.max(1, target.rowCount);
  const expected = trainingProducts(kind, dimension, sampleCount, centroidCount);
  const products = codeProducts(kind, dimension, centroidCount);
  const [encode, link] = rowTimes(kind, dimension, products, target.parameters);
  const steps = new StepProgress(target, [expected / rowCount, encode + link]);
  let done = 0;
  const trained = (more: number): void => {
    done += more;
    steps.of(0)(rowCount * Math.min(1, done / expected));
  };
  const written = (rows: number): void => {
    steps.of(0)(rowCount);
    steps.of(1)(rows);
  };
  return { trained, written };
}

/** @throws InvalidInputError for a column without vectors */
function indexedOf({ field }: IndexTarget, { distanceType }: VectorParameters): IndexedVectors {
  const vectors = vectorTypeOf(field);
  const metric = METRIC_NAMES.find((name) => name === distanceType);
  if (vectors === null || metric === undefined) {
    throw new InvalidInputError(`column: ${field.name} has no vectors`);
  }
  const { item, dimension } = vectors;
  return { item, dimension, metric };
}

function partitionCount(
  kind: VectorKindName,
  { numPartitions, targetPartitionSize }: VectorParameters,
  rowCount: number,
): number {
  if (numPartitions !== undefined) return numPartitions;
  const size = targetPartitionSize ?? (hasGraphs(kind) ? GRAPH_ROWS : PARTITION_ROWS[codeKindOf(kind)]);
  return Math.max(1, Math.min(MAX_DEFAULT_PARTITIONS, Math.floor(rowCount / size)));
}

/** True if the code model of a kind is trained on vectors. */
const isTrained = (kind: VectorKindName): boolean => ["PQ", "SQ"].includes(codeKindOf(kind));

async function modelOf(
  kind: VectorKindName,
  indexed: IndexedVectors,
  parameters: VectorParameters,
  sample: Float32Array,
  centroids: Float32Array,
  training: Parameters<typeof trainCodebook>[4],
): Promise<CodeModel> {
  switch (codeKindOf(kind)) {
    case "FLAT":
      return { kind: "FLAT" };
    case "SQ":
      return runAsync(trainBounds(sample), training.signal);
    case "PQ":
      return trainCodebook(indexed, parameters, sample, centroids, training);
    case "RQ": {
      const rotation = newRotation(indexed.dimension, training.seed);
      return { kind: "RQ", rotation, bits: parameters.numBits ?? 1, isPacked: false };
    }
  }
}
