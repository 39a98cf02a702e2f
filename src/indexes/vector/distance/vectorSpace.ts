/**
 * Vectors in the memory of a kernel that measures the distances of some of them from one: what building a graph does most.
 * Several threads can have the same memory: each has a lane of its own in it. The memory of the kernel:
 *
 *     lanes      each {@link MAX_ASKED} addresses of vectors, then a float of 64 bits for each
 *     vectors    one behind the other, each filled up with zeros to whole steps
 *
 * A step is 32 bytes: 8 floats or 32 integers of 8 bits.
 */

import {
  add,
  type Code,
  constant,
  get,
  type Kernel,
  KernelUse,
  kernel,
  laneNumbers,
  leaveWhen,
  load,
  loop,
  MAX_PAGES,
  type NumberShape,
  or,
  productsOfWords,
  set,
  store,
  storeFloat64,
  subtract,
  subtractWords,
  sumOfLanes,
  vectorConstant,
  vectorLoad,
  widenBytes,
} from "../../../bytes/wasm.js";
import { InternalError } from "../../../errors.js";

/** Vectors whose distances are asked for at once. */
export const MAX_ASKED = 4096;
const STEP_BYTES = 32;
const SUMS = MAX_ASKED * 4;
const LANE_BYTES = SUMS + MAX_ASKED * 8;
/** Steps of a vector that are written out; of more there is a loop. */
const MOST_IN_LINE = 64;
const LINE_BYTES = 64;
/** Bytes of a vector that are brought near before it is measured. */
const TOUCHED_BYTES = 512;

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
}

export interface SpaceOptions {
  readonly item: "float32" | "uint8";
  /** Of integers l2 only. */
  readonly metric: "l2" | "dot";
  readonly dimension: number;
  readonly rowCount: number;
}

/** Vectors, as threads can be told of them: in the memory of kernels, or for want of these one behind the other. */
export interface SpaceMemory {
  readonly options: SpaceOptions;
  readonly lanes: number;
  readonly values: WebAssembly.Memory | SpaceValues;
}

/** Whether the runtime compiles any. */
const areThereKernels = new KernelUse(() => kernel({ parameters: [], locals: [], pages: 1, body: () => [] }));

const rowBytesOf = ({ item, dimension }: SpaceOptions): number =>
  Math.ceil((dimension * (item === "float32" ? 4 : 1)) / STEP_BYTES) * STEP_BYTES;

/**
 * Room for vectors.
 * @param lanes of threads; one for none
 * @param withKernel false only in tests
 */
export function spaceMemory(options: SpaceOptions, lanes = 1, withKernel = true): SpaceMemory {
  const pages = Math.ceil((lanes * LANE_BYTES + options.rowCount * rowBytesOf(options)) / 65_536);
  const isShared = lanes > 1;
  if (withKernel && pages <= MAX_PAGES && areThereKernels.get() !== null) {
    try {
      const limits = { initial: pages, maximum: pages, shared: isShared };
      return { options, lanes, values: new WebAssembly.Memory(limits) };
    } catch {
      // There is no such memory, or no room for it.
    }
  }
  const { item, rowCount, dimension } = options;
  const byteLength = rowCount * dimension * (item === "float32" ? 4 : 1);
  const memory = isShared ? new SharedArrayBuffer(byteLength) : new ArrayBuffer(byteLength);
  return { options, lanes, values: item === "float32" ? new Float32Array(memory) : new Uint8Array(memory) };
}

/** @param lane that nobody else uses meanwhile */
export function openSpace(memory: SpaceMemory, lane = 0): VectorSpace {
  const { options, lanes, values } = memory;
  if (ArrayBuffer.isView(values)) return new PlainSpace(options, values);
  const made = measureKernel(options, rowBytesOf(options), values);
  if (made === null) throw new InternalError("a memory for kernels without kernels");
  return new KernelSpace(options, made, lanes, lane);
}

