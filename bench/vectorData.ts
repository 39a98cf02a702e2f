/** Tables of vectors for benchmarks. */

import { Field, FixedSizeList, Float32, Int32, makeData, Table, Vector } from "apache-arrow";

export const DIMENSION = 128;
const CLUSTERS = 200;

/** Vectors, one behind the other. */
export interface VectorList {
  readonly values: Float32Array;
  readonly dimension: number;
}

/** Numbers from -1 to 1, the same for the same seed. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state / 2 ** 31;
  };
}

/** Vectors, one behind the other, in clusters as embeddings are. */
export function vectorsFrom(first: number, count: number): Float32Array {
  const centre = numbersFrom(7);
  const centres = Float32Array.from({ length: CLUSTERS * DIMENSION }, centre);
  const next = numbersFrom(first + 1);
  const values = new Float32Array(count * DIMENSION);
  for (let row = 0; row < count; row++) {
    const start = Math.floor(Math.abs(next()) * CLUSTERS) * DIMENSION;
    for (let index = 0; index < DIMENSION; index++) {
      values[row * DIMENSION + index] = centres[start + index] + next() * 0.4;
    }
  }
  return values;
}

/** Directions that embeddings have more of the earlier they come. */
const DIRECTIONS = 48;

/**
 * Vectors that are correlated and lie in clusters that run into each other, as embeddings of models do:
 * harder to index than those of {@link vectorsFrom}.
 */
export function embeddings(first: number, count: number): VectorList {
  const shared = numbersFrom(11);
  const directions = Float32Array.from({ length: DIRECTIONS * DIMENSION }, shared);
  const centres = Float32Array.from({ length: CLUSTERS * DIRECTIONS }, shared);
  const next = numbersFrom(first + 1);
  const values = new Float32Array(count * DIMENSION);
  for (let row = 0; row < count; row++) {
    const cluster = Math.floor(Math.abs(next()) * CLUSTERS) * DIRECTIONS;
    const vector = values.subarray(row * DIMENSION, (row + 1) * DIMENSION);
    for (let which = 0; which < DIRECTIONS; which++) {
      const weight = (centres[cluster + which] + next() * 1.2) / Math.sqrt(which + 1);
      for (let index = 0; index < DIMENSION; index++)
        vector[index] += weight * directions[which * DIMENSION + index];
    }
    for (let index = 0; index < DIMENSION; index++) vector[index] += next() * 0.1;
  }
  return { values, dimension: DIMENSION };
}

/** Rows with an id and a vector. */
export const rowsFrom = (first: number, count: number): Table =>
  tableOf(first, { values: vectorsFrom(first, count), dimension: DIMENSION });

/** A table of ids from `first` on, and of vectors. */
export function tableOf(first: number, { values, dimension }: VectorList): Table {
  const count = values.length / dimension;
  const type = new FixedSizeList(dimension, new Field("item", new Float32(), true));
  const child = makeData({ type: new Float32(), length: values.length, data: values });
  const vectors = makeData({ type, length: count, child });
  const ids = makeData({
    type: new Int32(),
    length: count,
    data: Int32Array.from({ length: count }, (_, row) => first + row),
  });
  return new Table({ id: new Vector([ids]), v: new Vector([vectors]) });
}

/** Gives one of 64 vectors after the other. */
export function queryVectors(): () => number[] {
  const queries = vectorsFrom(12_345, 64);
  let asked = 0;
  return () => {
    const start = (asked++ % 64) * DIMENSION;
    return [...queries.subarray(start, start + DIMENSION)];
  };
}
