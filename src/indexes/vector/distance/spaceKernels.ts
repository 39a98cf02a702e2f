/**
 * Kernels that measure the distances between vectors of their memory (vectorSpace.ts). Several threads can
 * share the memory, in which each has a lane of its own:
 *
 *     lanes      each {@link MAX_ASKED} addresses of vectors; a float of 64 bits for each; the number of
 *                chosen vectors, and their indices; the addresses of these
 *     vectors    one after another, each zero-padded to whole steps
 *
 * A step is 32 bytes: 8 floats or 32 integers of 8 bits.
 */

import { type Kernel, kernel } from "../../../bytes/wasm/kernel.js";
import type { KernelCode } from "../../../bytes/wasm/kernelCode.js";
import {
  type Integer,
  type IntegerLocal,
  type NumberShape,
  Vector,
  type VectorLocal,
} from "../../../bytes/wasm/values.js";

/** Maximum number of vectors in one call. */
export const MAX_ASKED = 4096;
const STEP_BYTES = 32;
/** Byte offsets in a lane. */
export const SUMS = MAX_ASKED * 4;
export const CHOSEN = SUMS + MAX_ASKED * 8;
const CHOSEN_INDICES = CHOSEN + 4;
const CHOSEN_ADDRESSES = CHOSEN_INDICES + MAX_ASKED * 4;
/** Bytes of a cache line. */
export const LINE_BYTES = 64;
/** Whole lines, so that a vector of whole lines does not share one with the next vector. */
export const LANE_BYTES = CHOSEN + MAX_ASKED * 8 + LINE_BYTES;
/** Number of steps that the code repeats. Longer vectors have a loop. */
const MAX_IN_LINE = 64;
/** Bytes of a vector that are loaded into the cache before it is measured. */
const TOUCHED_BYTES = 512;

export interface SpaceOptions {
  readonly item: "float32" | "uint8";
  /** Integers have l2 only. */
  readonly metric: "l2" | "dot";
  readonly dimension: number;
  readonly rowCount: number;
}

export const rowBytesOf = ({ item, dimension }: SpaceOptions): number =>
  Math.ceil((dimension * (item === "float32" ? 4 : 1)) / STEP_BYTES) * STEP_BYTES;

const shapeOf = ({ item }: SpaceOptions): NumberShape => (item === "float32" ? "f32x4" : "i32x4");
/**
 * Locals for the addresses of two vectors, and for the computation of {@link addProducts}. It changes all
 * locals.
 */
export interface ProductLocals {
  readonly wasm: KernelCode;
  readonly first: IntegerLocal;
  readonly second: IntegerLocal;
  readonly left: IntegerLocal;
  readonly sums: readonly [VectorLocal, VectorLocal];
  readonly values: readonly [VectorLocal, VectorLocal];
}

export function declareProductLocals(wasm: KernelCode): ProductLocals {
  const [first, second, left] = wasm.integers();
  const [sum0, sum1, value0, value1] = wasm.vectors();
  return { wasm, first, second, left, sums: [sum0, sum1], values: [value0, value1] };
}

