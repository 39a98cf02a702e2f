/**
 * Compares bit-packed values with one number. A WebAssembly kernel unpacks them in its registers, one row of
 * lanes at a time (FastLanes order, as in file/compression/bitpack.ts), and never stores them. The values of
 * a row of lanes follow each other, so their bits are words of the result. One call compares many chunks. The
 * memory of each kernel:
 *
 *     number     16 bytes: the number, repeated
 *     masks      65 × 16 bytes: by the bits of a value, words with as many ones
 *     rows       64 × u32: by row of lanes, the address of its bits in the result of a unit
 *     chunks     {@link MAX_CHUNKS} × 2 × u32: bits of the values of each chunk, and its address
 *     bits       {@link MAX_CHUNKS} times a bit for each of 1024 values
 *     packed     {@link PIECE_BYTES} of chunks, and one more row of lanes, whose content is ignored
 */

import type { ChunkedValues } from "../../arrow/columns/lazyValues.js";
import { type Kernel, KernelUse, kernel } from "../../bytes/wasm/kernel.js";
import {
  Integer,
  type LaneRelation,
  type LaneShape,
  RELATED_VALUES,
  relatedBits,
  type Vector,
} from "../../bytes/wasm/values.js";
import { kernelsByShape, laneBytes } from "./compareKernel.js";

export const PIECE_BYTES = 48 * 1024;
export const UNIT = 1024;
/** Maximum number of chunks in one call: a piece has no more, even with values of one bit. */
export const MAX_CHUNKS = PIECE_BYTES / (UNIT / 8);
/** Bytes of a row of lanes, packed or not. */
export const LANES_BYTES = 128;
/** Bytes of a unit for each bit of its values. */
export const BIT_BYTES = UNIT / 8;
const ROW_ORDER = [0, 4, 2, 6, 1, 5, 3, 7];

/** The number of the first value of each row of lanes, for words of this width. */
export const rowOffsets = (wordBits: number): number[] =>
  Array.from({ length: wordBits }, (_, row) => ROW_ORDER[row >> 3] * 16 + (row & 7) * 128);

const NUMBER = 0;
const MASKS = NUMBER + 16;
const ROWS = MASKS + 65 * 16;
const CHUNKS = ROWS + 64 * 4;
const BITS = CHUNKS + MAX_CHUNKS * 8;
const PACKED = BITS + (MAX_CHUNKS * UNIT) / 8;
const PAGES = Math.ceil((PACKED + PIECE_BYTES + LANES_BYTES) / 65536);

const unitKernel = (shape: LaneShape, relation: LaneRelation): Kernel | null =>
  kernel(PAGES, (wasm) => {
    const [chunkCount] = wasm.parameters();
    const [chunk, unitOffset, packedBits, start, row, bit, packed, shift] = wasm.integers();
    const [mask, number] = wasm.vectors();
    const wordBits = laneBytes(shape) * 8;
    const words = wordBits === 32 ? "i32x4" : "i64x2";
    const first = (index: number) => packed.loadVector(index * 16).shiftRight(words, shift);
    const rest = (index: number) =>
      packed.loadVector(LANES_BYTES + index * 16).shiftLeft(words, Integer.of(wordBits).minus(shift));
    const write = (value: (index: number) => Vector): void => {
      const related = (from: number) =>
        relatedBits(shape, relation, (index) => value(from + index).and(mask), number);
      const address = row.shiftLeft(2).load(ROWS).plus(unitOffset);
      if (wordBits === 64) wasm.store16(address, related(0));
      else wasm.store(address, related(0).or(related(4).shiftLeft(RELATED_VALUES)));
    };
    number.set(Integer.of(NUMBER).loadVector());
    wasm.doWhile(() => {
      packedBits.set(chunk.shiftLeft(3).load(CHUNKS));
      start.set(chunk.shiftLeft(3).load(CHUNKS + 4));
      mask.set(packedBits.shiftLeft(4).loadVector(MASKS));
      row.set(0);
      bit.set(0);
      wasm.doWhile(() => {
        shift.set(bit.and(wordBits - 1));
        packed.set(start.plus(bit.shiftRight(Math.log2(wordBits)).shiftLeft(Math.log2(LANES_BYTES))));
        wasm.when(
          shift.plus(packedBits).atMost(wordBits),
          () => write(first),
          () => write((index) => first(index).or(rest(index))),
        );
        bit.increase(packedBits);
        row.increase(1);
      }, row.below(wordBits));
      unitOffset.increase(UNIT / 8);
      chunk.increase(1);
    }, chunk.below(chunkCount));
  });

class UnitKernel {
  readonly #run: Kernel["run"];
  readonly #number: Uint8Array;
  readonly #chunks: Uint32Array;
  readonly #bits: Uint8Array;
  readonly #packed: Uint8Array;

  constructor({ run, memory }: Kernel, shape: LaneShape) {
    this.#run = run;
    const wordBytes = laneBytes(shape);
    this.#number = new Uint8Array(memory, NUMBER, 16);
    this.#chunks = new Uint32Array(memory, CHUNKS, MAX_CHUNKS * 2);
    this.#bits = new Uint8Array(memory, BITS, (MAX_CHUNKS * UNIT) / 8);
    this.#packed = new Uint8Array(memory, PACKED, PIECE_BYTES);
    const masks = new Uint8Array(memory, MASKS, 65 * 16);
    for (let bits = 0; bits <= 64; bits++) {
      for (let byte = 0; byte < 16; byte++) {
        const ones = Math.min(8, Math.max(0, bits - 8 * (byte % wordBytes)));
        masks[bits * 16 + byte] = (1 << ones) - 1;
      }
    }
    const rows = new Uint32Array(memory, ROWS, 64);
    for (const [row, position] of rowOffsets(wordBytes * 8).entries()) rows[row] = BITS + position / 8;
  }

  /**
   * Compares the chunks from `first` up to `last - 1`, which are packed and lie within a piece. There are at
   * most {@link MAX_CHUNKS}, and all but the last have a whole unit of values.
   * @param offset index of the first value among all, a multiple of 8
   * @returns the number of their values
   */
  compare(
    { bytes, starts, packedBits, counts }: ChunkedValues,
    first: number,
    last: number,
    number: Uint8Array,
    bits: Uint8Array,
    offset: number,
  ): number {
    for (let byte = 0; byte < 16; byte += number.length) this.#number.set(number, byte);
    const start = starts[first];
    this.#packed.set(bytes.subarray(start, starts[last - 1] + packedBits[last - 1] * BIT_BYTES));
    for (let chunk = first, index = 0; chunk < last; chunk++) {
      this.#chunks[index++] = packedBits[chunk];
      this.#chunks[index++] = PACKED + starts[chunk] - start;
    }
    this.#run(last - first);
    const values = (last - first - 1) * UNIT + counts[last - 1];
    bits.set(this.#bits.subarray(0, Math.ceil(values / 8)), offset / 8);
    return values;
  }
}

export const unitKernels = kernelsByShape<Pick<UnitKernel, "compare">>((shape, relation) =>
  KernelUse.of(
    () => unitKernel(shape, relation),
    (compiled) => new UnitKernel(compiled, shape),
  ),
);
