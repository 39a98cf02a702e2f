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
  type Code,
  constant,
  get,
  type Kernel,
  KernelUse,
  kernel,
  type LaneShape,
  laneBits,
  leaveWhen,
  loop,
  or,
  set,
  shiftLeft,
  store16,
  vectorLoad,
} from "../../bytes/wasm.js";

/** Bytes that are compared at once: few enough to stay in the processor's nearest caches. */
const PIECE_BYTES = 16 * 1024;
/** Values whose bits are stored at once. */
const GROUP = 16;
/** Fewer values are not worth their way into the memory of a kernel. */
const MIN_VALUES = 256;

const NUMBER = 0;
const BITS = NUMBER + 16;
const VALUES = BITS + PIECE_BYTES / 4 / 8;
const PAGES = Math.ceil((VALUES + PIECE_BYTES) / 65536);

/** How a value stands to the number. */
type LaneRelation = Parameters<typeof laneBits>[1];

const compareKernel = (shape: LaneShape, relation: LaneRelation): Kernel | null =>
  kernel({
    parameters: ["end"],
    locals: ["at", "bits"],
    pages: PAGES,
    body: (local) => {
      const [end, at, bits] = [local("end"), local("at"), local("bits")];
      const lanes = lanesOf(shape);
      const number = vectorLoad(constant(NUMBER));
      const group = Array.from({ length: GROUP / lanes }, (_, index) => {
        const found = laneBits(shape, relation, vectorLoad(get(at), VALUES + index * 16), number);
        return index === 0 ? found : shiftLeft(found, constant(index * lanes));
      }).reduce<Code | null>((all, some) => (all === null ? some : or(all, some)), null);
      return [
        set(bits, constant(BITS)),
        loop(
          store16(get(bits), group ?? constant(0)),
          set(bits, add(get(bits), constant(GROUP / 8))),
          set(at, add(get(at), constant((GROUP / lanes) * 16))),
          leaveWhen(0, below(get(at), get(end))),
        ),
      ];
    },
  });

const lanesOf = (shape: LaneShape): number => (shape === "i32x4" || shape === "f32x4" ? 4 : 2);

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
    this.#valueBytes = 16 / lanesOf(shape);
  }

  compare(values: Uint8Array, number: Uint8Array, bits: Uint8Array): number {
    const size = this.#valueBytes;
    for (let byte = 0; byte < 16; byte += size) this.#number.set(number, byte);
    const groupBytes = GROUP * size;
    const whole = values.length - (values.length % groupBytes);
    for (let start = 0; start < whole; start += PIECE_BYTES) {
      const end = Math.min(whole, start + PIECE_BYTES);
      this.#values.set(values.subarray(start, end));
      this.#run(end - start);
      const bytes = (end - start) / size / 8;
      bits.set(bytes === this.#bits.length ? this.#bits : this.#bits.subarray(0, bytes), start / size / 8);
    }
    return whole / size;
  }
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
 * Compares the first values with a number, as many as the kernel takes.
 * @param values their bytes
 * @param number its bytes; no NaN
 * @param bits are set: a bit for each value
 * @returns how many values were compared, a multiple of 8
 */
export function compareInKernel(
  shape: LaneShape,
  relation: LaneRelation,
  values: Uint8Array,
  number: Uint8Array,
  bits: Uint8Array,
): number {
  if (values.length < MIN_VALUES * number.length) return 0;
  return compareKernels[shape][relation].get()?.compare(values, number, bits) ?? 0;
}
