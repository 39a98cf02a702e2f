/** Encodes vectors for an index (codes.ts), and trains the models. */

import { type Steps, yieldToEventLoop } from "../../../async/eventLoop.js";
import type { Task } from "../../../async/workerPool.js";
import { isSharedMemory } from "../../../bytes/sharedCopy.js";
import { TENSOR_TYPES, Tensor } from "../../../format/vectorIndex.js";
import { centroidMetric, encodeVector, ITEM_BYTES } from "../distance/metric.js";
import { type Centroids, findNearest } from "../distance/nearestKernel.js";
import type { Codebook } from "./codebook.js";
import { BYTE, type CodeModel, codeColumn, floatBits } from "./codes.js";
import { defaultParts } from "./defaultParts.js";
import type { Encoder } from "./encoder.js";
import { columnBytesOf, type IndexedVectors, numbersPerVector } from "./indexedVectors.js";
import { assignVectors, centroidsOf, newKeys, someVectors, trainCentroids } from "./kmeans.js";
import { rotatedCentroids, rotatedEncoder } from "./rotatedEncoder.js";
import type { VectorWork } from "./vectorWork.js";

/** Input of the assignment to partitions and the encoding. */
export interface EncodingParts {
  readonly model: CodeModel;
  readonly indexed: IndexedVectors;
  readonly centroids: Centroids;
  /** First kernel key of the codewords; each subvector has one. */
  readonly wordKey: number;
  /** Centroids, rotated for RQ; empty for other models. */
  readonly rotated: Float32Array;
}

/** Copies the parts to memory that threads share. */
export function encodingParts(
  model: CodeModel,
  indexed: IndexedVectors,
  centroids: Float32Array,
  work: VectorWork,
): EncodingParts {
  const dimension = numbersPerVector(indexed);
  const metric = centroidMetric(indexed.metric);
  const shared = centroidsOf(work.share(centroids), { dimension, metric });
  const rotated = model.kind === "RQ" ? work.share(rotatedCentroids(model, centroids)) : NO_NUMBERS;
  const parts = { model, indexed, centroids: shared, wordKey: 0, rotated };
  if (model.kind !== "PQ") return parts;
  const words = work.share(Float32Array.from(model.words));
  return { ...parts, model: { ...model, words }, wordKey: newKeys(model.parts) };
}

const NO_NUMBERS = new Float32Array(0);

/** Partition and code of each vector. */
export interface EncodedVectors {
  readonly partitions: Uint32Array;
  readonly codes: Uint8Array;
}

interface EncodeInput {
  readonly parts: EncodingParts;
  readonly values: Float32Array;
}

export const ENCODE_VECTORS: Task<EncodeInput, EncodedVectors> = {
  name: "encodeVectors",
  run({ parts, values }) {
    const partitions = new Uint32Array(values.length / numbersPerVector(parts.indexed));
    findNearest(parts.centroids, values, partitions);
    return { partitions, codes: encoderOf(parts).encode(values, partitions) };
  },
  memoryOf: ({ partitions, codes }) =>
    [partitions.buffer, codes.buffer].filter((memory): memory is ArrayBuffer => !isSharedMemory(memory)),
};

/** Assigns vectors to partitions and encodes them. */
export async function encodeVectors(
  parts: EncodingParts,
  encoder: Encoder,
  vectors: Float32Array,
  work: VectorWork,
): Promise<EncodedVectors> {
  const dimension = numbersPerVector(parts.indexed);
  const { codeBytes } = encoder;
  const rowCount = vectors.length / dimension;
  const partitions = new Uint32Array(rowCount);
  // Vectors that are their own codes are not copied.
  const areCodes = encoder.products === 0;
  const codes = areCodes ? columnBytesOf(parts.indexed, vectors) : new Uint8Array(rowCount * codeBytes);
  const shared = work.share(vectors);
  await work.run({
    task: ENCODE_VECTORS,
    rowCount,
    products: parts.centroids.values.length + encoder.products,
    inputOf: (start, end) => ({ parts, values: shared.subarray(start * dimension, end * dimension) }),
    take(start, encoded) {
      partitions.set(encoded.partitions, start);
      if (!areCodes) codes.set(encoded.codes, start * codeBytes);
    },
  });
  return { partitions, codes };
}

