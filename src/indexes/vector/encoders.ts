/** How vectors are encoded for an index: the writing side of codes.ts, and how what they are encoded by is trained. */

import type { LogicalType } from "../../arrow/types/type.js";
import { breathe } from "../../async/eventLoop.js";
import { encodeHalfFloat } from "../../bytes/halfFloat.js";
import { TENSOR_TYPES, Tensor } from "../../format/vectorIndex.js";
import type { Codebook } from "./codebook.js";
import type { CodeModel } from "./codes.js";
import type { IndexedVectors } from "./indexedVectors.js";
import { assignVectors, seededNumbers, trainCentroids } from "./kmeans.js";
import { encodeVector, ITEM_BYTES } from "./metric.js";

export interface Encoder {
  readonly model: CodeModel;
  /** The column of codes, a fixed-size list. */
  readonly column: string;
  readonly isNullable: boolean;
  readonly codeType: LogicalType;
  readonly codeLength: number;
  /** Bytes of the code of a vector. */
  readonly codeBytes: number;
  /** Null for none. */
  readonly codebook: Tensor | null;
  /** What readers are told. @param codebook number of its global buffer */
  storage(codebook: number): object;
  /** @param vectors one behind the other, each with the number of its partition */
  encode(vectors: Float32Array, partitions: Uint32Array): Uint8Array | Promise<Uint8Array>;
}

const BYTE: LogicalType = { kind: "int", bits: 8, signed: false };

/** Encodes by a model that there is. */
export function encoderOf(
  model: CodeModel,
  indexed: IndexedVectors,
  centroids: Float32Array,
  signal?: AbortSignal,
): Encoder {
  switch (model.kind) {
    case "FLAT":
      return flatEncoder(indexed);
    case "SQ":
      return sqEncoder(indexed, model);
    case "PQ":
      return pqEncoder(indexed, model, centroids, signal);
  }
}

function flatEncoder({ item, dimension }: IndexedVectors): Encoder {
  const bits = item === "float16" ? 16 : item === "float64" ? 64 : 32;
  return {
    model: { kind: "FLAT" },
    column: "flat",
    isNullable: false,
    codeType: { kind: "float", bits },
    codeLength: dimension,
    codeBytes: dimension * ITEM_BYTES[item],
    codebook: null,
    storage: () => ({ dim: dimension }),
    encode(vectors) {
      if (item === "float16") return new Uint8Array(Uint16Array.from(vectors, encodeHalfFloat).buffer);
      if (item === "float64") return new Uint8Array(Float64Array.from(vectors).buffer);
      return new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
    },
  };
}

/** The bounds of the values of a sample. */
export function trainBounds(sample: Float32Array): Extract<CodeModel, { kind: "SQ" }> {
  let [start, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of sample) {
    if (value < start) start = value;
    if (value > end) end = value;
  }
  return { kind: "SQ", start, end };
}

function sqEncoder({ dimension }: IndexedVectors, model: Extract<CodeModel, { kind: "SQ" }>): Encoder {
  const { start, end } = model;
  const width = (end - start) / 255;
  return {
    model,
    column: "__sq_code",
    isNullable: true,
    codeType: BYTE,
    codeLength: dimension,
    codeBytes: dimension,
    codebook: null,
    storage: () => ({ dim: dimension, num_bits: 8, bounds: { start, end } }),
    encode: (vectors) =>
      Uint8Array.from(vectors, (value) =>
        width === 0 ? 0 : Math.max(0, Math.min(255, Math.trunc((value - start) / width))),
      ),
  };
}

/** Vectors on which codewords are trained, for each of these. */
const WORD_SAMPLE_RATE = 256;
const MAX_WORD_ROUNDS = 25;

/** The number of the parts of a vector where nobody says how many. */
const defaultParts = (dimension: number): number =>
  dimension % 16 === 0 ? dimension / 16 : dimension % 8 === 0 ? dimension / 8 : 1;

