/**
 * Vectors whose distances from each other are measured: what building a graph does most. They lie in the memory of kernels
 * (spaceKernels.ts), of which several threads can have the same: each has a lane of its own in it.
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

/** Values of vectors. */
export type SpaceValues = Float32Array | Uint8Array;

/** Vectors of floats of 32 bits, or of integers of 8 bits; their distances by l2, or of floats by dot product. */
export interface VectorSpace {
  /** From now on, the lane that nobody else uses is another. */
  useLane(lane: number): void;
  /** Puts vectors in, one behind the other. */
  put(firstRow: number, values: SpaceValues): void;
  /** Puts the distances of a vector from others, at most {@link MAX_ASKED}, into an array. */
  measure(row: number, others: Uint32Array, count: number, distances: Float64Array): void;
  /**
   * Chooses of some vectors, the nearest to one first and at most {@link MAX_ASKED}, those that are not nearer to one that was
   * chosen before. By l2, of vectors that are the same one is chosen, even where the one is the same too: it would be led to
   * nothing else.
   * @param distances from the one
   * @param most of them
   * @param places of those that are chosen are put in
   * @returns how many are chosen
   */
  choose(
    rows: Uint32Array,
    distances: Float64Array,
    count: number,
    most: number,
    places: Uint32Array,
  ): number;
}

/** Vectors, as threads can be told of them: in the memory of kernels, or for want of these one behind the other. */
export interface SpaceMemory {
  readonly options: SpaceOptions;
  readonly lanes: number;
  readonly values: WebAssembly.Memory | SpaceValues;
  /** Where in the memory of kernels other things may lie that belong to the vectors. */
  readonly behind: number;
}

/** The least distance by l2 of a vector from others that it lies apart from, of its distance from the one. */
export const apartBound = (distance: number): number => Math.max(distance, Number.MIN_VALUE);

/** An empty kernel, to know whether the runtime compiles any. */
const emptyKernel = new KernelUse(() => kernel(1, () => {}));

/**
 * Room for vectors.
 * @param lanes of threads; one for none
 * @param moreBytes that other kernels need behind the vectors
 * @param withKernel false only in tests
 */
export function spaceMemory(options: SpaceOptions, lanes = 1, moreBytes = 0, withKernel = true): SpaceMemory {
  const behind = lanes * LANE_BYTES + options.rowCount * rowBytesOf(options);
  const both = Math.ceil((behind + moreBytes) / 65_536);
  const pages = both <= MAX_PAGES ? both : Math.ceil(behind / 65_536);
  const isShared = lanes > 1;
  if (withKernel && pages <= MAX_PAGES && emptyKernel.get() !== null) {
    try {
      const limits = { initial: pages, maximum: pages, shared: isShared };
      return { options, lanes, values: new WebAssembly.Memory(limits), behind };
    } catch {
      // There is no such memory, or no room for it.
    }
  }
  const { item, rowCount, dimension } = options;
  const byteLength = rowCount * dimension * (item === "float32" ? 4 : 1);
  const memory = isShared ? new SharedArrayBuffer(byteLength) : new ArrayBuffer(byteLength);
  const values = item === "float32" ? new Float32Array(memory) : new Uint8Array(memory);
  return { options, lanes, values, behind };
}

/** @param lane that nobody else uses meanwhile */
export function openSpace(memory: SpaceMemory, lane = 0): VectorSpace {
  const { options, lanes, values } = memory;
  if (ArrayBuffer.isView(values)) return new PlainSpace(options, values);
  const measure = measureKernel(options, values);
  const choose = chooseKernel(options, values);
  if (measure === null || choose === null) throw new InternalError("a memory for kernels without kernels");
  return new KernelSpace(options, measure, choose, lanes, lane);
}

/** The views of a lane. */
interface Lane {
  readonly start: number;
  readonly addresses: Uint32Array;
  readonly sums: Float64Array;
  /** How many were chosen, and their places. */
  readonly chosen: Uint32Array;
}

function laneIn(memory: ArrayBufferLike, lane: number): Lane {
  const start = lane * LANE_BYTES;
  return {
    start,
    addresses: new Uint32Array(memory, start, MAX_ASKED),
    sums: new Float64Array(memory, start + SUMS, MAX_ASKED),
    chosen: new Uint32Array(memory, start + CHOSEN, MAX_ASKED + 1),
  };
}

