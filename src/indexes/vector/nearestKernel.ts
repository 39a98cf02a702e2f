/**
 * The nearest centroid of each of many vectors, as a WebAssembly kernel. Of a vector x, the centroid c with the greatest
 * x · c - |c|² / 2 is the nearest; by dot product, that with the greatest x · c. Sixteen centroids are measured at once, four
 * to a vector of sums: they lie value by value beside each other. The memory of the kernel:
 *
 *     found       {@link PIECE_ROWS} times 32 bytes: for each of four lanes the greatest sum, then the numbers of the centroids
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
} from "../../bytes/wasm.js";

const PIECE_ROWS = 2048;
const PIECE_BYTES = 512 * 1024;
const CENTROID_BYTES = 16 * 1024 * 1024;
const GROUP = 16;
const GROUP_BYTES = GROUP * 4;
/** Values of a vector that are multiplied in a round. */
const STEP = 4;

const FOUND = 0;
const VALUES = FOUND + PIECE_ROWS * 32;
const CENTROIDS = VALUES + PIECE_BYTES;
const PAGES = (CENTROIDS + CENTROID_BYTES) / 65_536;

const wordsOf = (words: readonly number[]): number[] => [...new Uint8Array(Int32Array.from(words).buffer)];

const nearestKernel = (): Kernel | null =>
  kernel({
    parameters: ["rows", "groups", "steps"],
    locals: ["row", "value", "first", "centroid", "left", "target"],
    vectors: [
      ...["sum0", "sum1", "sum2", "sum3", "factor", "greatest", "place", "isGreater"],
      ...["current", "number"],
    ],
    pages: PAGES,
    body: (local) => {
      const [rows, groups, steps, row, value] = ["rows", "groups", "steps", "row", "value"].map(local);
      const [first, centroid, left, target] = ["first", "centroid", "left", "target"].map(local);
      const [greatest, place, current, number] = ["greatest", "place", "current", "number"].map(local);
      const [factor, isGreater] = ["factor", "isGreater"].map(local);
      const sums = [0, 1, 2, 3].map((lane) => local(`sum${lane}`));
      const multiply = Array.from(
        { length: STEP },
        (_, index): Code => [
          set(factor, vectorOfFloat(get(value), index * 4)),
          sums.map((sum, lane) => {
            const own = vectorLoad(get(centroid), index * GROUP_BYTES + lane * 16);
            return set(
              sum,
              laneNumbers("f32x4", "add", get(sum), laneNumbers("f32x4", "multiply", get(factor), own)),
            );
          }),
        ],
      );
      const compare = sums.map(
        (sum): Code => [
          set(isGreater, floatsAbove(get(sum), get(greatest))),
          set(greatest, choose(get(sum), get(greatest), get(isGreater))),
          set(place, choose(get(number), get(place), get(isGreater))),
          set(number, laneNumbers("i32x4", "add", get(number), vectorOfWords(4))),
        ],
      );
      // Group by group, so that the centroids of one stay near while all vectors pass by.
      return [
        set(current, vectorConstant(wordsOf([0, 1, 2, 3]))),
        set(first, constant(CENTROIDS)),
        loop(
          set(value, constant(VALUES)),
          set(target, constant(FOUND)),
          set(row, get(rows)),
          loop(
            sums.map((sum, lane) => set(sum, vectorLoad(get(first), lane * 16))),
            set(centroid, add(get(first), constant(GROUP_BYTES))),
            set(left, get(steps)),
            loop(
              multiply,
              set(value, add(get(value), constant(STEP * 4))),
              set(centroid, add(get(centroid), constant(STEP * GROUP_BYTES))),
              set(left, subtract(get(left), constant(1))),
              leaveWhen(0, get(left)),
            ),
            set(greatest, vectorLoad(get(target))),
            set(place, vectorLoad(get(target), 16)),
            set(number, get(current)),
            compare,
            vectorStore(get(target), get(greatest)),
            vectorStore(get(target), get(place), 16),
            set(target, add(get(target), constant(32))),
            set(row, subtract(get(row), constant(1))),
            leaveWhen(0, get(row)),
          ),
          set(current, get(number)),
          // The last vector left off where the next group begins.
          set(first, get(centroid)),
          set(groups, subtract(get(groups), constant(1))),
          leaveWhen(0, get(groups)),
        ),
      ];
    },
  });

