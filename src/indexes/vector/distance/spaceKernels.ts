/**
 * Kernels that measure vectors which lie in their memory from each other (vectorSpace.ts). Several threads can have the same
 * memory: each has a lane of its own in it.
 *
 *     lanes      each {@link MAX_ASKED} addresses of vectors; a float of 64 bits for each; how many were chosen, and their
 *                places; the addresses of these
 *     vectors    one behind the other, each filled up with zeros to whole steps
 *
 * A step is 32 bytes: 8 floats or 32 integers of 8 bits.
 */

import {
  add,
  and,
  atMostFloat64,
  below,
  block,
  type Code,
  constant,
  equal,
  get,
  type Kernel,
  kernel,
  laneNumbers,
  leave,
  leaveWhen,
  load,
  loadFloat64,
  loadWidened,
  loop,
  type NumberShape,
  or,
  productsOfWords,
  set,
  shiftLeft,
  store,
  storeFloat64,
  subtract,
  subtractWords,
  sumOfLanes,
  vectorConstant,
  vectorLoad,
  when,
} from "../../../bytes/wasm.js";

/** Vectors whose distances are asked for at once. */
export const MAX_ASKED = 4096;
const STEP_BYTES = 32;
/** In a lane. */
export const SUMS = MAX_ASKED * 4;
export const CHOSEN = SUMS + MAX_ASKED * 8;
const CHOSEN_PLACES = CHOSEN + 4;
const CHOSEN_ADDRESSES = CHOSEN_PLACES + MAX_ASKED * 4;
export const LANE_BYTES = CHOSEN + MAX_ASKED * 8 + STEP_BYTES;
/** Steps of a vector that are written out; of more there is a loop. */
const MOST_IN_LINE = 64;
const LINE_BYTES = 64;
/** Bytes of a vector that are brought near before it is measured. */
const TOUCHED_BYTES = 512;

export interface SpaceOptions {
  readonly item: "float32" | "uint8";
  /** Of integers l2 only. */
  readonly metric: "l2" | "dot";
  readonly dimension: number;
  readonly rowCount: number;
}

export const rowBytesOf = ({ item, dimension }: SpaceOptions): number =>
  Math.ceil((dimension * (item === "float32" ? 4 : 1)) / STEP_BYTES) * STEP_BYTES;

const shapeOf = ({ item }: SpaceOptions): NumberShape => (item === "float32" ? "f32x4" : "i32x4");
/** Locals that {@link products} takes, besides `own`, `at` and `left`. */
export const VECTORS = ["sum0", "sum1", "value0", "value1"];

/**
 * Adds up into `sum0` what the vectors at two addresses make: the squares of their differences, or their products. What lies
 * in `own`, `at` and `left` is changed.
 */
export function products(options: SpaceOptions, local: (name: string) => number): Code {
  const { item, metric } = options;
  const shape = shapeOf(options);
  const steps = rowBytesOf(options) / STEP_BYTES;
  const [own, index, left] = ["own", "at", "left"].map(local);
  const addTo = (sum: number, what: Code): Code => set(sum, laneNumbers(shape, "add", get(sum), what));
  /** What 16 bytes add to a sum. */
  const term = (step: number, half: 0 | 1): Code => {
    const [sum, value] = [local(`sum${half}`), local(`value${half}`)];
    const offset = step * STEP_BYTES + half * 16;
    if (item === "uint8") {
      const differences = (start: number): Code => [
        set(value, subtractWords(loadWidened(get(index), start), loadWidened(get(own), start))),
        addTo(sum, productsOfWords(get(value), get(value))),
      ];
      return [differences(offset), differences(offset + 8)];
    }
    const mine = vectorLoad(get(own), offset);
    const theirs = vectorLoad(get(index), offset);
    if (metric === "dot") return addTo(sum, laneNumbers(shape, "multiply", theirs, mine));
    return [
      set(value, laneNumbers(shape, "subtract", theirs, mine)),
      addTo(sum, laneNumbers(shape, "multiply", get(value), get(value))),
    ];
  };
  const stepsPerRound = steps <= MOST_IN_LINE ? steps : 1;
  const round = Array.from({ length: stepsPerRound }, (_, step) => [term(step, 0), term(step, 1)]);
  const zeros = vectorConstant(new Array(16).fill(0));
  return [
    [set(local("sum0"), zeros), set(local("sum1"), zeros)],
    stepsPerRound === steps
      ? round
      : [
          set(left, constant(steps)),
          loop(
            round,
            set(index, add(get(index), constant(STEP_BYTES))),
            set(own, add(get(own), constant(STEP_BYTES))),
            set(left, subtract(get(left), constant(1))),
            leaveWhen(0, get(left)),
          ),
        ],
    addTo(local("sum0"), get(local("sum1"))),
  ];
}

