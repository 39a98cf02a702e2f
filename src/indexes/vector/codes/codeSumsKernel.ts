/**
 * Adds up the table entries of the codes of rows, as a WebAssembly kernel: four rows at once, each in the
 * order of its codes. Codes are bytes. The memory:
 *
 *     table      for each code of a row 256 floats of 32 bits
 *     sums       a float of 32 bits for each row
 *     codes      byte b of row r at r · step + b · stride, and bytes after them, which the last step reads
 *                and ignores
 */

import { type Kernel, KernelUse, kernel } from "../../../bytes/wasm/kernel.js";
import { type Integer, Vector } from "../../../bytes/wasm/values.js";

const MAX_CODES = 512;
const MAX_ROWS = 8192;
const CODE_BYTES = 512 * 1024;
const ENTRY_BYTES = 256 * 4;
const ROWS_AT_ONCE = 4;

const TABLE = 0;
const SUMS = TABLE + MAX_CODES * ENTRY_BYTES;
const CODES = SUMS + MAX_ROWS * 4;
// The last step may read rows after the codes.
const PAGES = Math.ceil((CODES + CODE_BYTES + ROWS_AT_ONCE * MAX_CODES) / 65_536);

const sumsKernel = (): Kernel | null =>
  kernel(PAGES, (wasm) => {
    const [groups, codeCount, step, stride] = wasm.parameters();
    const [row, code, table, left, target, code1, code2, code3] = wasm.integers();
    const [sum] = wasm.vectors();
    const entryOf = (address: Integer) => table.plus(address.load8(CODES).shiftLeft(2));
    wasm.repeat(groups, () => {
      sum.set(Vector.ofByte(0));
      code.set(row);
      table.set(0);
      left.set(codeCount);
      wasm.repeat(left, () => {
        code1.set(code.plus(step));
        code2.set(code1.plus(step));
        code3.set(code2.plus(step));
        const entries = [entryOf(code), entryOf(code1), entryOf(code2), entryOf(code3)] as const;
        sum.increase("f32x4", Vector.ofAddresses(entries, TABLE));
        code.increase(stride);
        table.increase(ENTRY_BYTES);
      });
      wasm.store(target, sum, SUMS);
      target.increase(ROWS_AT_ONCE * 4);
      row.increase(step.shiftLeft(2));
    });
  });

type FillSums = (table: Float32Array, codes: Uint8Array, isTransposed: boolean, sums: Float32Array) => void;

/** Opens views of the kernel's memory. */
function openSums({ run, memory }: Kernel): FillSums {
  const tableView = new Float32Array(memory, TABLE, (MAX_CODES * ENTRY_BYTES) / 4);
  const sumsView = new Float32Array(memory, SUMS, MAX_ROWS);
  const codesView = new Uint8Array(memory, CODES, CODE_BYTES);
  return (table, codes, isTransposed, sums) => {
    const codeCount = table.length / 256;
    const rowCount = sums.length;
    tableView.set(table);
    const pieceRows = Math.min(MAX_ROWS, Math.floor(CODE_BYTES / codeCount));
    for (let start = 0; start < rowCount; start += pieceRows) {
      const count = Math.min(pieceRows, rowCount - start);
      if (!isTransposed) codesView.set(codes.subarray(start * codeCount, (start + count) * codeCount));
      else if (count === rowCount) codesView.set(codes.subarray(0, rowCount * codeCount));
      else {
        for (let code = 0; code < codeCount; code++) {
          const first = code * rowCount + start;
          codesView.set(codes.subarray(first, first + count), code * count);
        }
      }
      const [step, stride] = isTransposed ? [1, count] : [codeCount, 1];
      run(Math.ceil(count / ROWS_AT_ONCE), codeCount, step, stride);
      sums.set(sumsView.subarray(0, count), start);
    }
  };
}

export const codeSumsKernelUse = KernelUse.of(sumsKernel, openSums);

/**
 * Fills in the sums of rows.
 * @param table 256 entries for each code of a row
 * @param codes those of the rows; if transposed, the first codes of all rows come first
 * @returns false, with nothing done, without a kernel for this many codes
 */
export function codeSumsInKernel(...[table, ...rest]: Parameters<FillSums>): boolean {
  const fill = table.length / 256 <= MAX_CODES ? codeSumsKernelUse.get() : null;
  fill?.(table, ...rest);
  return fill !== null;
}
