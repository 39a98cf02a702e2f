/**
 * The nearest centroid of each of many vectors, as a WebAssembly kernel. Of a vector x, the centroid c with the greatest score
 * x · c - |c|² / 2 is the nearest; by dot product, that with the greatest score x · c. Two vectors are measured from sixteen
 * centroids at once, four of these to a vector of sums: they lie value by value beside each other. The memory of the kernel:
 *
 *     found       {@link PIECE_ROWS} times 32 bytes: for each of four lanes the greatest score, then the numbers of the centroids
 *     values      {@link PIECE_BYTES} of vectors, filled up with zeros to whole steps of 4 values
 *     centroids   {@link CENTROID_BYTES} in groups: what the 16 sums begin with, then the 16 first values, and so on
 */

import {
  add,
  type Code,
  choose,
  constant,
  floatsAbove,
  get,
  type Kernel,
  KernelUse,
  kernel,
  laneNumbers,
  leaveWhen,
  loop,
  set,
  subtract,
  vectorConstant,
  vectorLoad,
  vectorOfFloat,
  vectorOfWords,
  vectorStore,
} from "../../../bytes/wasm.js";

const PIECE_ROWS = 2048;
const PIECE_BYTES = 512 * 1024;
const CENTROID_BYTES = 16 * 1024 * 1024;
const GROUP = 16;
const GROUP_BYTES = GROUP * 4;
/** Values of a vector that are multiplied in a round. */
const STEP = 4;

const FOUND = 0;
const FOUND_BYTES = 32;
const VALUES = FOUND + PIECE_ROWS * FOUND_BYTES;
const CENTROIDS = VALUES + PIECE_BYTES;
const PAGES = (CENTROIDS + CENTROID_BYTES) / 65_536;

const wordsOf = (words: readonly number[]): number[] => [...new Uint8Array(Int32Array.from(words).buffer)];

const LANES = [0, 1, 2, 3];
/** Vectors that are measured at once: each value of a centroid that is loaded serves all of them. */
const PAIR = ["a", "b"] as const;

const nearestKernel = (): Kernel | null =>
  kernel({
    parameters: ["pairs", "groups", "steps", "rowBytes"],
    locals: ["pair", "value_a", "value_b", "first", "centroid", "left", "target"],
    vectors: [
      ...PAIR.flatMap((row) => [`factor_${row}`, ...LANES.map((lane) => `sum${lane}_${row}`)]),
      ...["own", "greatest", "place", "isGreater", "current", "number"],
    ],
    pages: PAGES,
    body: (local) => {
      const [pairs, groups, steps, rowBytes] = ["pairs", "groups", "steps", "rowBytes"].map(local);
      const [pair, first, centroid, left, target] = ["pair", "first", "centroid", "left", "target"].map(
        local,
      );
      const [greatest, place, current, number] = ["greatest", "place", "current", "number"].map(local);
      const [own, isGreater] = ["own", "isGreater"].map(local);
      const rows = PAIR.map((row) => ({
        value: local(`value_${row}`),
        factor: local(`factor_${row}`),
        sums: LANES.map((lane) => local(`sum${lane}_${row}`)),
      }));
      const multiply = Array.from(
        { length: STEP },
        (_, index): Code => [
          rows.map(({ factor, value }) => set(factor, vectorOfFloat(get(value), index * 4))),
          LANES.map((lane) => [
            set(own, vectorLoad(get(centroid), index * GROUP_BYTES + lane * 16)),
            rows.map(({ factor, sums }) => {
              const product = laneNumbers("f32x4", "multiply", get(factor), get(own));
              return set(sums[lane], laneNumbers("f32x4", "add", get(sums[lane]), product));
            }),
          ]),
        ],
      );
      const compare = (sums: readonly number[], offset: number): Code => [
        set(greatest, vectorLoad(get(target), offset)),
        set(place, vectorLoad(get(target), offset + 16)),
        set(number, get(current)),
        sums.map(
          (sum): Code => [
            set(isGreater, floatsAbove(get(sum), get(greatest))),
            set(greatest, choose(get(sum), get(greatest), get(isGreater))),
            set(place, choose(get(number), get(place), get(isGreater))),
            set(number, laneNumbers("i32x4", "add", get(number), vectorOfWords(4))),
          ],
        ),
        vectorStore(get(target), get(greatest), offset),
        vectorStore(get(target), get(place), offset + 16),
      ];
      const [a, b] = rows;
      const measurePair = [
        rows.map(({ sums }) => sums.map((sum, lane) => set(sum, vectorLoad(get(first), lane * 16)))),
        set(centroid, add(get(first), constant(GROUP_BYTES))),
        set(b.value, add(get(a.value), get(rowBytes))),
        set(left, get(steps)),
        loop(
          multiply,
          rows.map(({ value }) => set(value, add(get(value), constant(STEP * 4)))),
          set(centroid, add(get(centroid), constant(STEP * GROUP_BYTES))),
          set(left, subtract(get(left), constant(1))),
          leaveWhen(0, get(left)),
        ),
        // The next pair begins where the second vector ended.
        set(a.value, get(b.value)),
        rows.map(({ sums }, place) => compare(sums, place * FOUND_BYTES)),
        set(target, add(get(target), constant(2 * FOUND_BYTES))),
      ];
      // Group by group, so that the centroids of one stay near while all vectors pass by.
      return [
        set(current, vectorConstant(wordsOf([0, 1, 2, 3]))),
        set(first, constant(CENTROIDS)),
        loop(
          set(a.value, constant(VALUES)),
          set(target, constant(FOUND)),
          set(pair, get(pairs)),
          loop(measurePair, set(pair, subtract(get(pair), constant(1))), leaveWhen(0, get(pair))),
          set(current, get(number)),
          // The last pair left off where the next group begins.
          set(first, get(centroid)),
          set(groups, subtract(get(groups), constant(1))),
          leaveWhen(0, get(groups)),
        ),
      ];
    },
  });

