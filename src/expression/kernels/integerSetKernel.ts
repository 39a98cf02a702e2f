/**
 * Looks packed integers of 32 bits up in a set of bits (integerSet.ts) as a WebAssembly kernel. They are unpacked in its
 * registers, row of lanes by row of lanes, as in chunkKernel.ts: the values of a row follow each other, so their bits are
 * one word of the result. Its memory:
 *
 *     least      16 bytes: the number of the first bit, four times
 *     end        16 bytes: how far behind it the bit is that is never set, four times
 *     masks      33 × 16 bytes: by the bits of a value, words with as many ones
 *     rows       32 × u32: by row of lanes, where its bits are in the result of a unit
 *     distances  128 bytes: of a row of lanes, how far they are from the first bit
 *     bits       a bit for each of 1024 values
 *     packed     a unit, and a row of lanes more that is touched but means nothing
 *     set        the set
 */

import { type ChunkedValues, PLAIN_CHUNK } from "../../arrow/columns/chunkedValues.js";
import {
  add,
  and,
  atMost,
  below,
  type Code,
  constant,
  get,
  type Kernel,
  KernelUse,
  kernel,
  laneNumbers,
  leaveWhen,
  load,
  loop,
  or,
  set,
  shiftLeft,
  shiftRight,
  smallerWords,
  store,
  subtract,
  vectorAnd,
  vectorLoad,
  vectorOr,
  vectorShiftLeft,
  vectorShiftRight,
  vectorStore,
  when,
} from "../../bytes/wasm.js";
import { BIT_BYTES, LANES_BYTES, rowPlaces, UNIT } from "./chunkKernel.js";
import type { CloseSet } from "./integerSet.js";

/** Bits of the set, at most: those of larger ones are looked up without a kernel. */
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
  kernel({
    parameters: ["packedBits"],
    locals: ["row", "bit", "packed", "shift", "distance", "found"],
    vectors: ["mask", "least", "end"],
    pages: PAGES,
    body: (local) => {
      const [packedBits, row, bit] = [get(local("packedBits")), get(local("row")), get(local("bit"))];
      const [packed, shift] = [get(local("packed")), get(local("shift"))];
      const first = (index: number) => vectorShiftRight("i32x4", vectorLoad(packed, index * 16), shift);
      const rest = (index: number) =>
        vectorShiftLeft(
          "i32x4",
          vectorLoad(packed, LANES_BYTES + index * 16),
          subtract(constant(WORD_BITS), shift),
        );
      const storeDistances = (value: (index: number) => Code): Code =>
        Array.from({ length: VECTORS }, (_, index) => {
          const own = vectorAnd(value(index), get(local("mask")));
          const distance = laneNumbers("i32x4", "subtract", own, get(local("least")));
          return vectorStore(constant(DISTANCES), smallerWords(distance, get(local("end"))), index * 16);
        });
      return [
        set(local("mask"), vectorLoad(shiftLeft(packedBits, constant(4)), MASKS)),
        set(local("least"), vectorLoad(constant(LEAST))),
        set(local("end"), vectorLoad(constant(END))),
        loop(
          set(local("shift"), and(bit, constant(WORD_BITS - 1))),
          set(
            local("packed"),
            add(constant(PACKED), shiftLeft(shiftRight(bit, constant(5)), constant(Math.log2(LANES_BYTES)))),
          ),
          when(
            atMost(add(shift, packedBits), constant(WORD_BITS)),
            storeDistances(first),
            storeDistances((index) => vectorOr(first(index), rest(index))),
          ),
          lookUpRow(local),
          store(load(shiftLeft(row, constant(2)), ROWS), get(local("found"))),
          set(local("bit"), add(bit, packedBits)),
          set(local("row"), add(row, constant(1))),
          leaveWhen(0, below(row, constant(WORD_BITS))),
        ),
      ];
    },
  });

/** Gathers the bits of a row of lanes. The number of a bit in its word is its distance modulo 32, as shifts take it. */
function lookUpRow(local: (name: string) => number): Code {
  const [distance, found] = [local("distance"), local("found")];
  return Array.from({ length: WORD_BITS }, (_, lane): Code => {
    const word = load(and(shiftRight(get(distance), constant(3)), constant(-4)), SET);
    const own = shiftLeft(and(shiftRight(word, get(distance)), constant(1)), constant(lane));
    return [
      set(distance, load(constant(DISTANCES), 4 * lane)),
      set(found, lane === 0 ? own : or(get(found), own)),
    ];
  });
}

/** The kernel with the views of its memory. */
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
    for (const [row, position] of rowPlaces(WORD_BITS).entries()) rows[row] = BITS + position / 8;
  }

  /**
   * Looks up all values of some chunks.
   * @param target is set: a bit for each value
   * @returns false where the set is too large, and where some chunk is not packed
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
      const found =
        counts[chunk] === UNIT ? this.#bits : this.#bits.subarray(0, Math.ceil(counts[chunk] / 8));
      target.set(found, offset / 8);
      offset += counts[chunk];
    }
    return true;
  }
}

export const integerSetKernel = new KernelUse(() => {
  const made = setKernel();
  return made === null ? null : new SetKernel(made);
});
