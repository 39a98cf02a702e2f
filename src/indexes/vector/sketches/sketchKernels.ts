/**
 * Sketches of vectors in the memory of kernels: each value as a signed byte, and statistics that bound the
 * distance of the sketch from the vector. One kernel makes sketches; the others select the rows that may be
 * near to a query. They share a memory:
 *
 *     constants  {@link CONSTANT_COUNT} floats of 64 bits, by which rows are selected (sketchBounds.ts)
 *     count      number of the selected rows, 4 bytes
 *     query      words of 16 bits, at most {@link MAX_WIDTH}
 *     list       numbers of the candidate rows
 *     all        0, 1, 2, …: a list of all rows
 *     selected   numbers of the selected rows
 *     estimates  of the selected rows, floats of 64 bits
 *     input      vectors of floats of 32 bits, zero-padded to whole steps
 *     statistics four floats of 32 bits for each of them
 *     slots      of {@link SLOT_BYTES} each
 *
 * A slot has the bytes of its rows, one row after another, and then 16 bytes for each row:
 *
 *     step    f32    factor from a byte to a value
 *     error   f32    maximum distance of the vector from its sketch; infinite for rows that are always
 *                    selected, NaN for rows that never are
 *     squares i32    sum of the squares of the bytes
 *     inverse f32    1 divided by the length of the vector; by cosine, a vector of length 0 is not selected,
 *                    because 0 times infinity is NaN
 */

import { type Kernel, type KernelSwitch, kernel } from "../../../bytes/wasm/kernel.js";
import type { KernelCode } from "../../../bytes/wasm/kernelCode.js";
import { type Double, Float, Integer, Vector, type VectorLocal } from "../../../bytes/wasm/values.js";

/** Metrics for which kernels select rows. */
export type SketchMetric = "l2" | "cosine" | "dot";

/** Values of one step. */
export const STEP = 16;
/** Maximum number of values of a vector. */
export const MAX_WIDTH = 8192;
/** Maximum number of rows of a slot. */
export const MAX_SLOT_ROWS = 8192;
export const SLOT_BYTES = 256 * 1024;
/** Bytes of a row besides those of its values. */
export const ROW_BYTES = 16;
export const CONSTANT_COUNT = 4;
export const INPUT_BYTES = 64 * 1024;

export const CONSTANTS = 0;
export const COUNT = CONSTANTS + 8 * 8;
export const QUERY = COUNT + 16;
export const LIST = QUERY + MAX_WIDTH * 2;
export const ALL = LIST + MAX_SLOT_ROWS * 4;
export const SELECTED = ALL + MAX_SLOT_ROWS * 4;
export const ESTIMATES = SELECTED + MAX_SLOT_ROWS * 4;
export const INPUT = ESTIMATES + MAX_SLOT_ROWS * 8;
export const STATISTICS = INPUT + INPUT_BYTES;
export const SLOTS = STATISTICS + (INPUT_BYTES / (STEP * 4)) * 16;

const PAGE_BYTES = 64 * 1024;
/** Number of steps that one round repeats. */
const STEPS = 4;

export interface SketchKernels {
  readonly memory: WebAssembly.Memory;
  /** Parameters: number of rows, address of their bytes, padded values of a row, steps of a row. */
  readonly make: Kernel["run"];
  /**
   * Parameters: address and length of a list, addresses of the bytes and of the statistics, bytes of a row.
   */
  readonly select: Readonly<Record<SketchMetric, Kernel["run"]>>;
}

export const sketchSwitch: KernelSwitch = { isOn: true };

