/**
 * Looks packed integers of 32 bits up in a set of bits (integerSet.ts) as a WebAssembly kernel. The kernel
 * unpacks them in its registers, one row of lanes at a time, as in chunkKernel.ts. The values of a row follow
 * each other, so their bits are one word of the result. The memory:
 *
 *     least      16 bytes: the number of the first bit, four times
 *     end        16 bytes: distance from the first bit to the bit that is never set, four times
 *     masks      33 × 16 bytes: by the bits of a value, words with as many ones
 *     rows       32 × u32: by row of lanes, the address of its bits in the result of a unit
 *     distances  128 bytes: distances of a row of lanes from the first bit
 *     bits       a bit for each of 1024 values
 *     packed     a unit, and one more row of lanes, whose content is ignored
 *     set        the set
 */

import { type ChunkedValues, PLAIN_CHUNK } from "../../arrow/columns/lazyValues.js";
import { type Kernel, KernelUse, kernel } from "../../bytes/wasm/kernel.js";
import { Integer, type Vector } from "../../bytes/wasm/values.js";
import { BIT_BYTES, LANES_BYTES, rowOffsets, UNIT } from "./chunkKernel.js";
import type { CloseSet } from "./integerSet.js";

/** Maximum number of bits of a set. Larger sets go without the kernel. */
const MAX_SET_BITS = 2 ** 22;
const WORD_BITS = 32;
const VECTORS = LANES_BYTES / 16;

const LEAST = 0;
const END = LEAST + 16;
const MASKS = END + 16;
const ROWS = MASKS + 33 * 16;
const DISTANCES = ROWS + WORD_BITS * 4;
const BITS = DISTANCES + LANES_BYTES;
const PACKED = BITS + UNIT / 8;
const SET = PACKED + WORD_BITS * BIT_BYTES + LANES_BYTES;
const PAGES = Math.ceil((SET + MAX_SET_BITS / 8 + 8) / 65536);

const setKernel = (): Kernel | null =>
  kernel(PAGES, (wasm) => {
    const [packedBits] = wasm.parameters();
    const [row, bit, packed, shift, distance, rowBits] = wasm.integers();
    const [mask, least, end] = wasm.vectors();
    const first = (index: number) => packed.loadVector(index * 16).shiftRight("i32x4", shift);
    const rest = (index: number) =>
      packed.loadVector(LANES_BYTES + index * 16).shiftLeft("i32x4", Integer.of(WORD_BITS).minus(shift));
    const storeDistances = (value: (index: number) => Vector): void => {
      for (let index = 0; index < VECTORS; index++) {
        const distances = value(index).and(mask).minus("i32x4", least);
        wasm.store(DISTANCES, distances.minWords(end), index * 16);
      }
    };
    /** Shifts take the distance modulo 32, which is the number of the bit in its word. */
    const lookUpRow = (): void => {
      for (let lane = 0; lane < WORD_BITS; lane++) {
        distance.set(Integer.of(DISTANCES).load(4 * lane));
        const word = distance.shiftRight(3).and(-4).load(SET);
        const laneBit = word.shiftRight(distance).and(1).shiftLeft(lane);
        rowBits.set(lane === 0 ? laneBit : rowBits.or(laneBit));
      }
    };
    mask.set(packedBits.shiftLeft(4).loadVector(MASKS));
    least.set(Integer.of(LEAST).loadVector());
    end.set(Integer.of(END).loadVector());
    wasm.doWhile(() => {
      shift.set(bit.and(WORD_BITS - 1));
      packed.set(Integer.of(PACKED).plus(bit.shiftRight(5).shiftLeft(Math.log2(LANES_BYTES))));
      wasm.when(
        shift.plus(packedBits).atMost(WORD_BITS),
        () => storeDistances(first),
        () => storeDistances((index) => first(index).or(rest(index))),
      );
      lookUpRow();
      wasm.store(row.shiftLeft(2).load(ROWS), rowBits);
      bit.increase(packedBits);
      row.increase(1);
    }, row.below(WORD_BITS));
  });

class SetKernel {
  readonly #run: Kernel["run"];
  readonly #least: Int32Array;
  readonly #end: Int32Array;
  readonly #bits: Uint8Array;
  readonly #packed: Uint8Array;
  readonly #words: Int32Array;
  #set: CloseSet | null = null;

  constructor({ run, memory }: Kernel) {
    this.#run = run;
    this.#least = new Int32Array(memory, LEAST, 4);
    this.#end = new Int32Array(memory, END, 4);
    this.#bits = new Uint8Array(memory, BITS, UNIT / 8);
    this.#packed = new Uint8Array(memory, PACKED, WORD_BITS * BIT_BYTES);
    this.#words = new Int32Array(memory, SET, MAX_SET_BITS / 32 + 1);
    const masks = new Int32Array(memory, MASKS, 33 * 4);
    for (let bits = 0; bits <= 32; bits++)
      masks.fill(bits === 32 ? -1 : 2 ** bits - 1, 4 * bits, 4 * bits + 4);
    const rows = new Uint32Array(memory, ROWS, WORD_BITS);
    for (const [row, position] of rowOffsets(WORD_BITS).entries()) rows[row] = BITS + position / 8;
  }

  /**
   * Looks up all values of some chunks.
   * @param target gets a bit for each value
   * @returns false if the set is too large, or a chunk is not packed
   */
  lookUp(set: CloseSet, { bytes, starts, counts, packedBits }: ChunkedValues, target: Uint8Array): boolean {
    if (set.words.length > this.#words.length || packedBits.includes(PLAIN_CHUNK)) return false;
    if (this.#set !== set) {
      this.#words.set(set.words);
      this.#least.fill(set.least);
      this.#end.fill(set.end);
      this.#set = set;
    }
    let offset = 0;
    for (let chunk = 0; chunk < counts.length; chunk++) {
      const start = starts[chunk];
      this.#packed.set(bytes.subarray(start, start + packedBits[chunk] * BIT_BYTES));
      this.#run(packedBits[chunk]);
      const bits = counts[chunk] === UNIT ? this.#bits : this.#bits.subarray(0, Math.ceil(counts[chunk] / 8));
      target.set(bits, offset / 8);
      offset += counts[chunk];
    }
    return true;
  }
}

export const integerSetKernel = KernelUse.of(setKernel, (compiled) => new SetKernel(compiled));
