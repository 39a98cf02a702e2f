/**
 * Comparisons of values with one number as WebAssembly kernels, 16 bytes at a time: the loops of compareNumber.ts and, for
 * integers of 64 bits, of compare.ts. The memory of each kernel:
 *
 *     number     16 bytes: the number, as often as they have room for it
 *     bits       a bit for each value
 *     values     {@link PIECE_BYTES}
 */

import {
  add,
  below,
  constant,
  get,
  type Kernel,
  KernelUse,
  kernel,
  type LaneRelation,
  type LaneShape,
  leaveWhen,
  loop,
  RELATED_VALUES,
  relatedBits,
  set,
  store16,
  vectorLoad,
} from "../../bytes/wasm.js";

/** Bytes that are compared at once: few enough to stay in the processor's nearest caches. */
const PIECE_BYTES = 16 * 1024;
/** Fewer values are not worth their way into the memory of a kernel. */
const MIN_VALUES = 256;

const NUMBER = 0;
const BITS = NUMBER + 16;
const VALUES = BITS + PIECE_BYTES / 4 / 8;
const PAGES = Math.ceil((VALUES + PIECE_BYTES) / 65536);

/** Bytes of a value. */
export const laneBytes = (shape: LaneShape): number => (shape === "i32x4" || shape === "f32x4" ? 4 : 8);

const compareKernel = (shape: LaneShape, relation: LaneRelation): Kernel | null =>
  kernel({
    parameters: ["end"],
    locals: ["at", "bits"],
    pages: PAGES,
    body: (local) => {
      const [end, slot, bits] = [local("end"), local("at"), local("bits")];
      const number = vectorLoad(constant(NUMBER));
      const value = (index: number) => vectorLoad(get(slot), VALUES + index * 16);
      return [
        set(bits, constant(BITS)),
        loop(
          store16(get(bits), relatedBits(shape, relation, value, number)),
          set(bits, add(get(bits), constant(RELATED_VALUES / 8))),
          set(slot, add(get(slot), constant(RELATED_VALUES * laneBytes(shape)))),
          leaveWhen(0, below(get(slot), get(end))),
        ),
      ];
    },
  });

/** A kernel with the views of its memory. */
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

  /** @param first number of the bit of the first value, a multiple of 8 */
  compare(values: Uint8Array, number: Uint8Array, bits: Uint8Array, first: number): void {
    const size = this.#valueBytes;
    for (let byte = 0; byte < 16; byte += size) this.#number.set(number, byte);
    for (let start = 0; start < values.length; start += PIECE_BYTES) {
      const end = Math.min(values.length, start + PIECE_BYTES);
      this.#values.set(values.subarray(start, end));
      // What lies behind the last values is compared too, to no effect.
      this.#run(end - start);
      const bytes = Math.ceil((end - start) / size / 8);
      const compared = bytes === this.#bits.length ? this.#bits : this.#bits.subarray(0, bytes);
      bits.set(compared, (first + start / size) / 8);
    }
    clearBehind(bits, first + values.length / size);
  }
}

/** Clears the bits behind the last one, up to the end of its byte. */
export function clearBehind(bits: Uint8Array, count: number): void {
  if ((count & 7) !== 0) bits[count >>> 3] &= (1 << (count & 7)) - 1;
}

type CompareKernels = Readonly<
  Record<LaneShape, Readonly<Record<LaneRelation, KernelUse<Pick<CompareKernel, "compare">>>>>
>;

const ofShape = (shape: LaneShape) => {
  const use = (relation: LaneRelation) =>
    new KernelUse(() => {
      const compiled = compareKernel(shape, relation);
      return compiled === null ? null : new CompareKernel(compiled, shape);
    });
  return { equal: use("equal"), less: use("less"), atMost: use("atMost") };
};

/** Kernels by what is compared, and how. */
export const compareKernels: CompareKernels = {
  i32x4: ofShape("i32x4"),
  i64x2: ofShape("i64x2"),
  f32x4: ofShape("f32x4"),
  f64x2: ofShape("f64x2"),
};

/**
 * Compares values with a number.
 * @param values their bytes
 * @param number its bytes; no NaN
 * @param bits are set: a bit for each value, from number `first` on, a multiple of 8
 * @returns false where there is no kernel, and for few values
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
  const made = compareKernels[shape][relation].get();
  made?.compare(values, number, bits, first);
  return made !== null;
}
