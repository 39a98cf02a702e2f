/**
 * Squared distances of one SQ code from the codes of rows, as a WebAssembly kernel that takes eight values at
 * once. The memory:
 *
 *     query     the one code, zero-padded to whole groups of 16 bytes
 *     sums      an integer of 32 bits for each row
 *     codes     those of rows, padded likewise
 */

import { type Kernel, KernelUse, kernel } from "../../../bytes/wasm/kernel.js";
import { Vector } from "../../../bytes/wasm/values.js";

/** Maximum number of values of a code: the sum of their squares fits in 32 bits. */
export const MAX_STEP_VALUES = 16_384;
const MAX_ROWS = 2048;
const CODE_BYTES = 256 * 1024;
const GROUP = 16;

const QUERY = 0;
const SUMS = QUERY + MAX_STEP_VALUES;
const CODES = SUMS + MAX_ROWS * 4;
const PAGES = Math.ceil((CODES + CODE_BYTES) / 65_536);

const squaresKernel = (): Kernel | null =>
  kernel(PAGES, (wasm) => {
    const [rows, groups] = wasm.parameters();
    const [code, query, left, target] = wasm.integers();
    const [sum, difference] = wasm.vectors();
    const addSquares = (offset: number): void => {
      difference.set(code.loadWidened(CODES + offset).minusShorts(query.loadWidened(QUERY + offset)));
      sum.increase("i32x4", difference.productsOfShorts(difference));
    };
    wasm.repeat(rows, () => {
      sum.set(Vector.ofByte(0));
      query.set(0);
      left.set(groups);
      wasm.repeat(left, () => {
        addSquares(0);
        addSquares(8);
        code.increase(GROUP);
        query.increase(GROUP);
      });
      wasm.store(target, sum.sumOfWords(), SUMS);
      target.increase(4);
    });
  });

type FillSquares = (
  query: Uint8Array,
  codes: Uint8Array,
  rows: Uint32Array | null,
  count: number,
  sums: Float64Array,
) => void;

/** Opens views of the kernel's memory. */
function openSquares({ run, memory }: Kernel): FillSquares {
  const queryView = new Uint8Array(memory, QUERY, MAX_STEP_VALUES);
  const sumsView = new Uint32Array(memory, SUMS, MAX_ROWS);
  const codesView = new Uint8Array(memory, CODES, CODE_BYTES);
  const words = new Uint32Array(memory, CODES, CODE_BYTES / 4);
  /** Code in the memory. */
  let loaded: Uint8Array | null = null;
  return (query, codes, rows, count, sums) => {
    const dimension = query.length;
    const width = Math.ceil(dimension / GROUP) * GROUP;
    if (loaded !== query) {
      queryView.fill(0, dimension, width);
      queryView.set(query);
      loaded = query;
    }
    const pieceRows = Math.min(MAX_ROWS, Math.floor(CODE_BYTES / width));
    for (let start = 0; start < count; start += pieceRows) {
      const end = Math.min(count, start + pieceRows);
      if (rows === null && width === dimension) codesView.set(codes.subarray(start * width, end * width));
      else if (rows !== null && width === dimension && codes.byteOffset % 4 === 0)
        putWords(words, codes, width, rows.subarray(start, end));
      else {
        for (let position = start, to = 0; position < end; position++, to += width) {
          const from = (rows === null ? position : rows[position]) * dimension;
          codesView.set(codes.subarray(from, from + dimension), to);
          codesView.fill(0, to + dimension, to + width);
        }
      }
      run(end - start, width / GROUP);
      for (let row = start; row < end; row++) sums[row] = sumsView[row - start];
    }
  };
}

/** Copies whole words in a loop, which for short rows is faster than a call for each. */
function putWords(words: Uint32Array, codes: Uint8Array, width: number, rows: Uint32Array): void {
  const all = new Uint32Array(codes.buffer, codes.byteOffset, codes.length >>> 2);
  const rowWords = width / 4;
  for (let position = 0, to = 0; position < rows.length; position++)
    for (let from = rows[position] * rowWords, last = from + rowWords; from < last; )
      words[to++] = all[from++];
}

export const stepSquaresKernelUse = KernelUse.of(squaresKernel, openSquares);

/**
 * Fills in the squared distances of a code from those of rows.
 * @param query must not change after the call
 * @param rows numbers of the rows to measure; null for the first `count`
 * @returns false, with nothing done, without a kernel for this many values
 */
export function stepSquaresInKernel(...[query, ...rest]: Parameters<FillSquares>): boolean {
  const fill = query.length <= MAX_STEP_VALUES ? stepSquaresKernelUse.get() : null;
  fill?.(query, ...rest);
  return fill !== null;
}
