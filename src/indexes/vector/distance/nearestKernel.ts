/**
 * The nearest centroid of each of many vectors, as WebAssembly kernels. Of a vector x, the centroid c with the greatest score
 * x · c - |c|² / 2 is the nearest; by dot product, that with the greatest score x · c. Integers of 16 bits are multiplied
 * twice as fast as floats, so both are turned into these: first the mean of all centroids is taken off, which changes no
 * order; then each vector and each centroid is scaled by itself until its length is {@link INTEGER_LENGTH}, so that sums of
 * products fit in 32 bits. Of two centroids whose distances differ by less than some 1e-5 of the lengths, either may count as
 * the nearest. By dot product, vectors stay where they are: the mean is taken off the centroids only.
 *
 * Two vectors are measured from sixteen centroids at once, four of these to a vector of sums: they lie beside each other, two
 * values by two values. The memory of the kernels:
 *
 *     found       {@link PIECE_ROWS} times 32 bytes: for each of four lanes the greatest score, then the numbers of the centroids
 *     scales      {@link PIECE_ROWS} floats: what each vector is multiplied by
 *     values      {@link PIECE_BYTES} of vectors, filled up with zeros to whole steps of 8 values
 *     integers    half as much: the same as integers
 *     mean        what is taken off vectors, filled up likewise
 *     centroids   {@link CENTROID_BYTES} in groups: of 16 what one of their integers is in units of values, halves of their
 *                 squares, then their 16 first pairs of integers, and so on
 */

import {
  add,
  type Code,
  choose,
  constant,
  divideFloat64,
  float32OfFloat64,
  float64,
  floatsAbove,
  floatsOfWords,
  get,
  type Kernel,
  KernelUse,
  kernel,
  laneNumbers,
  largerFloat64,
  leaveWhen,
  loop,
  narrowWords,
  productsOfWords,
  rootOfFloat64,
  roundFloats,
  set,
  storeFloat32,
  subtract,
  sumOfLanes,
  vectorConstant,
  vectorLoad,
  vectorOfFloat,
  vectorOfFloat32,
  vectorOfWords,
  vectorStore,
} from "../../../bytes/wasm.js";

const PIECE_ROWS = 2048;
const PIECE_BYTES = 256 * 1024;
const CENTROID_BYTES = 16 * 1024 * 1024;
const GROUP = 16;
/** Bytes of one number, or of one pair of integers, of each centroid of a group. */
const GROUP_BYTES = GROUP * 4;
/** Values of a vector that are multiplied in a round: pairs, and what they are. */
const STEP_PAIRS = 4;
const STEP = 2 * STEP_PAIRS;
const INTEGER_LENGTH = 32_767;
/** Vectors that are shorter are not scaled up to it: no scale is infinite. */
const LEAST_SQUARES = 1e-30;

const FOUND = 0;
const FOUND_BYTES = 32;
const SCALES = FOUND + PIECE_ROWS * FOUND_BYTES;
const VALUES = SCALES + PIECE_ROWS * 4;
const INTEGERS = VALUES + PIECE_BYTES;
const MEAN = INTEGERS + PIECE_BYTES / 2;
const CENTROIDS = MEAN + PIECE_BYTES;
const PAGES = Math.ceil((CENTROIDS + CENTROID_BYTES) / 65_536);

const wordsOf = (words: readonly number[]): number[] => [...new Uint8Array(Int32Array.from(words).buffer)];

const LANES = [0, 1, 2, 3];
/** Vectors that are measured at once: each value of a centroid that is loaded serves all of them. */
const PAIR = ["a", "b"] as const;

