/**
 * Vectors whose mutual distances graph construction measures. They lie in kernel memory (spaceKernels.ts),
 * which threads can share: each has its own lane.
 */

import { type Kernel, KernelUse, kernel, MAX_PAGES } from "../../../bytes/wasm/kernel.js";
import { InternalError } from "../../../errors.js";
import {
  CHOSEN,
  chooseKernel,
  LANE_BYTES,
  MAX_ASKED,
  measureKernel,
  rowBytesOf,
  type SpaceOptions,
  SUMS,
} from "./spaceKernels.js";

export type SpaceValues = Float32Array | Uint8Array;

/** Float32 vectors by l2 or dot product, or 8-bit integer vectors by l2. */
export interface VectorSpace {
  /** Switches to a lane that no other thread uses. */
  useLane(lane: number): void;
  /** Stores row-major vectors. */
  put(firstRow: number, values: SpaceValues): void;
  /** Measures the distances of a vector from at most {@link MAX_ASKED} others. */
  measure(row: number, others: Uint32Array, count: number, distances: Float64Array): void;
  /**
   * Chooses rows in order of their distance from a base vector: those that are not nearer to a chosen row
   * than to the base. By l2, one of several equal vectors is chosen even if they equal the base: otherwise
   * the base might have no other link.
   * @param rows at most {@link MAX_ASKED}, nearest first
   * @param distances from the base
   * @param most maximum number of chosen rows
   * @param positions receives the positions of chosen rows
   * @returns the number of chosen rows
   */
  choose(
    rows: Uint32Array,
    distances: Float64Array,
    count: number,
    most: number,
    positions: Uint32Array,
  ): number;
}

/** Vectors as passed to threads: in kernel memory, or row-major without kernels. */
export interface SpaceMemory {
  readonly options: SpaceOptions;
  readonly lanes: number;
  readonly values: WebAssembly.Memory | SpaceValues;
  /** End of the vectors in kernel memory, after which other data may follow. */
  readonly vectorsEnd: number;
}

/**
 * Returns the l2 distance from every chosen vector that a vector at this distance from the base needs to be
 * chosen.
 */
export const apartBound = (distance: number): number => Math.max(distance, Number.MIN_VALUE);

/** An empty kernel, which compiles if any does. */
export const spaceKernelUse = new KernelUse(() => kernel(1, () => {}));

/**
 * Allocates memory for vectors.
 * @param lanes number of threads, at least 1
 * @param moreBytes for other kernels, after the vectors
 * @param withKernel false only in tests
 */
export function spaceMemory(options: SpaceOptions, lanes = 1, moreBytes = 0, withKernel = true): SpaceMemory {
  const vectorsEnd = lanes * LANE_BYTES + options.rowCount * rowBytesOf(options);
  const both = Math.ceil((vectorsEnd + moreBytes) / 65_536);
  const pages = both <= MAX_PAGES ? both : Math.ceil(vectorsEnd / 65_536);
  const isShared = lanes > 1;
  if (withKernel && pages <= MAX_PAGES && spaceKernelUse.get() !== null) {
    try {
      const limits = { initial: pages, maximum: pages, shared: isShared };
      return { options, lanes, values: new WebAssembly.Memory(limits), vectorsEnd };
    } catch {
      // The memory is unsupported or exhausted.
    }
  }
  const { item, rowCount, dimension } = options;
  const byteLength = rowCount * dimension * (item === "float32" ? 4 : 1);
  const memory = isShared ? new SharedArrayBuffer(byteLength) : new ArrayBuffer(byteLength);
  const values = item === "float32" ? new Float32Array(memory) : new Uint8Array(memory);
  return { options, lanes, values, vectorsEnd };
}

/** @param lane that no other thread uses */
export function openSpace(memory: SpaceMemory, lane = 0): VectorSpace {
  const { options, lanes, values } = memory;
  if (ArrayBuffer.isView(values)) return plainSpace(options, values);
  const measure = measureKernel(options, values);
  const choose = chooseKernel(options, values);
  if (measure === null || choose === null)
    throw new InternalError("the kernels did not compile, although their memory was allocated");
  return kernelSpace(options, measure, choose, lanes * LANE_BYTES, lane);
}

