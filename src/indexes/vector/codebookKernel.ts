/**
 * The squared distances of the parts of a vector from all their codewords, as a WebAssembly kernel: |x|² - 2 x · w + |w|².
 * Sixteen codewords are measured at once; they lie value by value beside each other. The memory of the kernel:
 *
 *     table      for each part and codeword |w|² - 2 x · w
 *     values     the vector, times -2
 *     words      part by part in groups of 16 codewords: their |w|², then their first values, and so on
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
  loop,
  set,
  subtract,
  vectorLoad,
  vectorOfFloat,
  vectorStore,
} from "../../bytes/wasm.js";
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
  kernel({
    parameters: ["parts", "groups", "width"],
    locals: ["table", "word", "part", "value", "group", "left"],
    vectors: ["sum0", "sum1", "sum2", "sum3", "factor"],
    pages: PAGES,
    body: (local) => {
      const [parts, groups, width, table, word] = ["parts", "groups", "width", "table", "word"].map(local);
      const [part, value, group, left, factor] = ["part", "value", "group", "left", "factor"].map(local);
      const sums = [0, 1, 2, 3].map((lane) => local(`sum${lane}`));
      return [
        set(word, constant(WORDS)),
        set(part, constant(VALUES)),
        loop(
          set(group, get(groups)),
          loop(
            sums.map((sum, lane) => set(sum, vectorLoad(get(word), lane * 16))),
            set(word, add(get(word), constant(GROUP_BYTES))),
            set(value, get(part)),
            set(left, get(width)),
            loop(
              set(factor, vectorOfFloat(get(value))),
              sums.map((sum, lane) => {
                const product = laneNumbers(
                  "f32x4",
                  "multiply",
                  get(factor),
                  vectorLoad(get(word), lane * 16),
                );
                return set(sum, laneNumbers("f32x4", "add", get(sum), product));
              }),
              set(value, add(get(value), constant(4))),
              set(word, add(get(word), constant(GROUP_BYTES))),
              set(left, subtract(get(left), constant(1))),
              leaveWhen(0, get(left)),
            ),
            sums.map((sum, lane) => vectorStore(get(table), get(sum), lane * 16)),
            set(table, add(get(table), constant(GROUP_BYTES))),
            set(group, subtract(get(group), constant(1))),
            leaveWhen(0, get(group)),
          ),
          set(part, get(value)),
          set(parts, subtract(get(parts), constant(1))),
          leaveWhen(0, get(parts)),
        ),
      ];
    },
  });

/** Only tests and benchmarks switch it off. */
export const codebookKernelUse = new KernelUse(tableKernel);

/** Codewords as the kernel has them. */
export type ArrangedWords = Float32Array;

/** @returns null for codewords that are too many for the kernel */
export function arrangeWords({ parts, bits, dimension, words }: Codebook): ArrangedWords | null {
  const wordCount = 2 ** bits;
  const width = dimension / parts;
  const floats = (parts * wordCount * (width + 1)) | 0;
  const fits =
    floats * 4 <= WORD_BYTES && parts * wordCount * 4 <= TABLE_BYTES && dimension * 4 <= VALUE_BYTES;
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

/**
 * Fills a table with squared distances.
 * @param vector of all parts
 * @returns false, and nothing done, where there are no kernels
 */
export function fillSquaresInKernel(
  { parts, bits, dimension }: Codebook,
  arranged: ArrangedWords,
  vector: Float64Array,
  table: Float32Array,
): boolean {
  const made = codebookKernelUse.get();
  if (made === null) return false;
  const width = dimension / parts;
  const wordCount = 2 ** bits;
  const values = new Float32Array(made.memory, VALUES, dimension);
  for (let index = 0; index < dimension; index++) values[index] = -2 * vector[index];
  new Float32Array(made.memory, WORDS, arranged.length).set(arranged);
  made.run(parts, wordCount / GROUP, width);
  const sums = new Float32Array(made.memory, TABLE, table.length);
  for (let part = 0, entry = 0; part < parts; part++) {
    let squares = 0;
    for (let index = part * width; index < (part + 1) * width; index++) squares += vector[index] ** 2;
    // What is left of the difference of large numbers may be a little below 0.
    for (const end = entry + wordCount; entry < end; entry++)
      table[entry] = Math.max(0, squares + sums[entry]);
  }
  return true;
}