/** Only tests and benchmarks switch it off. */
export const nearestKernelUse = new KernelUse(nearestKernel);

/** Centroids in the memory of the kernel. */
export interface LoadedCentroids {
  /**
   * Finds the nearest centroid of each of some vectors.
   * @param nearest gets their numbers; of several, the first
   * @param distances gets the distances, squared; by dot product 1 - the product
   */
  find(values: Float32Array, rowCount: number, nearest: Uint32Array, distances: Float32Array): void;
}

/**
 * Loads centroids. They stay until others are loaded: nothing else may run in between.
 * @returns null where there are no kernels, and for centroids that are too many, or too few for a gain
 */
export function loadCentroids(
  centroids: Float32Array,
  dimension: number,
  metric: "l2" | "dot",
): LoadedCentroids | null {
  const count = centroids.length / dimension;
  const width = Math.ceil(dimension / STEP) * STEP;
  const groups = Math.ceil(count / GROUP);
  const groupFloats = GROUP * (1 + width);
  if (count < GROUP / 2 || groups * groupFloats * 4 > CENTROID_BYTES || width * 4 > PIECE_BYTES) return null;
  const made = nearestKernelUse.get();
  if (made === null) return null;
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
      const value = centroids[own * dimension + index];
      floats[start + (1 + index) * GROUP] = value;
      squares += value * value;
    }
    floats[start] = metric === "l2" ? -squares / 2 : 0;
  }
  const room = new Float32Array(made.memory, VALUES, PIECE_BYTES / 4);
  const sums = new Float32Array(made.memory, FOUND, PIECE_ROWS * 8);
  const places = new Uint32Array(made.memory, FOUND, PIECE_ROWS * 8);
  const pieceRows = Math.min(PIECE_ROWS, Math.floor(PIECE_BYTES / 4 / width));

  function takeFound(
    values: Float32Array,
    first: number,
    rows: number,
    nearest: Uint32Array,
    distances: Float32Array,
  ): void {
    for (let row = 0; row < rows; row++) {
      let at = row * 8;
      for (let lane = at + 1; lane < row * 8 + 4; lane++) {
        if (sums[lane] > sums[at] || (sums[lane] === sums[at] && places[lane + 4] < places[at + 4]))
          at = lane;
      }
      nearest[first + row] = places[at + 4];
      if (metric === "dot") {
        distances[first + row] = 1 - sums[at];
        continue;
      }
      let squares = 0;
      for (let index = (first + row) * dimension; index < (first + row + 1) * dimension; index++) {
        squares += values[index] * values[index];
      }
      // What is left of the difference of large numbers may be a little below 0.
      distances[first + row] = Math.max(0, squares - 2 * sums[at]);
    }
  }

  return {
    find(values, rowCount, nearest, distances) {
      for (let start = 0; start < rowCount; start += pieceRows) {
        const rows = Math.min(pieceRows, rowCount - start);
        if (width === dimension) {
          room.set(values.subarray(start * dimension, (start + rows) * dimension));
        } else {
          for (let row = 0; row < rows; row++) {
            const from = (start + row) * dimension;
            room.set(values.subarray(from, from + dimension), row * width);
            room.fill(0, row * width + dimension, (row + 1) * width);
          }
        }
        for (let row = 0; row < rows; row++) {
          sums.fill(Number.NEGATIVE_INFINITY, row * 8, row * 8 + 4);
          places.fill(0, row * 8 + 4, row * 8 + 8);
        }
        made.run(rows, groups, width / STEP);
        takeFound(values, start, rows, nearest, distances);
      }
    },
  };
}
