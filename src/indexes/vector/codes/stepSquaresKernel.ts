/**
 * The squared distances of a code of SQ from those of rows, as a WebAssembly kernel: eight steps at once. The memory of the
 * kernel:
 *
 *     own       the one code, filled up with zeros to whole groups of 16 bytes
 *     sums      an integer of 32 bits for each row
 *     codes     those of rows, filled up in the same way
 */

import {
  add,
  constant,
  get,
  integerOfLanes,
  type Kernel,
  KernelUse,
  kernel,
  laneNumbers,
  leaveWhen,
  loadWidened,
  loop,
  productsOfWords,
  set,
  store,
  subtract,
  subtractWords,
  vectorConstant,
} from "../../../bytes/wasm.js";

/** Of so many values, no sum of squares is too large. */
export const MAX_STEP_VALUES = 16_384;
const MAX_ROWS = 2048;
const CODE_BYTES = 256 * 1024;
const GROUP = 16;

const OWN = 0;
const SUMS = OWN + MAX_STEP_VALUES;
const CODES = SUMS + MAX_ROWS * 4;
const PAGES = Math.ceil((CODES + CODE_BYTES) / 65_536);

const squaresKernel = (): Kernel | null =>
  kernel({
    parameters: ["rows", "groups"],
    locals: ["at", "own", "left", "target"],
    vectors: ["sum", "difference"],
    pages: PAGES,
    body: (local) => {
      const [rows, index, own, left, target] = ["rows", "at", "own", "left", "target"].map(local);
      const [sum, difference] = ["sum", "difference"].map(local);
      const addSquares = (offset: number) => [
        set(
          difference,
          subtractWords(loadWidened(get(index), CODES + offset), loadWidened(get(own), OWN + offset)),
        ),
        set(sum, laneNumbers("i32x4", "add", get(sum), productsOfWords(get(difference), get(difference)))),
      ];
      return loop(
        set(sum, vectorConstant(new Array(16).fill(0))),
        set(own, constant(0)),
        set(left, get(local("groups"))),
        loop(
          addSquares(0),
          addSquares(8),
          set(index, add(get(index), constant(GROUP))),
          set(own, add(get(own), constant(GROUP))),
          set(left, subtract(get(left), constant(1))),
          leaveWhen(0, get(left)),
        ),
        store(get(target), integerOfLanes(sum), SUMS),
        set(target, add(get(target), constant(4))),
        set(rows, subtract(get(rows), constant(1))),
        leaveWhen(0, get(rows)),
      );
    },
  });

/** The kernel with views of its memory. */
class StepSquares {
  readonly #run: Kernel["run"];
  readonly #own: Uint8Array;
  readonly #sums: Uint32Array;
  readonly #codes: Uint8Array;
  readonly #words: Uint32Array;
  /** The code that is in the memory. */
  #loaded: Uint8Array | null = null;

  constructor({ run, memory }: Kernel) {
    this.#run = run;
    this.#own = new Uint8Array(memory, OWN, MAX_STEP_VALUES);
    this.#sums = new Uint32Array(memory, SUMS, MAX_ROWS);
    this.#codes = new Uint8Array(memory, CODES, CODE_BYTES);
    this.#words = new Uint32Array(memory, CODES, CODE_BYTES / 4);
  }

  fill(
    own: Uint8Array,
    codes: Uint8Array,
    rows: Uint32Array | null,
    count: number,
    sums: Float64Array,
  ): void {
    const dimension = own.length;
    const width = Math.ceil(dimension / GROUP) * GROUP;
    if (this.#loaded !== own) {
      this.#own.fill(0, dimension, width);
      this.#own.set(own);
      this.#loaded = own;
    }
    const pieceRows = Math.min(MAX_ROWS, Math.floor(CODE_BYTES / width));
    for (let start = 0; start < count; start += pieceRows) {
      const end = Math.min(count, start + pieceRows);
      if (rows === null && width === dimension) this.#codes.set(codes.subarray(start * width, end * width));
      else if (rows !== null && width === dimension && codes.byteOffset % 4 === 0)
        this.#putWords(codes, width, rows, start, end);
      else this.#put(codes, dimension, width, rows, start, end);
      this.#run(end - start, width / GROUP);
      for (let row = start; row < end; row++) sums[row] = this.#sums[row - start];
    }
  }

  #put(
    codes: Uint8Array,
    dimension: number,
    width: number,
    rows: Uint32Array | null,
    start: number,
    end: number,
  ): void {
    for (let position = start, to = 0; position < end; position++, to += width) {
      const from = (rows === null ? position : rows[position]) * dimension;
      this.#codes.set(codes.subarray(from, from + dimension), to);
      this.#codes.fill(0, to + dimension, to + width);
    }
  }

  /** The same of whole words: a loop is quicker than a call for each of the rows, which are short. */
  #putWords(codes: Uint8Array, width: number, rows: Uint32Array, start: number, end: number): void {
    const all = new Uint32Array(codes.buffer, codes.byteOffset, codes.length >>> 2);
    const [words, rowWords] = [this.#words, width / 4];
    for (let position = start, to = 0; position < end; position++) {
      for (let from = rows[position] * rowWords, last = from + rowWords; from < last; )
        words[to++] = all[from++];
    }
  }
}

/** Only tests and benchmarks switch it off. */
export const stepSquaresKernelUse = new KernelUse(() => {
  const made = squaresKernel();
  return made === null ? null : new StepSquares(made);
});

/**
 * Fills the squared distances of a code from those of rows.
 * @param own does not change any more
 * @param rows whose codes are meant; null for the first `count`
 * @returns false, and nothing done, where there is no kernel for so many values
 */
export function stepSquaresInKernel(
  own: Uint8Array,
  codes: Uint8Array,
  rows: Uint32Array | null,
  count: number,
  sums: Float64Array,
): boolean {
  const made = own.length <= MAX_STEP_VALUES ? stepSquaresKernelUse.get() : null;
  if (made === null) return false;
  if (count > 0) made.fill(own, codes, rows, count, sums);
  return true;
}