export function encoderOf(parts: EncodingParts): Encoder {
  const { model, indexed } = parts;
  switch (model.kind) {
    case "FLAT":
      return flatEncoder(indexed);
    case "SQ":
      return sqEncoder(indexed, model);
    case "PQ":
      return pqEncoder(parts, model);
    case "RQ":
      return rotatedEncoder(model, indexed, parts.centroids.values, parts.rotated);
  }
}

function flatEncoder(indexed: IndexedVectors): Encoder {
  const { item, dimension } = indexed;
  return {
    model: { kind: "FLAT" },
    columns: [
      codeColumn("flat", item === "uint8" ? BYTE : { kind: "float", bits: floatBits(item) }, dimension),
    ],
    codeBytes: dimension * ITEM_BYTES[item],
    codebook: null,
    products: item === "float32" ? 0 : numbersPerVector(indexed),
    storage: () => ({ dim: dimension }),
    encode: (vectors) => columnBytesOf(indexed, vectors),
  };
}

/** Values whose bounds are found in one step, in about a millisecond. */
const STEP_VALUES = 2 ** 20;

/** Finds the bounds of a sample's values, in steps. */
export function* trainBounds(sample: Float32Array): Steps<Extract<CodeModel, { kind: "SQ" }>> {
  let [start, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let first = 0; first < sample.length; first += STEP_VALUES) {
    const last = Math.min(sample.length, first + STEP_VALUES);
    for (let index = first; index < last; index++) {
      const value = sample[index];
      if (value < start) start = value;
      if (value > end) end = value;
    }
    yield;
  }
  return { kind: "SQ", start, end };
}

function sqEncoder({ dimension }: IndexedVectors, model: Extract<CodeModel, { kind: "SQ" }>): Encoder {
  const { start, end } = model;
  const span = end - start;
  return {
    model,
    columns: [{ ...codeColumn("__sq_code", BYTE, dimension), nullable: true }],
    codeBytes: dimension,
    codebook: null,
    products: dimension,
    storage: () => ({ dim: dimension, num_bits: 8, bounds: { start, end } }),
    encode(vectors) {
      const codes = new Uint8Array(vectors.length);
      if (span === 0) return codes;
      for (let offset = 0; offset < codes.length; offset++) {
        codes[offset] = Math.max(0, Math.min(255, ((vectors[offset] - start) * 255) / span));
      }
      return codes;
    },
  };
}

/** Sample vectors per codeword. */
const WORD_SAMPLE_RATE = 256;
const MAX_WORD_ROUNDS = 25;

