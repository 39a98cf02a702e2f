/**
 * Adds up what the codes of rows stand for in a table, as a WebAssembly kernel: four rows at once, whose entries are added in
 * the order of the codes. Codes are bytes. The memory of the kernel:
 *
 *     table      for each code of a row 256 floats of 32 bits
 *     sums       a float of 32 bits for each row
 *     codes      byte b of row r at r · step + b · stride, and what may be read behind them
 */

import {
  add,
  constant,
  get,
  type Kernel,
  KernelUse,
  kernel,
  laneNumbers,
  leaveWhen,
  load8,
  loop,
  set,
  shiftLeft,
  subtract,
  vectorConstant,
  vectorOfAddresses,
  vectorStore,
} from "../../../bytes/wasm.js";

const MAX_CODES = 512;
const MAX_ROWS = 8192;
const CODE_BYTES = 512 * 1024;
const ENTRY_BYTES = 256 * 4;
const ROWS_AT_ONCE = 4;

const TABLE = 0;
const SUMS = TABLE + MAX_CODES * ENTRY_BYTES;
const CODES = SUMS + MAX_ROWS * 4;
// Of the last rows at once, some may lie behind the codes.
const PAGES = Math.ceil((CODES + CODE_BYTES + ROWS_AT_ONCE * MAX_CODES) / 65_536);

const sumsKernel = (): Kernel | null =>
  kernel({
    parameters: ["groups", "codeCount", "step", "stride"],
    locals: ["row", "at", "table", "left", "target", "next1", "next2", "next3"],
    vectors: ["sum"],
    pages: PAGES,
    body: (local) => {
      const [groups, step, row, index, table] = ["groups", "step", "row", "at", "table"].map(local);
      const [left, target, sum] = ["left", "target", "sum"].map(local);
      const [next1, next2, next3] = ["next1", "next2", "next3"].map(local);
      const entryOf = (position: number) =>
        add(get(table), shiftLeft(load8(get(position), CODES), constant(2)));
      return loop(
        set(sum, vectorConstant(new Array(16).fill(0))),
        set(index, get(row)),
        set(table, constant(0)),
        set(left, get(local("codeCount"))),
        loop(
          set(next1, add(get(index), get(step))),
          set(next2, add(get(next1), get(step))),
          set(next3, add(get(next2), get(step))),
          set(
            sum,
            laneNumbers(
              "f32x4",
              "add",
              get(sum),
              vectorOfAddresses([entryOf(index), entryOf(next1), entryOf(next2), entryOf(next3)], TABLE),
            ),
          ),
          set(index, add(get(index), get(local("stride")))),
          set(table, add(get(table), constant(ENTRY_BYTES))),
          set(left, subtract(get(left), constant(1))),
          leaveWhen(0, get(left)),
        ),
        vectorStore(get(target), get(sum), SUMS),
        set(target, add(get(target), constant(ROWS_AT_ONCE * 4))),
        set(row, add(get(row), shiftLeft(get(step), constant(2)))),
        set(groups, subtract(get(groups), constant(1))),
        leaveWhen(0, get(groups)),
      );
    },
  });

/** The kernel with views of its memory. */
class CodeSums {
  readonly #run: Kernel["run"];
  readonly #table: Float32Array;
  readonly #sums: Float32Array;
  readonly #codes: Uint8Array;

  constructor({ run, memory }: Kernel) {
    this.#run = run;
    this.#table = new Float32Array(memory, TABLE, (MAX_CODES * ENTRY_BYTES) / 4);
    this.#sums = new Float32Array(memory, SUMS, MAX_ROWS);
    this.#codes = new Uint8Array(memory, CODES, CODE_BYTES);
  }

  fill(table: Float32Array, codes: Uint8Array, isTransposed: boolean, sums: Float32Array): void {
    const codeCount = table.length / 256;
    const rowCount = sums.length;
    this.#table.set(table);
    const pieceRows = Math.min(MAX_ROWS, Math.floor(CODE_BYTES / codeCount));
    for (let start = 0; start < rowCount; start += pieceRows) {
      const count = Math.min(pieceRows, rowCount - start);
      if (!isTransposed) this.#codes.set(codes.subarray(start * codeCount, (start + count) * codeCount));
      else if (count === rowCount) this.#codes.set(codes.subarray(0, rowCount * codeCount));
      else {
        for (let code = 0; code < codeCount; code++) {
          const first = code * rowCount + start;
          this.#codes.set(codes.subarray(first, first + count), code * count);
        }
      }
      const [step, stride] = isTransposed ? [1, count] : [codeCount, 1];
      this.#run(Math.ceil(count / ROWS_AT_ONCE), codeCount, step, stride);
      sums.set(this.#sums.subarray(0, count), start);
    }
  }
}

/** Only tests and benchmarks switch it off. */
export const codeSumsKernelUse = new KernelUse(() => {
  const made = sumsKernel();
  return made === null ? null : new CodeSums(made);
});

/**
 * Fills the sums of rows.
 * @param table 256 entries for each code of a row
 * @param codes of the rows; where they are transposed, the first code of all rows comes first
 * @returns false, and nothing done, where there is no kernel for so many codes
 */
export function codeSumsInKernel(
  table: Float32Array,
  codes: Uint8Array,
  isTransposed: boolean,
  sums: Float32Array,
): boolean {
  const made = table.length / 256 <= MAX_CODES ? codeSumsKernelUse.get() : null;
  if (made === null) return false;
  if (sums.length > 0) made.fill(table, codes, isTransposed, sums);
  return true;
}