/** @param maxBytes maximum size of the memory @returns null if the runtime has no kernels */
export function sketchKernels(maxBytes: number): SketchKernels | null {
  if (!sketchSwitch.isOn || typeof WebAssembly !== "object") return null;
  const initial = Math.ceil(SLOTS / PAGE_BYTES);
  const maximum = Math.min(65_536, Math.max(initial, Math.floor(maxBytes / PAGE_BYTES)));
  let memory: WebAssembly.Memory;
  try {
    memory = new WebAssembly.Memory({ initial, maximum });
  } catch {
    return null;
  }
  const make = makeKernel(memory);
  const [l2, cosine, dot] = (["l2", "cosine", "dot"] as const).map((metric) => selectKernel(memory, metric));
  if (make === null || l2 === null || cosine === null || dot === null) return null;
  const all = new Uint32Array(memory.buffer, ALL, MAX_SLOT_ROWS);
  for (let row = 0; row < all.length; row++) all[row] = row;
  return { memory, make: make.run, select: { l2: l2.run, cosine: cosine.run, dot: dot.run } };
}

/**
 * Makes the bytes of vectors, and their statistics: the largest magnitude, and three sums of squares. These
 * are of the values, of the differences between values and sketch, and of the bytes (an integer).
 */
const makeKernel = (memory: WebAssembly.Memory): Kernel | null =>
  kernel(memory, (wasm) => {
    const [rows, codes, width, steps] = wasm.parameters();
    const [row, address, left, statistics] = wasm.integers();
    const [largest, squares, lostSquares, codeSquares, scale, step, value, loss] = wasm.vectors();
    const quarters = [0, 1, 2, 3].map(() => wasm.vector());
    const halves = [0, 1].map(() => wasm.vector());
    const addSquares = (sum: VectorLocal, of: Vector): void => sum.increase("f32x4", of.times("f32x4", of));
    const eachStep = (body: () => void): void => {
      address.set(row);
      left.set(steps);
      wasm.repeat(left, () => {
        body();
        address.increase(STEP * 4);
      });
    };
    const measure = (quarter: number): void => {
      value.set(address.loadVector(INPUT + quarter * 16));
      largest.set(largest.maxFloats(value.absoluteFloats()));
      addSquares(squares, value);
    };
    const encode = (words: VectorLocal, quarter: number): void => {
      value.set(address.loadVector(INPUT + quarter * 16));
      words.set(value.times("f32x4", scale).floatsToWords());
      loss.set(value.minus("f32x4", words.wordsToFloats().times("f32x4", step)));
      addSquares(lostSquares, loss);
    };
    const largestValue = statistics.loadFloat(STATISTICS);
    wasm.repeat(rows, () => {
      for (const sum of [largest, squares, lostSquares, codeSquares]) sum.set(Vector.ofByte(0));
      eachStep(() => {
        for (let quarter = 0; quarter < 4; quarter++) measure(quarter);
      });
      wasm.store(statistics, largest.largestFloat(), STATISTICS);
      step.set(largestValue.over(Float.of(127)).toVector());
      scale.set(Float.of(127).over(largestValue).toVector());
      eachStep(() => {
        for (const [quarter, words] of quarters.entries()) encode(words, quarter);
        for (const [index, half] of halves.entries()) {
          half.set(quarters[2 * index].narrowWords(quarters[2 * index + 1]));
          codeSquares.increase("i32x4", half.productsOfShorts(half));
        }
        wasm.store(codes, halves[0].narrowShorts(halves[1]));
        codes.increase(STEP);
      });
      wasm.store(statistics, squares.sumOfFloats(), STATISTICS + 4);
      wasm.store(statistics, lostSquares.sumOfFloats(), STATISTICS + 8);
      wasm.store(statistics, codeSquares.sumOfWords(), STATISTICS + 12);
      statistics.increase(16);
      row.increase(width.shiftLeft(2));
    });
  });

const declareSelectLocals = (wasm: KernelCode) => {
  const [list, count, codes, statistics, width] = wasm.parameters();
  const [row, address, query, left, selected, rowStatistics] = wasm.integers();
  const [sum0, sum1, value] = wasm.vectors();
  const [step, error, product, estimate] = wasm.doubles();
  const parameters = { list, count, codes, statistics, width };
  const integers = { row, address, query, left, selected, rowStatistics };
  return { ...parameters, ...integers, sum0, sum1, value, step, error, product, estimate };
};
type SelectLocals = ReturnType<typeof declareSelectLocals>;