/** Adds up squared differences of two vectors, or products, in the lanes of the first sum. */
export function addProducts(options: SpaceOptions, locals: ProductLocals): void {
  const { item, metric } = options;
  const { wasm, first, second, left: stepsLeft, sums, values } = locals;
  const shape = shapeOf(options);
  const steps = rowBytesOf(options) / STEP_BYTES;
  const isInLine = steps <= MAX_IN_LINE;
  /** Bytes to add. A loop cannot tell the padding, whose products are zero, from the vector. */
  const bytes = isInLine ? options.dimension * (item === "float32" ? 4 : 1) : Number.POSITIVE_INFINITY;
  /** Adds 16 bytes of integers or 4 floats to a sum. */
  const addHalfStep = (offset: number, sum: VectorLocal, value: VectorLocal): void => {
    if (item === "uint8") {
      for (const start of [offset, offset + 8]) {
        if (start >= bytes) continue;
        value.set(second.loadWidened(start).minusShorts(first.loadWidened(start)));
        sum.increase(shape, value.productsOfShorts(value));
      }
      return;
    }
    if (offset >= bytes) return;
    const [left, right] = [second.loadVector(offset), first.loadVector(offset)];
    if (metric === "l2") value.set(left.minus(shape, right));
    sum.increase(shape, metric === "l2" ? value.times(shape, value) : left.times(shape, right));
  };
  const addSteps = (count: number): void => {
    for (let half = 0; half < 2 * count; half++)
      addHalfStep((half * STEP_BYTES) / 2, sums[half & 1], values[half & 1]);
  };
  for (const sum of sums) sum.set(Vector.ofByte(0));
  if (isInLine) addSteps(steps);
  else {
    stepsLeft.set(steps);
    wasm.repeat(stepsLeft, () => {
      addSteps(1);
      second.increase(STEP_BYTES);
      first.increase(STEP_BYTES);
    });
  }
  sums[0].increase(shape, sums[1]);
}

/**
 * Loads lines of a vector into the cache. Vectors lie anywhere in memory, and nothing waits for these loads.
 * @param into a local that the kernel must use later; otherwise the compiler may drop the loads
 */
export function touch(options: SpaceOptions, into: IntegerLocal, address: Integer): void {
  const bytes = Math.min(rowBytesOf(options), TOUCHED_BYTES);
  for (let line = 0; line < bytes; line += LINE_BYTES) into.set(into.or(address.load(line)));
}

/** Measures the distance of one vector from each vector at the addresses of a lane: a sum for each. */
export const measureKernel = (options: SpaceOptions, memory: WebAssembly.Memory): Kernel | null =>
  kernel(memory, (wasm) => {
    const [row, count, lane] = wasm.parameters();
    const [next, target] = wasm.integers();
    const locals = declareProductLocals(wasm);
    const { first, second, left, sums } = locals;
    next.set(lane);
    target.set(lane);
    left.set(count);
    wasm.repeat(left, () => {
      second.set(next.load());
      touch(options, first, second);
      next.increase(4);
    });
    // Using what was loaded keeps the compiler from dropping the loads.
    wasm.store(lane, first, SUMS);
    next.set(lane);
    wasm.repeat(count, () => {
      second.set(next.load());
      first.set(row);
      addProducts(options, locals);
      wasm.store(target, sums[0].sum(shapeOf(options)), SUMS);
      target.increase(8);
      next.increase(4);
    });
  });

/**
 * Chooses vectors of a lane: each one whose sum is not greater than its distances from the vectors chosen
 * before.
 */
export const chooseKernel = (options: SpaceOptions, memory: WebAssembly.Memory): Kernel | null =>
  kernel(memory, (wasm) => {
    const [count, most, lane] = wasm.parameters();
    const [index, chosen, choice, target] = wasm.integers();
    const locals = declareProductLocals(wasm);
    const { first, second, sums } = locals;
    const inLane = (slot: Integer, shift: number) => lane.plus(slot.shiftLeft(shift));
    const sum = sums[0].sum(shapeOf(options));
    const bound = inLane(index, 3).loadDouble(SUMS);
    const isApart = options.metric === "dot" ? sum.atMost(bound) : bound.atMost(sum);
    wasm.doWhile(
      () => {
        wasm.block((isTooNear) => {
          choice.set(0);
          wasm.while(choice.below(chosen), () => {
            first.set(inLane(index, 2).load());
            second.set(inLane(choice, 2).load(CHOSEN_ADDRESSES));
            addProducts(options, locals);
            isTooNear.jumpWhen(isApart.equals(0));
            choice.increase(1);
          });
          target.set(inLane(chosen, 2));
          wasm.store(target, index, CHOSEN_INDICES);
          wasm.store(target, inLane(index, 2).load(), CHOSEN_ADDRESSES);
          chosen.increase(1);
        });
        index.increase(1);
      },
      index.below(count).and(chosen.below(most)),
    );
    wasm.store(lane, chosen, CHOSEN);
  });