/** Trains a codebook on a sample. */
export async function trainCodebook(
  { dimension, metric }: IndexedVectors,
  parameters: { readonly numSubVectors?: number; readonly numBits?: number; readonly maxIterations?: number },
  sample: Float32Array,
  centroids: Float32Array,
  {
    seed,
    work,
    signal,
  }: { readonly seed: number; readonly work: VectorWork; readonly signal?: AbortSignal | undefined },
): Promise<Extract<CodeModel, { kind: "PQ" }>> {
  const { numSubVectors: parts = defaultParts(dimension), numBits = 8 } = parameters;
  const bits = numBits === 4 ? 4 : 8;
  const wordCount = 2 ** bits;
  const width = dimension / parts;
  const trained = someVectors(sample, dimension, WORD_SAMPLE_RATE * wordCount, seed);
  const by = centroidsOf(centroids, { metric: centroidMetric(metric), dimension });
  const { nearest } = await assignVectors(trained, by, work);
  const residuals = metric === "dot" ? trained : lessCentroids(trained, nearest, centroids, dimension);
  await yieldToEventLoop();
  const words = new Float32Array(wordCount * dimension);
  const maxRounds = Math.min(MAX_WORD_ROUNDS, parameters.maxIterations ?? MAX_WORD_ROUNDS);
  // Spread codewords would serve the few longest residuals, while most searches concern the others. By dot
  // product, the longest vectors are what a search finds.
  const first = metric === "dot" ? "apart" : "any";
  for (let part = 0; part < parts; part++) {
    const options = {
      ...({ metric: "l2", count: wordCount, dimension: width, maxRounds, seed: seed + part } as const),
      ...({ first, work, signal } as const),
    };
    const trainedWords = await trainCentroids(partOf(residuals, dimension, part, width), options);
    words.set(trainedWords, part * wordCount * width);
    await yieldToEventLoop();
  }
  return { kind: "PQ", bits, parts, dimension, words, isTransposed: false, isInSettings: false };
}

function pqEncoder(
  { indexed: { item, dimension, metric }, centroids, wordKey }: EncodingParts,
  { bits, parts, words, isInSettings }: Codebook,
): Encoder {
  const wordCount = 2 ** bits;
  const width = dimension / parts;
  const numbers = Float32Array.from(words);
  const codeBytes = (parts * bits) / 8;
  return {
    model: { kind: "PQ", bits, parts, dimension, words, isTransposed: false, isInSettings },
    columns: [{ ...codeColumn("__pq_code", BYTE, codeBytes), nullable: true }],
    codeBytes,
    codebook: Tensor.create({
      dataType: TENSOR_TYPES.indexOf(item),
      shape: [wordCount, dimension],
      data: encodeVector(item, Float64Array.from(words)),
    }),
    products: wordCount * dimension,
    storage: (position) => ({
      codebook_position: position,
      nbits: bits,
      num_sub_vectors: parts,
      dimension,
      codebook_tensor: [],
      transposed: false,
    }),
    encode(vectors, partitions) {
      const encoded =
        metric === "dot" ? vectors : lessCentroids(vectors, partitions, centroids.values, dimension);
      const codes = new Uint8Array(partitions.length * codeBytes);
      const nearest = new Uint32Array(partitions.length);
      for (let part = 0; part < parts; part++) {
        const values = numbers.subarray(part * wordCount * width, (part + 1) * wordCount * width);
        const of = { values, dimension: width, metric: "l2", key: wordKey + part } as const;
        findNearest(of, partOf(encoded, dimension, part, width), nearest);
        for (let row = 0; row < nearest.length; row++) {
          const offset = row * codeBytes;
          if (bits === 8) codes[offset + part] = nearest[row];
          else codes[offset + (part >>> 1)] |= nearest[row] << (4 * (part & 1));
        }
      }
      return codes;
    },
  };
}

/** Subtracts from each vector the centroid of its partition. */
function lessCentroids(
  vectors: Float32Array,
  partitions: Uint32Array,
  centroids: Float32Array,
  dimension: number,
): Float32Array {
  const residuals = new Float32Array(vectors.length);
  for (let row = 0; row < partitions.length; row++) {
    const slot = row * dimension;
    const centre = partitions[row] * dimension;
    for (let index = 0; index < dimension; index++) {
      residuals[slot + index] = vectors[slot + index] - centroids[centre + index];
    }
  }
  return residuals;
}

/** Returns one subvector of each vector. */
function partOf(vectors: Float32Array, dimension: number, part: number, width: number): Float32Array {
  const count = vectors.length / dimension;
  const parts = new Float32Array(count * width);
  for (let row = 0; row < count; row++) {
    const from = row * dimension + part * width;
    for (let index = 0; index < width; index++) parts[row * width + index] = vectors[from + index];
  }
  return parts;
}