/** The codewords of a sample. */
export async function trainCodebook(
  { dimension, metric }: IndexedVectors,
  parameters: { readonly numSubVectors?: number; readonly numBits?: number; readonly maxIterations?: number },
  sample: Float32Array,
  centroids: Float32Array,
  seed: number,
  signal: AbortSignal | undefined,
): Promise<Extract<CodeModel, { kind: "PQ" }>> {
  const { numSubVectors: parts = defaultParts(dimension), numBits = 8 } = parameters;
  const bits = numBits === 4 ? 4 : 8;
  const wordCount = 2 ** bits;
  const width = dimension / parts;
  const trained = someVectors(sample, dimension, WORD_SAMPLE_RATE * wordCount, seed);
  const partitions = new Uint32Array(trained.length / dimension);
  const by = { metric: metric === "dot" ? "dot" : "l2", dimension, signal } as const;
  await assignVectors(trained, centroids, by, (firstRow, nearest) => partitions.set(nearest, firstRow));
  const residuals = metric === "dot" ? trained : lessCentroids(trained, partitions, centroids, dimension);
  await breathe();
  const words = new Float32Array(wordCount * dimension);
  const maxRounds = Math.min(MAX_WORD_ROUNDS, parameters.maxIterations ?? MAX_WORD_ROUNDS);
  for (let part = 0; part < parts; part++) {
    const options = {
      metric: "l2",
      count: wordCount,
      dimension: width,
      maxRounds,
      seed: seed + part,
      signal,
    } as const;
    const own = await trainCentroids(partOf(residuals, dimension, part, width), options);
    words.set(own, part * wordCount * width);
    await breathe();
  }
  return { kind: "PQ", bits, parts, dimension, words, isTransposed: false };
}

function pqEncoder(
  { item, dimension, metric }: IndexedVectors,
  { bits, parts, words }: Codebook,
  centroids: Float32Array,
  signal: AbortSignal | undefined,
): Encoder {
  const wordCount = 2 ** bits;
  const width = dimension / parts;
  const numbers = Float32Array.from(words);
  const codeBytes = (parts * bits) / 8;
  return {
    model: { kind: "PQ", bits, parts, dimension, words, isTransposed: false },
    column: "__pq_code",
    isNullable: true,
    codeType: BYTE,
    codeLength: codeBytes,
    codeBytes,
    codebook: Tensor.create({
      dataType: TENSOR_TYPES.indexOf(item),
      shape: [wordCount, dimension],
      data: encodeVector(item, Float64Array.from(words)),
    }),
    storage: (position) => ({
      codebook_position: position,
      nbits: bits,
      num_sub_vectors: parts,
      dimension,
      codebook_tensor: [],
      transposed: false,
    }),
    async encode(vectors, own) {
      const encoded = metric === "dot" ? vectors : lessCentroids(vectors, own, centroids, dimension);
      const codes = new Uint8Array(own.length * codeBytes);
      for (let part = 0; part < parts; part++) {
        const ofPart = numbers.subarray(part * wordCount * width, (part + 1) * wordCount * width);
        const split = partOf(encoded, dimension, part, width);
        const options = { metric: "l2", dimension: width, signal } as const;
        await assignVectors(split, ofPart, options, (firstRow, nearest) => {
          for (const [row, code] of nearest.entries()) {
            const at = (firstRow + row) * codeBytes;
            if (bits === 8) codes[at + part] = code;
            else codes[at + (part >>> 1)] |= code << (4 * (part & 1));
          }
        });
      }
      return codes;
    },
  };
}

/** At most so many of some vectors. */
function someVectors(vectors: Float32Array, dimension: number, most: number, seed: number): Float32Array {
  const count = vectors.length / dimension;
  if (count <= most) return vectors;
  const next = seededNumbers(seed);
  const some = new Float32Array(most * dimension);
  for (let row = 0; row < most; row++) {
    // One of each of equal stretches.
    const from = Math.floor(((row + next()) * count) / most) * dimension;
    some.set(vectors.subarray(from, from + dimension), row * dimension);
  }
  return some;
}

/** Residuals: what is left of vectors without the centroids of their partitions. */
function lessCentroids(
  vectors: Float32Array,
  partitions: Uint32Array,
  centroids: Float32Array,
  dimension: number,
): Float32Array {
  const residuals = new Float32Array(vectors.length);
  for (const [row, partition] of partitions.entries()) {
    const at = row * dimension;
    const centre = partition * dimension;
    for (let index = 0; index < dimension; index++) {
      residuals[at + index] = vectors[at + index] - centroids[centre + index];
    }
  }
  return residuals;
}

/** One part of each vector. */
function partOf(vectors: Float32Array, dimension: number, part: number, width: number): Float32Array {
  const count = vectors.length / dimension;
  const parts = new Float32Array(count * width);
  for (let row = 0; row < count; row++) {
    const from = row * dimension + part * width;
    for (let index = 0; index < width; index++) parts[row * width + index] = vectors[from + index];
  }
  return parts;
}