class KernelSpace implements VectorSpace {
  readonly #options: SpaceOptions;
  readonly #rowBytes: number;
  readonly #measure: Kernel["run"];
  readonly #choose: Kernel["run"];
  readonly #memory: ArrayBufferLike;
  readonly #vectors: number;
  #lane: Lane;

  constructor(options: SpaceOptions, measure: Kernel, choose: Kernel, lanes: number, lane: number) {
    this.#options = options;
    this.#rowBytes = rowBytesOf(options);
    this.#measure = measure.run;
    this.#choose = choose.run;
    const { memory } = measure;
    this.#memory = memory;
    this.#vectors = lanes * LANE_BYTES;
    this.#lane = laneIn(memory, lane);
  }

  useLane(lane: number): void {
    this.#lane = laneIn(this.#memory, lane);
  }

  put(firstRow: number, { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT }: SpaceValues): void {
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    const memory = new Uint8Array(this.#memory);
    const width = this.#options.dimension * BYTES_PER_ELEMENT;
    const start = this.#vectors + firstRow * this.#rowBytes;
    if (width === this.#rowBytes) {
      memory.set(bytes, start);
      return;
    }
    for (let from = 0, to = start; from < byteLength; from += width, to += this.#rowBytes) {
      memory.set(bytes.subarray(from, from + width), to);
    }
  }

  measure(row: number, others: Uint32Array, count: number, distances: Float64Array): void {
    if (count === 0) return;
    const { start, sums } = this.#lane;
    this.#ask(others, count);
    this.#measure(this.#vectors + row * this.#rowBytes, count, start);
    if (this.#options.metric === "dot") {
      for (let index = 0; index < count; index++) distances[index] = 1 - sums[index];
    } else {
      for (let slot = 0; slot < count; slot++) distances[slot] = sums[slot];
    }
  }

  choose(
    rows: Uint32Array,
    distances: Float64Array,
    count: number,
    most: number,
    places: Uint32Array,
  ): number {
    if (count === 0) return 0;
    const { start, sums, chosen } = this.#lane;
    this.#ask(rows, count);
    const isByDot = this.#options.metric === "dot";
    for (let index = 0; index < count; index++)
      sums[index] = isByDot ? 1 - distances[index] : apartBound(distances[index]);
    this.#choose(count, most, start);
    const [chosenCount] = chosen;
    places.set(chosen.subarray(1, 1 + chosenCount));
    return chosenCount;
  }

  /** Puts the addresses of vectors into the lane. */
  #ask(rows: Uint32Array, count: number): void {
    const { addresses } = this.#lane;
    const [rowBytes, vectors] = [this.#rowBytes, this.#vectors];
    for (let index = 0; index < count; index++) addresses[index] = vectors + rows[index] * rowBytes;
  }
}

/** The same where there are no kernels, or the vectors need more memory than these can have. */
class PlainSpace implements VectorSpace {
  readonly #options: SpaceOptions;
  readonly #values: SpaceValues;

  constructor(options: SpaceOptions, values: SpaceValues) {
    this.#options = options;
    this.#values = values;
  }

  useLane(): void {}

  put(firstRow: number, values: SpaceValues): void {
    this.#values.set(values, firstRow * this.#options.dimension);
  }

  measure(row: number, others: Uint32Array, count: number, distances: Float64Array): void {
    for (let position = 0; position < count; position++)
      distances[position] = this.#distance(row, others[position]);
  }

  choose(
    rows: Uint32Array,
    distances: Float64Array,
    count: number,
    most: number,
    places: Uint32Array,
  ): number {
    let chosen = 0;
    for (let position = 0; position < count && chosen < most; position++) {
      const bound = this.#options.metric === "dot" ? distances[position] : apartBound(distances[position]);
      let isApart = true;
      for (let index = 0; index < chosen && isApart; index++) {
        isApart = this.#distance(rows[position], rows[places[index]]) >= bound;
      }
      if (isApart) places[chosen++] = position;
    }
    return chosen;
  }

  #distance(row: number, other: number): number {
    const { dimension, metric } = this.#options;
    const values = this.#values;
    const [own, from] = [row * dimension, other * dimension];
    let sum = 0;
    if (metric === "dot") {
      for (let index = 0; index < dimension; index++) sum += values[own + index] * values[from + index];
      return 1 - sum;
    }
    for (let index = 0; index < dimension; index++) {
      const difference = values[own + index] - values[from + index];
      sum += difference * difference;
    }
    return sum;
  }
}