/** Turns vectors into integers. */
const integersKernel = (memory: WebAssembly.Memory): Kernel | null =>
  kernel({
    parameters: ["rows", "steps", "rowBytes"],
    locals: ["value", "start", "mean", "target", "scale", "left"],
    vectors: ["sum", "low", "high", "factor"],
    doubles: ["by"],
    pages: memory,
    body: (local) => {
      const [value, start, mean, target] = ["value", "start", "mean", "target"].map(local);
      const [scale, left, rows, steps] = ["scale", "left", "rows", "steps"].map(local);
      const [sum, low, high, factor, by] = ["sum", "low", "high", "factor", "by"].map(local);
      const zeros = vectorConstant(new Array(16).fill(0));
      const floats = (operation: "add" | "subtract" | "multiply", one: Code, other: Code): Code =>
        laneNumbers("f32x4", operation, one, other);
      const halves = [low, high];
      const load = halves.map((half, index) =>
        set(half, floats("subtract", vectorLoad(get(value), index * 16), vectorLoad(get(mean), index * 16))),
      );
      const each = (body: Code): Code => [
        set(mean, constant(MEAN)),
        set(value, get(start)),
        set(left, get(steps)),
        loop(
          load,
          body,
          set(mean, add(get(mean), constant(STEP * 4))),
          set(value, add(get(value), constant(STEP * 4))),
          set(left, subtract(get(left), constant(1))),
          leaveWhen(0, get(left)),
        ),
      ];
      const squares = halves.map((half) =>
        set(sum, floats("add", get(sum), floats("multiply", get(half), get(half)))),
      );
      const scaled = halves.map((half) => roundFloats(floats("multiply", get(half), get(factor))));
      const length = rootOfFloat64(largerFloat64(sumOfLanes("f32x4", sum), float64(LEAST_SQUARES)));
      return [
        set(start, constant(VALUES)),
        set(target, constant(INTEGERS)),
        set(scale, constant(SCALES)),
        loop(
          set(sum, zeros),
          each(squares),
          set(by, divideFloat64(float64(INTEGER_LENGTH), length)),
          storeFloat32(get(scale), float32OfFloat64(get(by))),
          set(factor, vectorOfFloat32(float32OfFloat64(get(by)))),
          each([
            vectorStore(get(target), narrowWords(scaled[0], scaled[1])),
            set(target, add(get(target), constant(STEP * 2))),
          ]),
          set(start, add(get(start), get(local("rowBytes")))),
          set(scale, add(get(scale), constant(4))),
          set(rows, subtract(get(rows), constant(1))),
          leaveWhen(0, get(rows)),
        ),
      ];
    },
  });

