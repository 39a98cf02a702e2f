/**
 * Vectors as models make them; each shape is hard for an index in its own way. Equal seeds give equal
 * vectors.
 */

import { FixedSizeList, Float32, Int32, makeData, Table, Vector } from "apache-arrow";
import { fieldOf } from "./arrowColumns.js";
import { randomNumbers } from "./vectorTables.js";

/** Numbers from 0 to 1, and normally distributed ones. */
interface Chance {
  uniform(): number;
  normal(): number;
}

function chanceOf(seed: number): Chance {
  const uniform = randomNumbers(seed * 7919 + 17);
  // The first numbers of near seeds are similar.
  for (let skipped = 0; skipped < 16; skipped++) uniform();
  return {
    uniform,
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
  };
}

/** Writes one vector into zeroed memory. */
type Draw = (vector: Float32Array, isQuery: boolean) => void;
/** Draws the common parameters of all vectors, and returns the function that draws one. */
type World = (dimension: number, chance: Chance) => Draw;

const normals = (length: number, { normal }: Chance): Float32Array => Float32Array.from({ length }, normal);

/** Clusters with distant centres. */
const clustered: World = (dimension, chance) => {
  const count = 60;
  const centres = normals(count * dimension, chance);
  return (vector) => {
    const start = Math.floor(chance.uniform() * count) * dimension;
    for (let index = 0; index < dimension; index++)
      vector[index] = centres[start + index] + 0.6 * chance.normal();
  };
};

/** Overlapping clusters whose directions have unequal variance. */
const correlated: World = (dimension, chance) => {
  const directions = Math.ceil(dimension / 2);
  const clusters = 50;
  const along = normals(directions * dimension, chance);
  const centres = normals(clusters * directions, chance);
  return (vector) => {
    const start = Math.floor(chance.uniform() * clusters) * directions;
    for (let which = 0; which < directions; which++) {
      const weight = (centres[start + which] + chance.normal()) / Math.sqrt(which + 1);
      for (let index = 0; index < dimension; index++)
        vector[index] += weight * along[which * dimension + index];
    }
    for (let index = 0; index < dimension; index++) vector[index] += 0.1 * chance.normal();
  };
};

/** Clusters whose largest vectors are many times as long as the smallest. */
const unnormalised: World = (dimension, chance) => {
  const draw = correlated(dimension, chance);
  return (vector, isQuery) => {
    draw(vector, isQuery);
    const length = Math.exp(0.6 * chance.normal());
    for (let index = 0; index < dimension; index++) vector[index] *= length;
  };
};

/** A cone away from the origin, with a few much larger values. */
const anisotropic: World = (dimension, chance) => {
  const draw = correlated(dimension, chance);
  const mean = normals(dimension, chance);
  const scales = Float32Array.from({ length: dimension }, () => (chance.uniform() < 0.05 ? 12 : 1));
  return (vector, isQuery) => {
    draw(vector, isQuery);
    for (let index = 0; index < dimension; index++)
      vector[index] = scales[index] * (vector[index] + 4 * mean[index]);
  };
};

/** A curved surface of a few dimensions. */
const curved: World = (dimension, chance) => {
  const degrees = 5;
  const turns = normals(degrees * dimension, chance);
  const phases = Float32Array.from({ length: dimension }, () => 2 * Math.PI * chance.uniform());
  return (vector) => {
    const center = normals(degrees, chance);
    for (let index = 0; index < dimension; index++) {
      let angle = phases[index];
      for (let degree = 0; degree < degrees; degree++)
        angle += center[degree] * turns[degree * dimension + index];
      vector[index] = Math.sin(angle) + 0.02 * chance.normal();
    }
  };
};

/** Few texts repeated: many vectors are equal or nearly equal. */
const repeated: World = (dimension, chance) => {
  const draw = correlated(dimension, chance);
  const earlier: Float32Array[] = [];
  return (vector, isQuery) => {
    if (earlier.length > 0 && chance.uniform() < 0.6) {
      // Prefers earlier ones.
      vector.set(earlier[Math.floor(earlier.length * chance.uniform() ** 3)]);
      if (isQuery || chance.uniform() < 0.3)
        vector.forEach((value, index) => void (vector[index] = value + 0.02 * chance.normal()));
      return;
    }
    draw(vector, isQuery);
    earlier.push(vector.slice());
  };
};

/** No value is below 0, and most are 0. */
const sparse: World = (dimension, chance) => {
  const draw = correlated(dimension, chance);
  return (vector, isQuery) => {
    draw(vector, isQuery);
    for (let index = 0; index < dimension; index++) vector[index] = Math.max(0, vector[index] - 1.5);
  };
};

/** Uniform noise: no index can exploit it. */
const shapeless: World = (_dimension, chance) => (vector) => {
  for (let index = 0; index < vector.length; index++) vector[index] = chance.normal();
};

/** Queries from another distribution than the rows, as of another model or kind of text. */
const elsewhere: World = (dimension, chance) => {
  const [rows, queries] = [correlated(dimension, chance), correlated(dimension, chance)];
  return (vector, isQuery) => {
    rows(vector, false);
    if (!isQuery) return;
    const noise = new Float32Array(dimension);
    queries(noise, true);
    for (let index = 0; index < dimension; index++) vector[index] = 0.5 * (vector[index] + noise[index]);
  };
};

export const EMBEDDING_SHAPES = {
  ...{ clustered, correlated, unnormalised, anisotropic, curved },
  ...{ repeated, sparse, shapeless, elsewhere },
} as const;
export type EmbeddingShape = keyof typeof EMBEDDING_SHAPES;

export interface Embeddings {
  readonly dimension: number;
  /** Concatenated. */
  readonly rows: Float32Array;
  readonly queries: Float32Array;
}

export function drawEmbeddings(
  shape: EmbeddingShape,
  dimension: number,
  rowCount: number,
  queryCount: number,
  seed: number,
): Embeddings {
  const draw = EMBEDDING_SHAPES[shape](dimension, chanceOf(seed));
  const all = (count: number, areQueries: boolean): Float32Array => {
    const values = new Float32Array(count * dimension);
    for (let index = 0; index < values.length; index += dimension)
      draw(values.subarray(index, index + dimension), areQueries);
    return values;
  };
  return { dimension, rows: all(rowCount, false), queries: all(queryCount, true) };
}

/** Table with the vectors as `v` and their numbers as `id`. */
export function embeddingTable({ dimension, rows }: Embeddings): Table {
  const length = rows.length / dimension;
  const type = new FixedSizeList(dimension, fieldOf("item", new Float32()));
  const child = makeData({ type: new Float32(), length: rows.length, data: rows });
  const ids = Int32Array.from({ length }, (_, row) => row);
  return new Table({
    id: new Vector([makeData({ type: new Int32(), length, data: ids })]),
    v: new Vector([makeData({ type, length, child })]),
  });
}
