/** The vectors of rows as indexes take them: as floats of 32 bits, by cosine with the length 1, and whole ones only. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { isSet, isValid } from "../../arrow/columns/validity.js";
import { breathe } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { InternalError } from "../../errors.js";
import type { IndexRows } from "../kind.js";
import { seededNumbers } from "./kmeans.js";
import { ITEM_BYTES, type Metric, numbersIn, type VectorItem } from "./metric.js";

/** What of a column is indexed, and how. */
export interface IndexedVectors {
  readonly item: VectorItem;
  readonly dimension: number;
  readonly metric: Metric;
}

/** Rows that have a vector. */
export interface VectorRows {
  /** The vectors, one behind the other. */
  readonly vectors: Float32Array;
  /** Positions of their rows among those that came. */
  readonly rows: Uint32Array;
}

/** Leaves out rows without a vector, with NaN in it, and by cosine those of the length 0. */
export function vectorsIn({ item, dimension, metric }: IndexedVectors, column: Column): VectorRows {
  if (column.kind === "null") return { vectors: new Float32Array(0), rows: new Uint32Array(0) };
  if (column.kind !== "fixedSizeList" || column.items.kind !== "fixed") {
    throw new InternalError(`vectors in a column of ${column.kind}`);
  }
  const { items, validity, length } = column;
  const numbers = numbersIn(item, alignedBytes(items.values, ITEM_BYTES[item]));
  const vectors = new Float32Array(length * dimension);
  const rows = new Uint32Array(length);
  let count = 0;
  for (let row = 0; row < length; row++) {
    if (!isValid(validity, row)) continue;
    let squares = 0;
    const from = row * dimension;
    const to = count * dimension;
    for (let index = 0; index < dimension; index++) {
      const value = numbers[from + index];
      vectors[to + index] = value;
      squares += value * value;
    }
    if (items.validity !== null && !areValid(items.validity, from, dimension)) continue;
    if (Number.isNaN(squares) || (metric === "cosine" && squares === 0)) continue;
    if (metric === "cosine") {
      const norm = Math.sqrt(squares);
      for (let index = 0; index < dimension; index++) vectors[to + index] /= norm;
    }
    rows[count++] = row;
  }
  return { vectors: vectors.subarray(0, count * dimension), rows: rows.subarray(0, count) };
}

function areValid(validity: Validity, start: number, count: number): boolean {
  for (let index = start; index < start + count; index++) if (!isSet(validity, index)) return false;
  return true;
}

/** Some vectors of all, each as likely as any other. */
export async function sampleVectors(
  indexed: IndexedVectors,
  rows: AsyncIterable<IndexRows>,
  most: number,
  seed: number,
): Promise<Float32Array> {
  const { dimension } = indexed;
  const next = seededNumbers(seed);
  let sample = new Float32Array(Math.min(most, 4096) * dimension);
  let seen = 0;
  for await (const { values } of rows) {
    const { vectors } = vectorsIn(indexed, values);
    await breathe();
    for (let start = 0; start < vectors.length; start += dimension) {
      const place = seen < most ? seen : Math.floor(next() * (seen + 1));
      seen++;
      if (place >= most) continue;
      if ((place + 1) * dimension > sample.length) {
        const larger = new Float32Array(Math.min(most * dimension, 2 * sample.length));
        larger.set(sample);
        sample = larger;
      }
      sample.set(vectors.subarray(start, start + dimension), place * dimension);
    }
  }
  return sample.subarray(0, Math.min(seen, most) * dimension);
}
