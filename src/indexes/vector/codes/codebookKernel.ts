/**
 * The squared distances of the parts of a vector from all their codewords, as a WebAssembly kernel: |x|² - 2 x · w + |w|².
 * Sixteen codewords are measured at once; they lie value by value beside each other. The memory of the kernel:
 *
 *     table      for each part and codeword the squared distance; what is left of the difference of large numbers may be a
 *                little below 0, and becomes 0
 *     values     for each part of the vector its |x|², and its values times -2
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
  largerFloats,
  leaveWhen,
  loop,
  set,
  subtract,
  vectorConstant,
  vectorLoad,
  vectorOfFloat,
  vectorStore,
} from "../../../bytes/wasm.js";
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
const NONE = vectorConstant(new Array(16).fill(0));

const tableKernel = (): TableKernel | null => {
  const made = compiledKernel();
  return made === null ? null : new TableKernel(made);
};

const compiledKernel = (): Kernel | null =>
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
            set(value, add(get(part), constant(4))),
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
            set(factor, vectorOfFloat(get(part))),
            sums.map((sum, lane) => {
              const squared = laneNumbers("f32x4", "add", get(factor), get(sum));
              return vectorStore(get(table), largerFloats(squared, NONE), lane * 16);
            }),
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

/** Codewords as the kernel has them. */
export type ArrangedWords = Float32Array;

/** @returns null for codewords that are too many for the kernel */
export function arrangeWords({ parts, bits, dimension, words }: Codebook): ArrangedWords | null {
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

/** The kernel with views of its memory. */
class TableKernel {
  readonly #run: Kernel["run"];
  readonly #values: Float32Array;
  readonly #words: Float32Array;
  readonly #table: Float32Array;
  /** The codewords that are in the memory: they are those of one index for most searches. */
  #arranged: ArrangedWords | null = null;

  constructor({ run, memory }: Kernel) {
    this.#run = run;
    this.#table = new Float32Array(memory, TABLE, TABLE_BYTES / 4);
    this.#values = new Float32Array(memory, VALUES, VALUE_BYTES / 4);
    this.#words = new Float32Array(memory, WORDS, WORD_BYTES / 4);
  }

  fill({ parts, bits, dimension }: Codebook, arranged: ArrangedWords, vector: Float64Array): Float32Array {
    const width = dimension / parts;
    const wordCount = 2 ** bits;
    const values = this.#values;
    for (let part = 0, from = 0, to = 0; part < parts; part++) {
      const own = to++;
      let squares = 0;
      for (const end = from + width; from < end; from++) {
        const value = vector[from];
        squares += value * value;
        values[to++] = -2 * value;
      }
      values[own] = squares;
    }
    if (this.#arranged !== arranged) {
      this.#words.set(arranged);
      this.#arranged = arranged;
    }
    this.#run(parts, wordCount / GROUP, width);
    return this.#table.subarray(0, parts * wordCount);
  }
}

/** Only tests and benchmarks switch it off. */
export const codebookKernelUse = new KernelUse(tableKernel);

/**
 * Fills a table with squared distances.
 * @param vector of all parts
 * @returns false, and nothing done, where there are no kernels
 */
export function fillSquaresInKernel(
  codebook: Codebook,
  arranged: ArrangedWords,
  vector: Float64Array,
  table: Float32Array,
): boolean {
  const made = codebookKernelUse.get();
  if (made === null) return false;
  table.set(made.fill(codebook, arranged, vector));
  return true;
}