const scoresKernel = (memory: WebAssembly.Memory): Kernel | null =>
  kernel({
    parameters: ["pairs", "groups", "steps", "rowBytes"],
    locals: ["pair", "value_a", "value_b", "first", "centroid", "left", "target", "scale"],
    vectors: [
      ...PAIR.flatMap((row) => [`factor_${row}`, ...LANES.map((lane) => `sum${lane}_${row}`)]),
      ...["own", "greatest", "place", "isGreater", "current", "number"],
    ],
    pages: memory,
    body: (local) => {
      const [pairs, groups, steps, rowBytes] = ["pairs", "groups", "steps", "rowBytes"].map(local);
      const [pair, first, centroid, left, target] = ["pair", "first", "centroid", "left", "target"].map(
        local,
      );
      const [greatest, position, current, number] = ["greatest", "place", "current", "number"].map(local);
      const [own, isGreater, scale] = ["own", "isGreater", "scale"].map(local);
      const rows = PAIR.map((row) => ({
        value: local(`value_${row}`),
        factor: local(`factor_${row}`),
        sums: LANES.map((lane) => local(`sum${lane}_${row}`)),
      }));
      const zeros = vectorConstant(new Array(16).fill(0));
      const multiply = Array.from(
        { length: STEP_PAIRS },
        (_, index): Code => [
          rows.map(({ factor, value }) => set(factor, vectorOfFloat(get(value), index * 4))),
          LANES.map((lane) => [
            set(own, vectorLoad(get(centroid), index * GROUP_BYTES + lane * 16)),
            rows.map(({ factor, sums }) => {
              const product = productsOfWords(get(factor), get(own));
              return set(sums[lane], laneNumbers("i32x4", "add", get(sums[lane]), product));
            }),
          ]),
        ],
      );
      const compare = ({ factor, sums }: (typeof rows)[number], index: number): Code => [
        set(greatest, vectorLoad(get(target), index * FOUND_BYTES)),
        set(position, vectorLoad(get(target), index * FOUND_BYTES + 16)),
        set(number, get(current)),
        set(factor, vectorOfFloat(get(scale), index * 4)),
        sums.map((sum, lane): Code => {
          const products = laneNumbers(
            "f32x4",
            "multiply",
            floatsOfWords(get(sum)),
            vectorLoad(get(first), lane * 16),
          );
          const half = vectorLoad(get(first), GROUP_BYTES + lane * 16);
          return [
            set(
              sum,
              laneNumbers("f32x4", "subtract", products, laneNumbers("f32x4", "multiply", half, get(factor))),
            ),
            set(isGreater, floatsAbove(get(sum), get(greatest))),
            set(greatest, choose(get(sum), get(greatest), get(isGreater))),
            set(position, choose(get(number), get(position), get(isGreater))),
            set(number, laneNumbers("i32x4", "add", get(number), vectorOfWords(4))),
          ];
        }),
        vectorStore(get(target), get(greatest), index * FOUND_BYTES),
        vectorStore(get(target), get(position), index * FOUND_BYTES + 16),
      ];
      const [a, b] = rows;
      const measurePair = [
        rows.map(({ sums }) => sums.map((sum) => set(sum, zeros))),
        set(centroid, add(get(first), constant(2 * GROUP_BYTES))),
        set(b.value, add(get(a.value), get(rowBytes))),
        set(left, get(steps)),
        loop(
          multiply,
          rows.map(({ value }) => set(value, add(get(value), constant(STEP_PAIRS * 4)))),
          set(centroid, add(get(centroid), constant(STEP_PAIRS * GROUP_BYTES))),
          set(left, subtract(get(left), constant(1))),
          leaveWhen(0, get(left)),
        ),
        // The next pair begins where the second vector ended.
        set(a.value, get(b.value)),
        rows.map(compare),
        set(target, add(get(target), constant(2 * FOUND_BYTES))),
        set(scale, add(get(scale), constant(2 * 4))),
      ];
      // Group by group, so that the centroids of one stay near while all vectors pass by.
      return [
        set(current, vectorConstant(wordsOf([0, 1, 2, 3]))),
        set(first, constant(CENTROIDS)),
        loop(
          set(a.value, constant(INTEGERS)),
          set(target, constant(FOUND)),
          set(scale, constant(SCALES)),
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

interface NearestKernels {
  readonly memory: ArrayBuffer;
  readonly integers: Kernel["run"];
  readonly scores: Kernel["run"];
}

function nearestKernels(): NearestKernels | null {
  // Where there are no kernels there may be no such memory either.
  if (typeof WebAssembly !== "object") return null;
  const memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES });
  const [integers, scores] = [integersKernel(memory), scoresKernel(memory)];
  return integers && scores && { memory: memory.buffer, integers: integers.run, scores: scores.run };
}

/** Only tests and benchmarks switch it off. */
export const nearestKernelUse = new KernelUse(nearestKernels);

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
  scores?: Float32Array,
): void {
  const { dimension } = centroids;
  const width = Math.ceil(dimension / STEP) * STEP;
  const groups = Math.ceil(centroids.values.length / dimension / GROUP);
  const hasRoom = groups * GROUP_BYTES * (2 + width / 2) <= CENTROID_BYTES && 2 * width * 4 <= PIECE_BYTES;
  const made = hasRoom ? nearestKernelUse.get() : null;
  if (made === null) findPlainly(centroids, values, nearest);
  else findInKernel(made, centroids, width, groups, values, nearest);
  if (scores !== undefined) fillScores(centroids, values, nearest, scores);
}

function findInKernel(
  { memory, ...kernels }: NearestKernels,
  centroids: Centroids,
  width: number,
  groups: number,
  values: Float32Array,
  nearest: Uint32Array,
): void {
  const { dimension } = centroids;
  load(memory, centroids, width, groups);
  const room = new Float32Array(memory, VALUES, PIECE_BYTES / 4);
  const sums = new Float32Array(memory, FOUND, PIECE_ROWS * 8);
  const places = new Uint32Array(memory, FOUND, PIECE_ROWS * 8);
  const pieceRows = Math.min(PIECE_ROWS, 2 * Math.floor(PIECE_BYTES / 8 / width));
  for (let start = 0; start < nearest.length; start += pieceRows) {
    const rows = Math.min(pieceRows, nearest.length - start);
    fill(room, values.subarray(start * dimension, (start + rows) * dimension), dimension, width);
    sums.set(NOTHING_FOUND.subarray(0, rows * 8));
    kernels.integers(rows, width / STEP, width * 4);
    kernels.scores(Math.ceil(rows / 2), groups, width / STEP, width * 2);
    for (let row = 0, first = 0; row < rows; row++, first += 8) {
      let index = first;
      for (let lane = first + 1; lane < first + 4; lane++) {
        if (sums[lane] > sums[index] || (sums[lane] === sums[index] && places[lane + 4] < places[index + 4]))
          index = lane;
      }
      nearest[start + row] = places[index + 4];
    }
  }
}

/** What is found before anything is compared: no score, and the first centroid. */
const NOTHING_FOUND = Float32Array.from({ length: PIECE_ROWS * 8 }, (_, index) =>
  index % 8 < 4 ? Number.NEGATIVE_INFINITY : 0,
);

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

function load(memory: ArrayBuffer, centroids: Centroids, width: number, groups: number): void {
  if (centroids.key === loadedKey) return;
  const { values, dimension, metric } = centroids;
  const count = values.length / dimension;
  const mean = meanOf(centroids);
  const takenOff = new Float32Array(memory, MEAN, width).fill(0);
  if (metric === "l2") takenOff.set(mean);
  const groupWords = GROUP * (2 + width / 2);
  const floats = new Float32Array(memory, CENTROIDS, groups * groupWords).fill(0);
  const integers = new Int16Array(memory, CENTROIDS, 2 * groups * groupWords);
  const own = new Float64Array(dimension);
  for (let which = 0; which < groups * GROUP; which++) {
    const start = Math.floor(which / GROUP) * groupWords + (which % GROUP);
    if (which >= count) {
      floats[start + GROUP] = Number.POSITIVE_INFINITY;
      continue;
    }
    let squares = 0;
    for (let index = 0; index < dimension; index++) {
      own[index] = values[which * dimension + index] - mean[index];
      squares += own[index] * own[index];
    }
    const unit = Math.sqrt(Math.max(squares, LEAST_SQUARES)) / INTEGER_LENGTH;
    floats[start] = unit;
    floats[start + GROUP] = metric === "l2" ? squares / 2 : 0;
    for (let index = 0; index < dimension; index++) {
      const pair = start + (2 + (index >>> 1)) * GROUP;
      integers[2 * pair + (index & 1)] = Math.round(own[index] / unit);
    }
  }
  loadedKey = centroids.key;
}

/** The mean of all centroids, as floats of 32 bits. */
function meanOf({ values, dimension }: Centroids): Float32Array {
  const sums = new Float64Array(dimension);
  for (let slot = 0; slot < values.length; ) {
    for (let index = 0; index < dimension; index++) sums[index] += values[slot++];
  }
  return Float32Array.from(sums, (sum) => (sum * dimension) / values.length);
}

/** Of centroids that were found. */
function fillScores(
  centroids: Centroids,
  values: Float32Array,
  nearest: Uint32Array,
  scores: Float32Array,
): void {
  const { values: numbers, dimension } = centroids;
  const halves = halfSquares(centroids);
  for (let row = 0, index = 0; row < nearest.length; row++) {
    let score = -halves[nearest[row]];
    for (let from = nearest[row] * dimension, end = from + dimension; from < end; from++, index++)
      score += values[index] * numbers[from];
    scores[row] = score;
  }
}

/** Halves of the squares of centroids; by dot product zeros. */
function halfSquares({ values, dimension, metric }: Centroids): Float64Array {
  const halves = new Float64Array(values.length / dimension);
  if (metric === "dot") return halves;
  for (let own = 0, slot = 0; own < halves.length; own++) {
    for (let index = 0; index < dimension; index++, slot++) halves[own] += (values[slot] * values[slot]) / 2;
  }
  return halves;
}

/** The same without a kernel, or for centroids that its memory has no room for. */
function findPlainly(centroids: Centroids, values: Float32Array, nearest: Uint32Array): void {
  const { values: numbers, dimension } = centroids;
  const halves = halfSquares(centroids);
  for (let row = 0; row < nearest.length; row++) {
    const from = row * dimension;
    let greatest = Number.NEGATIVE_INFINITY;
    for (let own = 0, slot = 0; own < halves.length; own++) {
      let score = -halves[own];
      for (let index = 0; index < dimension; index++) score += values[from + index] * numbers[slot++];
      if (score > greatest) {
        greatest = score;
        nearest[row] = own;
      }
    }
  }
}