/**
 * Selects the rows of a list that may lie within the distance that the constants express. With p for the
 * product of the bytes and the query:
 *
 *     l2, cosine   estimate = c0 + step · (step · squares · c1 - c2 · p), selected if it is ≤ (c3 + error)²;
 *                  by cosine, step and error are divided by the length of the vector before
 *     dot          estimate = step · c0 · p, selected if c1 ≤ estimate + c2 · error + c3 / inverse
 */
const selectKernel = (memory: WebAssembly.Memory, metric: SketchMetric): Kernel | null =>
  kernel(memory, (wasm) => {
    const locals = declareSelectLocals(wasm);
    const { list, count, codes, statistics, width, row, address, query, left, selected } = locals;
    const { rowStatistics, sum0, sum1, value, product, estimate } = locals;
    const addProducts = (sum: VectorLocal, half: "low" | "high", offset: number): void =>
      sum.increase("i32x4", value.widenSignedBytes(half).productsOfShorts(query.loadVector(QUERY + offset)));
    const repeatSteps = (count: Integer, perRound: number): void => {
      left.set(count);
      wasm.when(left, () =>
        wasm.repeat(left, () => {
          for (let index = 0; index < perRound; index++) {
            value.set(address.loadVector(index * STEP));
            addProducts(sum0, "low", index * STEP * 2);
            addProducts(sum1, "high", index * STEP * 2 + 16);
          }
          address.increase(perRound * STEP);
          query.increase(perRound * STEP * 2);
        }),
      );
    };
    wasm.repeat(count, () => {
      row.set(list.load());
      address.set(codes.plus(row.times(width)));
      query.set(0);
      for (const sum of [sum0, sum1]) sum.set(Vector.ofByte(0));
      repeatSteps(width.shiftRight(6), STEPS);
      repeatSteps(width.shiftRight(4).and(STEPS - 1), 1);
      sum0.increase("i32x4", sum1);
      rowStatistics.set(statistics.plus(row.shiftLeft(4)));
      product.set(sum0.sumOfWords().toDouble());
      const isSelected = metric === "dot" ? selectByProduct(locals) : selectByDistance(locals, metric);
      wasm.when(isSelected, () => {
        wasm.store(selected.shiftLeft(2), row, SELECTED);
        wasm.store(selected.shiftLeft(3), estimate, ESTIMATES);
        selected.increase(1);
      });
      list.increase(4);
    });
    wasm.store(COUNT, selected);
  });

const constant = (index: number): Double => Integer.of(CONSTANTS + index * 8).loadDouble();

/** Sets the estimate of a row by l2 or cosine; true if the row is selected. */
function selectByDistance(locals: SelectLocals, metric: "l2" | "cosine"): Integer {
  const { rowStatistics, step, error, product, estimate } = locals;
  const inverse = rowStatistics.loadFloat(12).toDouble();
  const scaled = (value: Double) => (metric === "cosine" ? value.times(inverse) : value);
  step.set(scaled(rowStatistics.loadFloat().toDouble()));
  error.set(scaled(rowStatistics.loadFloat(4).toDouble()));
  const squares = step.times(rowStatistics.load(8).toDouble()).times(constant(1));
  estimate.set(constant(0).plus(step.times(squares.minus(constant(2).times(product)))));
  error.set(constant(3).plus(error));
  return estimate.atMost(error.times(error));
}

/** Sets the estimate of a row by dot product; true if the row is selected. */
function selectByProduct({ rowStatistics, step, error, product, estimate }: SelectLocals): Integer {
  step.set(rowStatistics.loadFloat().toDouble());
  error.set(rowStatistics.loadFloat(4).toDouble());
  estimate.set(step.times(constant(0)).times(product));
  const inverse = rowStatistics.loadFloat(12).toDouble();
  const slack = constant(2).times(error).plus(constant(3).over(inverse));
  return constant(1).atMost(estimate.plus(slack));
}
