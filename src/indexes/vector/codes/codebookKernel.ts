/**
 * Squared distances of the parts of a vector from all their codewords, as a WebAssembly kernel: |x|² - 2 x ·
 * w + |w|². It measures sixteen codewords at once, which lie side by side, value by value. The memory:
 *
 *     table      for each part and codeword the squared distance; rounding may make it negative, and the
 *                kernel stores 0
 *     values     for each part of the vector its |x|², and its values times -2
 *     words      part by part in groups of 16 codewords: their |w|², then their first values, and so on
 */

import { type Kernel, KernelUse, kernel } from "../../../bytes/wasm/kernel.js";
import { Vector } from "../../../bytes/wasm/values.js";
import type { Codebook } from "./codebook.js";

const TABLE_BYTES = 4 * 1024 * 1024;
const VALUE_BYTES = 64 * 1024;
const WORD_BYTES = 8 * 1024 * 1024;
const GROUP = 16;
const GROUP_BYTES = GROUP * 4;

const TABLE = 0;
const VALUES = TABLE + TABLE_BYTES;
const WORDS = VALUES + VALUE_BYTES;
const PAGES = (WORDS + WORD_BYTES) / 65_536;

const tableKernel = (): Kernel | null =>
  kernel(PAGES, (wasm) => {
    const [parts, groups, width] = wasm.parameters();
    const [table, word, part, value, group, left] = wasm.integers();
    const sums = [0, 1, 2, 3].map(() => wasm.vector());
    const factor = wasm.vector();
    word.set(WORDS);
    part.set(VALUES);
    wasm.repeat(parts, () => {
      group.set(groups);
      wasm.repeat(group, () => {
        for (const [lane, sum] of sums.entries()) sum.set(word.loadVector(lane * 16));
        word.increase(GROUP_BYTES);
        value.set(part.plus(4));
        left.set(width);
        wasm.repeat(left, () => {
          factor.set(value.loadRepeated());
          for (const [lane, sum] of sums.entries())
            sum.increase("f32x4", factor.times("f32x4", word.loadVector(lane * 16)));
          value.increase(4);
          word.increase(GROUP_BYTES);
        });
        factor.set(part.loadRepeated());
        for (const [lane, sum] of sums.entries())
          wasm.store(table, factor.plus("f32x4", sum).maxFloats(Vector.ofByte(0)), lane * 16);
        table.increase(GROUP_BYTES);
      });
      part.set(value);
    });
  });

/** Returns the codewords in the order of the kernel; null for more than it has room for. */
export function arrangeWords({ parts, bits, dimension, words }: Codebook): Float32Array | null {
  const wordCount = 2 ** bits;
  const width = dimension / parts;
  const floats = (parts * wordCount * (width + 1)) | 0;
  const fits =
    floats * 4 <= WORD_BYTES &&
    parts * wordCount * 4 <= TABLE_BYTES &&
    (dimension + parts) * 4 <= VALUE_BYTES;
  if (!fits) return null;
  const arranged = new Float32Array(floats);
  for (let word = 0; word < parts * wordCount; word++) {
    const start = Math.floor(word / GROUP) * GROUP * (width + 1) + (word % GROUP);
    let squares = 0;
    for (let index = 0; index < width; index++) {
      const value = words[word * width + index];
      arranged[start + (index + 1) * GROUP] = value;
      squares += value * value;
    }
    arranged[start] = squares;
  }
  return arranged;
}

type FillSquares = (
  codebook: Codebook,
  arranged: Float32Array,
  vector: Float64Array,
  table: Float32Array,
) => void;

/** Opens views of the kernel's memory. */
function openTable({ run, memory }: Kernel): FillSquares {
  const tableView = new Float32Array(memory, TABLE, TABLE_BYTES / 4);
  const values = new Float32Array(memory, VALUES, VALUE_BYTES / 4);
  const words = new Float32Array(memory, WORDS, WORD_BYTES / 4);
  /** Codewords in the memory, which most searches use again. */
  let loaded: Float32Array | null = null;
  return ({ parts, bits, dimension }, arranged, vector, table) => {
    const width = dimension / parts;
    const wordCount = 2 ** bits;
    for (let part = 0, from = 0, to = 0; part < parts; part++) {
      const squaresIndex = to++;
      let squares = 0;
      for (const end = from + width; from < end; from++) {
        const value = vector[from];
        squares += value * value;
        values[to++] = -2 * value;
      }
      values[squaresIndex] = squares;
    }
    if (loaded !== arranged) words.set(arranged);
    loaded = arranged;
    run(parts, wordCount / GROUP, width);
    table.set(tableView.subarray(0, parts * wordCount));
  };
}

export const codebookKernelUse = KernelUse.of(tableKernel, openTable);

/**
 * Fills a table with squared distances.
 * @param vector all its parts
 * @returns false, with nothing done, without a kernel
 */
export function fillSquaresInKernel(...values: Parameters<FillSquares>): boolean {
  const fill = codebookKernelUse.get();
  fill?.(...values);
  return fill !== null;
}
