/**
 * Vectors in the memory of a kernel that measures the distances of some of them from one: what building a graph does most.
 * The memory of the kernel:
 *
 *     places     {@link MAX_ASKED} addresses of vectors
 *     sums       a float of 64 bits for each
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
  kernel,
  laneNumbers,
  leaveWhen,
  load,
  loop,
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
} from "../../bytes/wasm.js";

/** Vectors whose distances are asked for at once. */
export const MAX_ASKED = 4096;
const STEP_BYTES = 32;
const SUMS = MAX_ASKED * 4;
const VECTORS = SUMS + MAX_ASKED * 8;
const MAX_PAGES = 65_536;
/** Steps of a vector that are written out; of more there is a loop. */
const MOST_IN_LINE = 64;
const LINE_BYTES = 64;
/** Bytes of a vector that are brought near before it is measured. */
const TOUCHED_BYTES = 512;

/** Values of vectors. */
export type SpaceValues = Float32Array | Uint8Array;

/** Vectors of floats of 32 bits, or of integers of 8 bits; their distances by l2, or of floats by dot product. */
export interface VectorSpace {
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

/** @param withKernel false only in tests */
export function vectorSpace(options: SpaceOptions, withKernel = true): VectorSpace {
  const { item, dimension, rowCount } = options;
  const rowBytes = Math.ceil((dimension * (item === "float32" ? 4 : 1)) / STEP_BYTES) * STEP_BYTES;
  const pages = Math.ceil((VECTORS + rowCount * rowBytes) / 65_536);
  const made = withKernel && pages <= MAX_PAGES ? measureKernel(options, rowBytes, pages) : null;
  return made === null ? new PlainSpace(options) : new KernelSpace(options, made, rowBytes);
}

function measureKernel({ item, metric }: SpaceOptions, rowBytes: number, pages: number): Kernel | null {
  const shape: NumberShape = item === "float32" ? "f32x4" : "i32x4";
  const steps = rowBytes / STEP_BYTES;
  const stepsPerRound = steps <= MOST_IN_LINE ? steps : 1;
  return kernel({
    parameters: ["row", "count"],
    locals: ["place", "target", "at", "own", "left"],
    vectors: ["sum0", "sum1", "value0", "value1", "part"],
    pages,
    body: (local) => {
      const [row, count, place] = ["row", "count", "place"].map(local);
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
        set(left, get(count)),
        loop(
          set(at, load(get(place))),
          lines.map((_, line) => set(own, or(get(own), load(get(at), line * LINE_BYTES)))),
          set(place, add(get(place), constant(4))),
          set(left, subtract(get(left), constant(1))),
          leaveWhen(0, get(left)),
        ),
        // Else they might be left out.
        store(constant(SUMS), get(own)),
        set(place, constant(0)),
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
  readonly #places: Uint32Array;
  readonly #sums: Float64Array;
  readonly #memory: Uint8Array;

  constructor(options: SpaceOptions, { run, memory }: Kernel, rowBytes: number) {
    this.#options = options;
    this.#rowBytes = rowBytes;
    this.#run = run;
    this.#places = new Uint32Array(memory, 0, MAX_ASKED);
    this.#sums = new Float64Array(memory, SUMS, MAX_ASKED);
    this.#memory = new Uint8Array(memory);
  }

  put(firstRow: number, { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT }: SpaceValues): void {
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    const width = this.#options.dimension * BYTES_PER_ELEMENT;
    for (let from = 0, to = VECTORS + firstRow * this.#rowBytes; from < byteLength; from += width) {
      this.#memory.set(bytes.subarray(from, from + width), to);
      to += this.#rowBytes;
    }
  }

  measure(row: number, others: Uint32Array, count: number, distances: Float64Array): void {
    if (count === 0) return;
    const [places, sums, rowBytes] = [this.#places, this.#sums, this.#rowBytes];
    for (let at = 0; at < count; at++) places[at] = VECTORS + others[at] * rowBytes;
    this.#run(VECTORS + row * rowBytes, count);
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

  constructor(options: SpaceOptions) {
    this.#options = options;
    const { item, rowCount, dimension } = options;
    this.#values = new (item === "float32" ? Float32Array : Uint8Array)(rowCount * dimension);
  }

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