/** Only tests and benchmarks switch it off. */
export const nearestKernelUse = new KernelUse(nearestKernel);

/** What vectors are measured from. */
export interface Centroids {
  /** One behind the other. They do not change. */
  readonly values: Float32Array;
  readonly dimension: number;
  /** Of integers that no others have: those that are loaded are not loaded again. */
  readonly key: number;
  readonly metric: "l2" | "dot";
}

/**
 * Finds the nearest centroid of each of some vectors.
 * @param values one vector behind the other
 * @param nearest gets their numbers; of several, the first
 * @param scores gets half of what is to be taken off the vector's square for the squared distance; by dot product the product
 */
export function findNearest(
  centroids: Centroids,
  values: Float32Array,
  nearest: Uint32Array,
  scores: Float32Array,
): void {
  const { dimension } = centroids;
  const width = Math.ceil(dimension / STEP) * STEP;
  const groups = Math.ceil(centroids.values.length / dimension / GROUP);
  const hasRoom = groups * GROUP * (1 + width) * 4 <= CENTROID_BYTES && 2 * width * 4 <= PIECE_BYTES;
  const made = hasRoom ? nearestKernelUse.get() : null;
  if (made === null) {
    findPlainly(centroids, values, nearest, scores);
    return;
  }
  load(made, centroids, width, groups);
  const room = new Float32Array(made.memory, VALUES, PIECE_BYTES / 4);
  const sums = new Float32Array(made.memory, FOUND, PIECE_ROWS * 8);
  const places = new Uint32Array(made.memory, FOUND, PIECE_ROWS * 8);
  const pieceRows = Math.min(PIECE_ROWS, 2 * Math.floor(PIECE_BYTES / 8 / width));
  for (let start = 0; start < nearest.length; start += pieceRows) {
    const rows = Math.min(pieceRows, nearest.length - start);
    fill(room, values.subarray(start * dimension, (start + rows) * dimension), dimension, width);
    for (let at = 0; at < rows * 8; at += 8) {
      sums.fill(Number.NEGATIVE_INFINITY, at, at + 4);
      places.fill(0, at + 4, at + 8);
    }
    made.run(Math.ceil(rows / 2), groups, width / STEP, width * 4);
    for (let row = 0, first = 0; row < rows; row++, first += 8) {
      let at = first;
      for (let lane = first + 1; lane < first + 4; lane++) {
        if (sums[lane] > sums[at] || (sums[lane] === sums[at] && places[lane + 4] < places[at + 4]))
          at = lane;
      }
      nearest[start + row] = places[at + 4];
      scores[start + row] = sums[at];
    }
  }
}

/** Puts vectors into the memory of the kernel. */
function fill(room: Float32Array, values: Float32Array, dimension: number, width: number): void {
  if (width === dimension) {
    room.set(values);
    return;
  }
  for (let from = 0, to = 0; from < values.length; from += dimension, to += width) {
    room.set(values.subarray(from, from + dimension), to);
    room.fill(0, to + dimension, to + width);
  }
}

/** Which centroids lie in the memory of the kernel. */
let loadedKey: number | null = null;

function load(made: Kernel, centroids: Centroids, width: number, groups: number): void {
  if (centroids.key === loadedKey) return;
  const { values, dimension, metric } = centroids;
  const count = values.length / dimension;
  const groupFloats = GROUP * (1 + width);
  const floats = new Float32Array(made.memory, CENTROIDS, groups * groupFloats);
  floats.fill(0);
  for (let own = 0; own < groups * GROUP; own++) {
    const start = Math.floor(own / GROUP) * groupFloats + (own % GROUP);
    if (own >= count) {
      floats[start] = Number.NEGATIVE_INFINITY;
      continue;
    }
    let squares = 0;
    for (let index = 0; index < dimension; index++) {
      const value = values[own * dimension + index];
      floats[start + (1 + index) * GROUP] = value;
      squares += value * value;
    }
    floats[start] = metric === "l2" ? -squares / 2 : 0;
  }
  loadedKey = centroids.key;
}

/** The same without a kernel, or for centroids that its memory has no room for. */
function findPlainly(
  { values: centroids, dimension, metric }: Centroids,
  values: Float32Array,
  nearest: Uint32Array,
  scores: Float32Array,
): void {
  const halves = new Float64Array(centroids.length / dimension);
  if (metric === "l2") {
    for (let at = 0; at < centroids.length; at++) {
      halves[Math.floor(at / dimension)] += centroids[at] ** 2 / 2;
    }
  }
  for (let row = 0; row < nearest.length; row++) {
    const from = row * dimension;
    let greatest = Number.NEGATIVE_INFINITY;
    for (let own = 0, at = 0; own < halves.length; own++) {
      let score = -halves[own];
      for (let index = 0; index < dimension; index++) score += values[from + index] * centroids[at++];
      if (score > greatest) {
        greatest = score;
        nearest[row] = own;
      }
    }
    scores[row] = greatest;
  }
}
