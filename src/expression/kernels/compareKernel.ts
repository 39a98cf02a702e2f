/**
 * Comparisons of values with one number as WebAssembly kernels, 16 bytes at a time: the loops of
 * compareNumber.ts and, for integers of 64 bits, of compare.ts. The memory of each kernel:
 *
 *     number     16 bytes: the number, repeated
 *     bits       a bit for each value
 *     values     {@link PIECE_BYTES}
 */

import { type Kernel, KernelUse, kernel } from "../../bytes/wasm/kernel.js";
import {
  Integer,
  type LaneRelation,
  type LaneShape,
  RELATED_VALUES,
  relatedBits,
} from "../../bytes/wasm/values.js";

/** Maximum number of bytes of values in one call: few enough for the nearest caches of the processor. */
const PIECE_BYTES = 16 * 1024;
/** Copying fewer values into the memory of a kernel costs more than it saves. */
const MIN_VALUES = 256;

const NUMBER = 0;
const BITS = NUMBER + 16;
const VALUES = BITS + PIECE_BYTES / 4 / 8;
const PAGES = Math.ceil((VALUES + PIECE_BYTES) / 65536);

export const laneBytes = (shape: LaneShape): number => (shape === "i32x4" || shape === "f32x4" ? 4 : 8);

const compareKernel = (shape: LaneShape, relation: LaneRelation): Kernel | null =>
  kernel(PAGES, (wasm) => {
    const [end] = wasm.parameters();
    const [offset, bits] = wasm.integers();
    const number = Integer.of(NUMBER).loadVector();
    bits.set(BITS);
    wasm.doWhile(() => {
      const values = (index: number) => offset.loadVector(VALUES + index * 16);
      wasm.store16(bits, relatedBits(shape, relation, values, number));
      bits.increase(RELATED_VALUES / 8);
      offset.increase(RELATED_VALUES * laneBytes(shape));
    }, offset.below(end));
  });

class CompareKernel {
  readonly #run: Kernel["run"];
  readonly #number: Uint8Array;
  readonly #bits: Uint8Array;
  readonly #values: Uint8Array;
  readonly #valueBytes: number;

  constructor({ run, memory }: Kernel, shape: LaneShape) {
    this.#run = run;
    this.#number = new Uint8Array(memory, NUMBER, 16);
    this.#bits = new Uint8Array(memory, BITS, PIECE_BYTES / 4 / 8);
    this.#values = new Uint8Array(memory, VALUES, PIECE_BYTES);
    this.#valueBytes = laneBytes(shape);
  }

  /** @param first index of the bit of the first value, a multiple of 8 */
  compare(values: Uint8Array, number: Uint8Array, bits: Uint8Array, first: number): void {
    const size = this.#valueBytes;
    for (let byte = 0; byte < 16; byte += size) this.#number.set(number, byte);
    for (let start = 0; start < values.length; start += PIECE_BYTES) {
      const end = Math.min(values.length, start + PIECE_BYTES);
      this.#values.set(values.subarray(start, end));
      // The kernel also compares bytes after the last value. Their bits are dropped.
      this.#run(end - start);
      const bytes = Math.ceil((end - start) / size / 8);
      const compared = bytes === this.#bits.length ? this.#bits : this.#bits.subarray(0, bytes);
      bits.set(compared, (first + start / size) / 8);
    }
    clearAfter(bits, first + values.length / size);
  }
}

/** Clears the bits after the last one in its byte. */
export function clearAfter(bits: Uint8Array, count: number): void {
  if ((count & 7) !== 0) bits[count >>> 3] &= (1 << (count & 7)) - 1;
}

export function kernelsByShape<Made>(
  use: (shape: LaneShape, relation: LaneRelation) => KernelUse<Made>,
): Readonly<Record<LaneShape, Readonly<Record<LaneRelation, KernelUse<Made>>>>> {
  const ofShape = (shape: LaneShape) => ({
    equal: use(shape, "equal"),
    less: use(shape, "less"),
    atMost: use(shape, "atMost"),
  });
  return {
    i32x4: ofShape("i32x4"),
    i64x2: ofShape("i64x2"),
    f32x4: ofShape("f32x4"),
    f64x2: ofShape("f64x2"),
  };
}

export const compareKernels = kernelsByShape<Pick<CompareKernel, "compare">>((shape, relation) =>
  KernelUse.of(
    () => compareKernel(shape, relation),
    (compiled) => new CompareKernel(compiled, shape),
  ),
);

/**
 * Compares values with a number.
 * @param values their bytes
 * @param number its bytes; not NaN
 * @param bits gets a bit for each value, from bit `first` on, a multiple of 8
 * @returns false without a kernel, and for few values
 */
export function compareInKernel(
  shape: LaneShape,
  relation: LaneRelation,
  values: Uint8Array,
  number: Uint8Array,
  bits: Uint8Array,
  first = 0,
): boolean {
  if (values.length < MIN_VALUES * number.length) return false;
  const compareUse = compareKernels[shape][relation].get();
  compareUse?.compare(values, number, bits, first);
  return compareUse !== null;
}