/**
 * Vectors lie anywhere in memory: loads that nothing waits for bring all of them near at once.
 * @param into a local that something has to be done with, else the loads might be left out
 * @param at a local with the address of a vector
 */
export const touch = (options: SpaceOptions, into: number, index: number): Code =>
  Array.from({ length: Math.ceil(Math.min(rowBytesOf(options), TOUCHED_BYTES) / LINE_BYTES) }, (_, line) =>
    set(into, or(get(into), load(get(index), line * LINE_BYTES))),
  );

/** Measures the vectors at the addresses of a lane from one: a sum for each. */
export function measureKernel(options: SpaceOptions, pages: WebAssembly.Memory): Kernel | null {
  return kernel({
    parameters: ["row", "count", "lane"],
    locals: ["place", "target", "at", "own", "left"],
    vectors: VECTORS,
    pages,
    body: (local) => {
      const [row, count, lane, position] = ["row", "count", "lane", "place"].map(local);
      const [target, index, own, left] = ["target", "at", "own", "left"].map(local);
      const touchAll = [
        set(position, get(lane)),
        set(target, get(lane)),
        set(left, get(count)),
        loop(
          set(index, load(get(position))),
          touch(options, own, index),
          set(position, add(get(position), constant(4))),
          set(left, subtract(get(left), constant(1))),
          leaveWhen(0, get(left)),
        ),
        // Else they might be left out.
        store(get(lane), get(own), SUMS),
        set(position, get(lane)),
      ];
      const measure = loop(
        set(index, load(get(position))),
        set(own, get(row)),
        products(options, local),
        storeFloat64(get(target), sumOfLanes(shapeOf(options), local("sum0")), SUMS),
        set(target, add(get(target), constant(8))),
        set(position, add(get(position), constant(4))),
        set(count, subtract(get(count), constant(1))),
        leaveWhen(0, get(count)),
      );
      return [touchAll, measure];
    },
  });
}

/**
 * Chooses of the vectors at the addresses of a lane, for each of which there is a sum, those that are not nearer to one that
 * was chosen before than their sum says.
 */
export function chooseKernel(options: SpaceOptions, pages: WebAssembly.Memory): Kernel | null {
  return kernel({
    parameters: ["count", "most", "lane"],
    locals: ["place", "chosen", "other", "target", "at", "own", "left"],
    vectors: VECTORS,
    pages,
    body: (local) => {
      const [count, most, lane, position] = ["count", "most", "lane", "place"].map(local);
      const [chosen, other, target, slot, own] = ["chosen", "other", "target", "at", "own"].map(local);
      const inLane = (index: number, shift: number): Code =>
        add(get(lane), shiftLeft(get(index), constant(shift)));
      const sum = sumOfLanes(shapeOf(options), local("sum0"));
      const bound = loadFloat64(inLane(position, 3), SUMS);
      const isApart = options.metric === "dot" ? atMostFloat64(sum, bound) : atMostFloat64(bound, sum);
      // Depths are those within the loop over chosen ones, in a block that is left with a vector that is not apart.
      const compareAll = [
        set(other, constant(0)),
        loop(
          when(below(get(other), get(chosen)), [
            set(own, load(inLane(position, 2))),
            set(slot, load(inLane(other, 2), CHOSEN_ADDRESSES)),
            products(options, local),
            leaveWhen(2, equal(isApart, constant(0))),
            set(other, add(get(other), constant(1))),
            leave(1),
          ]),
        ),
      ];
      const choose = [
        set(target, inLane(chosen, 2)),
        store(get(target), get(position), CHOSEN_PLACES),
        store(get(target), load(inLane(position, 2)), CHOSEN_ADDRESSES),
        set(chosen, add(get(chosen), constant(1))),
      ];
      const each = loop(
        block(compareAll, choose),
        set(position, add(get(position), constant(1))),
        leaveWhen(0, and(below(get(position), get(count)), below(get(chosen), get(most)))),
      );
      return [each, store(get(lane), get(chosen), CHOSEN)];
    },
  });
}