function laneIn(memory: ArrayBufferLike, lane: number) {
  const start = lane * LANE_BYTES;
  return {
    start,
    addresses: new Uint32Array(memory, start, MAX_ASKED),
    sums: new Float64Array(memory, start + SUMS, MAX_ASKED),
    /** Number of chosen vectors, then their positions. */
    chosen: new Uint32Array(memory, start + CHOSEN, MAX_ASKED + 1),
  };
}

/** @param vectors address of the first vector */
function kernelSpace(
  options: SpaceOptions,
  { run: runMeasure, memory }: Kernel,
  { run: runChoose }: Kernel,
  vectors: number,
  firstLane: number,
): VectorSpace {
  const rowBytes = rowBytesOf(options);
  const isByDot = options.metric === "dot";
  let lane = laneIn(memory, firstLane);
  /** Writes vector addresses into the lane. */
  const ask = (rows: Uint32Array, count: number): void => {
    const { addresses } = lane;
    for (let index = 0; index < count; index++) addresses[index] = vectors + rows[index] * rowBytes;
  };
  return {
    useLane(number) {
      lane = laneIn(memory, number);
    },
    put(firstRow, { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT }) {
      const bytes = new Uint8Array(buffer, byteOffset, byteLength);
      const target = new Uint8Array(memory, vectors + firstRow * rowBytes);
      const width = options.dimension * BYTES_PER_ELEMENT;
      if (width === rowBytes) target.set(bytes);
      else {
        for (let from = 0, to = 0; from < byteLength; from += width, to += rowBytes)
          target.set(bytes.subarray(from, from + width), to);
      }
    },
    measure(row, others, count, distances) {
      if (count === 0) return;
      const { start, sums } = lane;
      ask(others, count);
      runMeasure(vectors + row * rowBytes, count, start);
      if (isByDot) for (let index = 0; index < count; index++) distances[index] = 1 - sums[index];
      else for (let slot = 0; slot < count; slot++) distances[slot] = sums[slot];
    },
    choose(rows, distances, count, most, positions) {
      if (count === 0) return 0;
      const { start, sums, chosen } = lane;
      ask(rows, count);
      for (let index = 0; index < count; index++)
        sums[index] = isByDot ? 1 - distances[index] : apartBound(distances[index]);
      runChoose(count, most, start);
      const [chosenCount] = chosen;
      positions.set(chosen.subarray(1, 1 + chosenCount));
      return chosenCount;
    },
  };
}

/** Makes a space that measures in JavaScript: without kernels, or for vectors that exceed their memory. */
function plainSpace({ dimension, metric }: SpaceOptions, values: SpaceValues): VectorSpace {
  const distanceOf = (row: number, target: number): number => {
    const [start, from] = [row * dimension, target * dimension];
    let sum = 0;
    if (metric === "dot") {
      for (let index = 0; index < dimension; index++) sum += values[start + index] * values[from + index];
      return 1 - sum;
    }
    for (let index = 0; index < dimension; index++) {
      const difference = values[start + index] - values[from + index];
      sum += difference * difference;
    }
    return sum;
  };
  return {
    useLane() {},
    put(firstRow, some) {
      values.set(some, firstRow * dimension);
    },
    measure(row, others, count, distances) {
      for (let position = 0; position < count; position++)
        distances[position] = distanceOf(row, others[position]);
    },
    choose(rows, distances, count, most, positions) {
      let chosen = 0;
      for (let position = 0; position < count && chosen < most; position++) {
        const bound = metric === "dot" ? distances[position] : apartBound(distances[position]);
        let isApart = true;
        for (let index = 0; index < chosen && isApart; index++)
          isApart = distanceOf(rows[position], rows[positions[index]]) >= bound;
        if (isApart) positions[chosen++] = position;
      }
      return chosen;
    },
  };
}