function measureKernel(
  { item, metric }: SpaceOptions,
  rowBytes: number,
  pages: WebAssembly.Memory,
): Kernel | null {
  const shape: NumberShape = item === "float32" ? "f32x4" : "i32x4";
  const steps = rowBytes / STEP_BYTES;
  const stepsPerRound = steps <= MOST_IN_LINE ? steps : 1;
  return kernel({
    parameters: ["row", "count", "lane"],
    locals: ["place", "target", "at", "own", "left"],
    vectors: ["sum0", "sum1", "value0", "value1", "part"],
    pages,
    body: (local) => {
      const [row, count, lane, place] = ["row", "count", "lane", "place"].map(local);
      const [target, at, own, left, part] = ["target", "at", "own", "left", "part"].map(local);
      const addTo = (sum: number, what: Code): Code => set(sum, laneNumbers(shape, "add", get(sum), what));
      /** What 16 bytes add to a sum. */
      const term = (step: number, half: 0 | 1): Code => {
        const [sum, value] = [local(`sum${half}`), local(`value${half}`)];
        const offset = step * STEP_BYTES + half * 16;
        const mine = vectorLoad(get(own), offset);
        if (item === "uint8") {
          const differences = (side: "low" | "high"): Code => [
            set(part, subtractWords(widenBytes(side, get(value)), widenBytes(side, mine))),
            addTo(sum, productsOfWords(get(part), get(part))),
          ];
          return [set(value, vectorLoad(get(at), offset)), differences("low"), differences("high")];
        }
        const theirs = vectorLoad(get(at), offset);
        if (metric === "dot") return addTo(sum, laneNumbers(shape, "multiply", theirs, mine));
        return [
          set(value, laneNumbers(shape, "subtract", theirs, mine)),
          addTo(sum, laneNumbers(shape, "multiply", get(value), get(value))),
        ];
      };
      const round = Array.from({ length: stepsPerRound }, (_, step) => [term(step, 0), term(step, 1)]);
      const zeros = vectorConstant(new Array(16).fill(0));
      const lines = Array.from({ length: Math.ceil(Math.min(rowBytes, TOUCHED_BYTES) / LINE_BYTES) });
      // Vectors lie anywhere in memory. Loads that nothing waits for bring all of them near at once.
      const touch = [
        set(place, get(lane)),
        set(target, get(lane)),
        set(left, get(count)),
        loop(
          set(at, load(get(place))),
          lines.map((_, line) => set(own, or(get(own), load(get(at), line * LINE_BYTES)))),
          set(place, add(get(place), constant(4))),
          set(left, subtract(get(left), constant(1))),
          leaveWhen(0, get(left)),
        ),
        // Else they might be left out.
        store(get(lane), get(own), SUMS),
        set(place, get(lane)),
      ];
      const measure = loop(
        [set(local("sum0"), zeros), set(local("sum1"), zeros)],
        set(at, load(get(place))),
        set(own, get(row)),
        stepsPerRound === steps
          ? round
          : [
              set(left, constant(steps)),
              loop(
                round,
                set(at, add(get(at), constant(STEP_BYTES))),
                set(own, add(get(own), constant(STEP_BYTES))),
                set(left, subtract(get(left), constant(1))),
                leaveWhen(0, get(left)),
              ),
            ],
        addTo(local("sum0"), get(local("sum1"))),
        storeFloat64(get(target), sumOfLanes(shape, local("sum0")), SUMS),
        set(target, add(get(target), constant(8))),
        set(place, add(get(place), constant(4))),
        set(count, subtract(get(count), constant(1))),
        leaveWhen(0, get(count)),
      );
      return [touch, measure];
    },
  });
}

class KernelSpace implements VectorSpace {
  readonly #options: SpaceOptions;
  readonly #rowBytes: number;
  readonly #run: Kernel["run"];
  readonly #memory: ArrayBufferLike;
  readonly #vectors: number;
  #lane = 0;
  #places: Uint32Array;
  #sums: Float64Array;

  constructor(options: SpaceOptions, { run, memory }: Kernel, lanes: number, lane: number) {
    this.#options = options;
    this.#rowBytes = rowBytesOf(options);
    this.#run = run;
    this.#memory = memory;
    this.#vectors = lanes * LANE_BYTES;
    this.#places = new Uint32Array(memory, 0, MAX_ASKED);
    this.#sums = new Float64Array(memory, SUMS, MAX_ASKED);
    this.useLane(lane);
  }

  useLane(lane: number): void {
    this.#lane = lane * LANE_BYTES;
    this.#places = new Uint32Array(this.#memory, this.#lane, MAX_ASKED);
    this.#sums = new Float64Array(this.#memory, this.#lane + SUMS, MAX_ASKED);
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
    const [places, sums, rowBytes, vectors] = [this.#places, this.#sums, this.#rowBytes, this.#vectors];
    for (let at = 0; at < count; at++) places[at] = vectors + others[at] * rowBytes;
    this.#run(vectors + row * rowBytes, count, this.#lane);
    if (this.#options.metric === "dot") {
      for (let at = 0; at < count; at++) distances[at] = 1 - sums[at];
    } else {
      for (let at = 0; at < count; at++) distances[at] = sums[at];
    }
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
    const { dimension, metric } = this.#options;
    const values = this.#values;
    const own = row * dimension;
    for (let place = 0; place < count; place++) {
      const from = others[place] * dimension;
      let sum = 0;
      if (metric === "dot") {
        for (let index = 0; index < dimension; index++) sum += values[own + index] * values[from + index];
        distances[place] = 1 - sum;
      } else {
        for (let index = 0; index < dimension; index++) {
          const difference = values[own + index] - values[from + index];
          sum += difference * difference;
        }
        distances[place] = sum;
      }
    }
  }
}
