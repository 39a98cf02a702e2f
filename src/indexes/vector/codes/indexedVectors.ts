/**
 * Vectors as indexes store them: float32, of length 1 by cosine, without null or NaN. Each bit of a binary
 * vector becomes a number, 0 or 1, so that squared distance equals Hamming distance.
 */

import type { Column, Validity } from "../../../arrow/columns/column.js";
import { sliceColumn } from "../../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../../arrow/columns/takeColumn.js";
import { isSet, isValid } from "../../../arrow/columns/validity.js";
import { yieldToEventLoop } from "../../../async/eventLoop.js";
import { alignedBytes } from "../../../bytes/aligned.js";
import { enlarged } from "../../../bytes/growing.js";
import { InternalError } from "../../../errors.js";
import type { RowStream } from "../../kind.js";
import { encodeVector, ITEM_BYTES, type Metric, numbersIn, type VectorItem } from "../distance/metric.js";
import { seededNumbers } from "./kmeans.js";

/** Type of the indexed vectors. */
export interface IndexedVectors {
  readonly item: VectorItem;
  readonly dimension: number;
  readonly metric: Metric;
}

/** Number of floats per vector. */
export const numbersPerVector = ({ item, dimension }: IndexedVectors): number =>
  item === "uint8" ? 8 * dimension : dimension;

/** Packs numbers into bits, lowest first; 0.5 and more is 1. */
export function bitsToBytes(numbers: Float32Array): Uint8Array {
  const bytes = new Uint8Array(numbers.length / 8);
  for (let offset = 0; offset < numbers.length; offset++)
    if (numbers[offset] >= 0.5) bytes[offset >>> 3] |= 1 << (offset & 7);
  return bytes;
}

/** Unpacks bits into numbers. */
export function bytesToBits(
  bytes: Uint8Array,
  numbers: Float32Array = new Float32Array(8 * bytes.length),
  to = 0,
): Float32Array {
  for (let offset = 0; offset < 8 * bytes.length; offset++)
    numbers[to + offset] = (bytes[offset >>> 3] >>> (offset & 7)) & 1;
  return numbers;
}

/** Returns the vectors as columns store them; float32 shares the memory. */
export function columnBytesOf({ item }: IndexedVectors, vectors: Float32Array): Uint8Array {
  if (item === "uint8") return bitsToBytes(vectors);
  if (item !== "float32") return encodeVector(item, vectors);
  return new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
}

/** Vectors of some rows. */
export interface VectorRows {
  /** Row-major. */
  readonly vectors: Float32Array;
  /** Offset of each vector's row in the input; null if every row has one vector. */
  readonly rows: Uint32Array | null;
}

/**
 * Reads the vectors. Skips nulls, vectors with NaN, and by cosine those of length 0.
 * @param room allocates memory
 */
export function vectorsIn(
  indexed: IndexedVectors,
  column: Column,
  room: (length: number) => Float32Array = (length) => new Float32Array(length),
): VectorRows {
  const dimension = numbersPerVector(indexed);
  if (column.kind === "null") return { vectors: room(0), rows: new Uint32Array(0) };
  const { column: all, rowOf } = flattened(column);
  const read = vectorReader(indexed, all);
  const vectors = room(all.length * dimension);
  const rows = new Uint32Array(all.length);
  let count = 0;
  for (let position = 0; position < all.length; position++) {
    if (read(position, vectors, count * dimension)) rows[count++] = rowOf?.[position] ?? position;
  }
  const isOnePerRow = rowOf === null && count === column.length;
  return {
    vectors: vectors.subarray(0, count * dimension),
    rows: isOnePerRow ? null : rows.subarray(0, count),
  };
}

/** Returns the vectors of a column, and the row of each; null if each row has one. */
function flattened(column: Column): { readonly column: Column; readonly rowOf: Uint32Array | null } {
  if (column.kind !== "list") return { column, rowOf: null };
  const { offsets, items, validity, length } = column;
  const first = Number(offsets[0]);
  const rowOf = new Uint32Array(Number(offsets[length]) - first);
  const positions = new Uint32Array(rowOf.length);
  let count = 0;
  for (let row = 0; row < length; row++) {
    // A null list may have items in memory.
    if (!isValid(validity, row)) continue;
    for (let item = Number(offsets[row]); item < Number(offsets[row + 1]); item++) {
      positions[count] = item;
      rowOf[count++] = row;
    }
  }
  const areAll = count === rowOf.length;
  return {
    column: areAll ? sliceColumn(items, first, count) : takeColumn(items, positions.subarray(0, count)),
    rowOf: rowOf.subarray(0, count),
  };
}

/** Copies a row's vector; returns false if the index excludes the row. */
type ReadVector = (row: number, vectors: Float32Array, to: number) => boolean;

function vectorReader({ item, dimension, metric }: IndexedVectors, column: Column): ReadVector {
  if (column.kind !== "fixedSizeList" || column.items.kind !== "fixed") {
    throw new InternalError(`a column of kind ${column.kind} cannot hold vectors`);
  }
  const { items, validity } = column;
  const isWhole = (row: number): boolean =>
    isValid(validity, row) &&
    (items.validity === null || areValid(items.validity, row * dimension, dimension));
  const bytes = alignedBytes(items.values, ITEM_BYTES[item]);
  if (item === "uint8") {
    return (row, vectors, to) => {
      if (!isWhole(row)) return false;
      bytesToBits(bytes.subarray(row * dimension, (row + 1) * dimension), vectors, to);
      return true;
    };
  }
  const numbers = numbersIn(item, bytes);
  return (row, vectors, to) => {
    if (!isWhole(row)) return false;
    let squares = 0;
    const from = row * dimension;
    for (let index = 0; index < dimension; index++) {
      const value = numbers[from + index];
      vectors[to + index] = value;
      squares += value * value;
    }
    if (Number.isNaN(squares) || (metric === "cosine" && squares === 0)) return false;
    if (metric === "cosine") {
      const norm = Math.sqrt(squares);
      for (let index = 0; index < dimension; index++) vectors[to + index] /= norm;
    }
    return true;
  };
}

function areValid(validity: Validity, start: number, count: number): boolean {
  for (let index = start; index < start + count; index++) if (!isSet(validity, index)) return false;
  return true;
}

/** Draws a uniform sample of the vectors. */
export async function sampleVectors(
  indexed: IndexedVectors,
  rows: RowStream,
  most: number,
  seed: number,
): Promise<Float32Array> {
  const dimension = numbersPerVector(indexed);
  const next = seededNumbers(seed);
  const read = new Float32Array(dimension);
  let sample = new Float32Array(Math.min(most, 4096) * dimension);
  let count = 0;
  let seen = 0;
  for await (const { values } of rows) {
    await yieldToEventLoop();
    if (values.kind === "null") continue;
    const { column } = flattened(values);
    const readVector = vectorReader(indexed, column);
    for (let row = 0; row < column.length; row++) {
      const position = count < most ? count : Math.floor(next() * (seen + 1));
      seen++;
      // Whether a vector is whole is checked only if it is drawn.
      if (position >= most || !readVector(row, read, 0)) continue;
      if ((position + 1) * dimension > sample.length) sample = enlarged(sample, 0, most * dimension);
      sample.set(read, position * dimension);
      if (count < most) count++;
    }
  }
  return sample.subarray(0, count * dimension);
}
