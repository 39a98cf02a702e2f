/** Projects vectors to two dimensions in a worker: by principal components, and by UMAP. */

import { UMAP } from "umap-js";

/** A message to the page. */
export interface Projection {
  readonly kind: "pca" | "umap";
  /** Two numbers per vector. Null while the projection runs. */
  readonly points: Float32Array | null;
  /** Share of the work that is done, 0 to 1. */
  readonly progress: number;
}

type Order =
  | { readonly kind: "pca"; readonly dimension: number; readonly values: string }
  | { readonly kind: "umap" };

/** Rounds of the power iteration, which converges long before. */
const ROUNDS = 60;
/** Components that UMAP gets: more of them cost time, and noise is in the last. */
const COMPONENTS = 32;

const scope = self as unknown as {
  postMessage(message: Projection): void;
  onmessage: ((event: MessageEvent<Order>) => void) | null;
};

let centred: Float32Array[] = [];

scope.onmessage = ({ data }) => {
  if (data.kind === "umap") return runUmap();
  centred = centre(decode(data.values, data.dimension));
  const scores = components(centred, 2);
  scope.postMessage({ kind: "pca", points: interleave(scores), progress: 1 });
  return undefined;
};

function decode(text: string, dimension: number): Float32Array[] {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const rows: Float32Array[] = [];
  for (let start = 0; start + dimension * 4 <= bytes.length && dimension > 0; start += dimension * 4) {
    const row = new Float32Array(dimension);
    for (let index = 0; index < dimension; index++) {
      const value = view.getFloat32(start + index * 4, true);
      row[index] = Number.isFinite(value) ? value : 0;
    }
    rows.push(row);
  }
  return rows;
}

function centre(rows: readonly Float32Array[]): Float32Array[] {
  const dimension = rows[0]?.length ?? 0;
  const mean = new Float64Array(dimension);
  for (const row of rows)
    for (let index = 0; index < dimension; index++) mean[index] += row[index] / rows.length;
  return rows.map((row) => row.map((value, index) => value - mean[index]));
}

/** Returns the scores of the rows on the first principal components, by power iteration with deflation. */
function components(rows: readonly Float32Array[], count: number): Float64Array[] {
  const dimension = rows[0]?.length ?? 0;
  const axes: Float64Array[] = [];
  const scores: Float64Array[] = [];
  for (let component = 0; component < Math.min(count, dimension); component++) {
    let axis: Float64Array = Float64Array.from(
      { length: dimension },
      (_, index) => Math.sin(index * 12.9898 + component * 78.233) + 0.01,
    );
    for (let round = 0; round < ROUNDS; round++) {
      orthogonalize(axis, axes);
      const next = new Float64Array(dimension);
      for (const row of rows) {
        const score = dot(row, axis);
        for (let index = 0; index < dimension; index++) next[index] += score * row[index];
      }
      orthogonalize(next, axes);
      if (normalize(next) === 0) break;
      const change = 1 - Math.abs(dot(next, axis) / (Math.sqrt(dot(axis, axis)) || 1));
      axis = next;
      if (change < 1e-6) break;
    }
    axes.push(axis);
    scores.push(Float64Array.from(rows, (row) => dot(row, axis)));
  }
  return scores;
}

function dot(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 0; index < right.length; index++) sum += left[index] * right[index];
  return sum;
}

function orthogonalize(axis: Float64Array, axes: readonly Float64Array[]): void {
  for (const each of axes) {
    const share = dot(axis, each);
    for (let index = 0; index < axis.length; index++) axis[index] -= share * each[index];
  }
}

function normalize(axis: Float64Array): number {
  const length = Math.sqrt(dot(axis, axis));
  if (length > 0) for (let index = 0; index < axis.length; index++) axis[index] /= length;
  return length;
}

function interleave(scores: readonly Float64Array[]): Float32Array {
  const [first = new Float64Array(centred.length), second = new Float64Array(first.length)] = scores;
  const points = new Float32Array(first.length * 2);
  for (let row = 0; row < first.length; row++) {
    points[row * 2] = first[row];
    points[row * 2 + 1] = second[row];
  }
  return points;
}

/** A small generator of numbers, so that a map looks the same each time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function runUmap(): void {
  const neighbours = Math.min(15, centred.length - 1);
  if (neighbours < 2) {
    scope.postMessage({ kind: "umap", points: interleave(components(centred, 2)), progress: 1 });
    return;
  }
  const reduced = components(centred, COMPONENTS);
  const rows = centred.map((_, row) => reduced.map((scores) => scores[row]));
  const umap = new UMAP({ nNeighbors: neighbours, minDist: 0.1, random: seeded(42) });
  const epochs = umap.initializeFit(rows);
  for (let epoch = 0; epoch < epochs; epoch++) {
    umap.step();
    if (epoch % 20 === 0) scope.postMessage({ kind: "umap", points: null, progress: epoch / epochs });
  }
  scope.postMessage({ kind: "umap", points: Float32Array.from(umap.getEmbedding().flat()), progress: 1 });
}
