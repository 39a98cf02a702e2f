/**
 * Compares bit-packed values with one number. They are unpacked in the registers of a WebAssembly kernel, row of lanes by
 * row of lanes (FastLanes order, as in file/compression/bitpack.ts), and are never stored: the values of a row of lanes
 * follow each other, so their bits are words of the result. One call compares many chunks. The memory of each kernel:
 *
 *     number     16 bytes: the number, as often as they have room for it
 *     masks      65 × 16 bytes: by the bits of a value, words with as many ones
 *     rows       64 × u32: by row of lanes, where its bits are in the result of a unit
 *     chunks     {@link MAX_CHUNKS} × 2 × u32: the bits of the values of each chunk, and where it begins
 *     bits       {@link MAX_CHUNKS} times a bit for each of 1024 values
 *     packed     {@link PIECE_BYTES} of chunks, and a row of lanes more that is touched but means nothing
 */

import type { ChunkedValues } from "../../arrow/columns/chunkedValues.js";
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
  type LaneRelation,
  type LaneShape,
  leaveWhen,
  load,
  loop,
  or,
  RELATED_VALUES,
  relatedBits,
  set,
  shiftLeft,
  shiftRight,
  store,
  store16,
  subtract,
  vectorAnd,
  vectorLoad,
  vectorOr,
  vectorShiftLeft,
  vectorShiftRight,
  when,
} from "../../bytes/wasm.js";
import { laneBytes } from "./compareKernel.js";

/** Bytes of chunks that are looked at in one go. */
export const PIECE_BYTES = 48 * 1024;
/** Values of a unit. */
export const UNIT = 1024;
/** Chunks that are looked at in one go: as many as have values of one bit in a piece. */
export const MAX_CHUNKS = PIECE_BYTES / (UNIT / 8);
/** Bytes of a row of lanes, packed or not. */
export const LANES_BYTES = 128;
/** Bytes of a unit for each bit of its values. */
export const BIT_BYTES = UNIT / 8;
const ROW_ORDER = [0, 4, 2, 6, 1, 5, 3, 7];

/** For each row of lanes of words of so many bits, the number of its first value. */
export const rowPlaces = (wordBits: number): number[] =>
  Array.from({ length: wordBits }, (_, row) => ROW_ORDER[row >> 3] * 16 + (row & 7) * 128);

const NUMBER = 0;
const MASKS = NUMBER + 16;
const ROWS = MASKS + 65 * 16;
const CHUNKS = ROWS + 64 * 4;
const BITS = CHUNKS + MAX_CHUNKS * 8;
const PACKED = BITS + (MAX_CHUNKS * UNIT) / 8;
const PAGES = Math.ceil((PACKED + PIECE_BYTES + LANES_BYTES) / 65536);

const unitKernel = (shape: LaneShape, relation: LaneRelation): Kernel | null =>
  kernel({
    parameters: ["chunks"],
    locals: ["chunk", "found", "packedBits", "start", "row", "bit", "packed", "shift"],
    vectors: ["mask", "number"],
    pages: PAGES,
    body: (local) => {
      const wordBits = laneBytes(shape) * 8;
      const words = wordBits === 32 ? "i32x4" : "i64x2";
      const [packedBits, row, bit] = [get(local("packedBits")), get(local("row")), get(local("bit"))];
      const [packed, shift] = [get(local("packed")), get(local("shift"))];
      const [chunk, found] = [get(local("chunk")), get(local("found"))];
      const first = (index: number) => vectorShiftRight(words, vectorLoad(packed, index * 16), shift);
      const rest = (index: number) =>
        vectorShiftLeft(
          words,
          vectorLoad(packed, LANES_BYTES + index * 16),
          subtract(constant(wordBits), shift),
        );
      const write = (value: (index: number) => Code): Code => {
        const masked = (index: number) => vectorAnd(value(index), get(local("mask")));
        const related = (from: number) =>
          relatedBits(shape, relation, (index) => masked(from + index), get(local("number")));
        const at = add(load(shiftLeft(row, constant(2)), ROWS), found);
        return wordBits === 64
          ? store16(at, related(0))
          : store(at, or(related(0), shiftLeft(related(4), constant(RELATED_VALUES))));
      };
      return [
        set(local("number"), vectorLoad(constant(NUMBER))),
        loop(
          set(local("packedBits"), load(shiftLeft(chunk, constant(3)), CHUNKS)),
          set(local("start"), load(shiftLeft(chunk, constant(3)), CHUNKS + 4)),
          set(local("mask"), vectorLoad(shiftLeft(packedBits, constant(4)), MASKS)),
          set(local("row"), constant(0)),
          set(local("bit"), constant(0)),
          loop(
            set(local("shift"), and(bit, constant(wordBits - 1))),
            set(
              local("packed"),
              add(
                get(local("start")),
                shiftLeft(shiftRight(bit, constant(Math.log2(wordBits))), constant(Math.log2(LANES_BYTES))),
              ),
            ),
            when(
              atMost(add(shift, packedBits), constant(wordBits)),
              write(first),
              write((index) => vectorOr(first(index), rest(index))),
            ),
            set(local("bit"), add(bit, packedBits)),
            set(local("row"), add(row, constant(1))),
            leaveWhen(0, below(row, constant(wordBits))),
          ),
          set(local("found"), add(found, constant(UNIT / 8))),
          set(local("chunk"), add(chunk, constant(1))),
          leaveWhen(0, below(chunk, get(local("chunks")))),
        ),
      ];
    },
  });

/** A kernel with the views of its memory. */
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
    for (const [row, position] of rowPlaces(wordBytes * 8).entries()) rows[row] = BITS + position / 8;
  }

  /**
   * Compares the chunks from `first` up to `last - 1`, which are packed and lie within a piece. They are {@link MAX_CHUNKS}
   * at most, and all but the last have a whole unit of values.
   * @param offset number of the first value among all, a multiple of 8
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

const ofShape = (shape: LaneShape) => {
  const use = (relation: LaneRelation) =>
    new KernelUse(() => {
      const compiled = unitKernel(shape, relation);
      return compiled === null ? null : new UnitKernel(compiled, shape);
    });
  return { equal: use("equal"), less: use("less"), atMost: use("atMost") };
};

/** Kernels by what is compared, and how. */
export const unitKernels: Readonly<
  Record<LaneShape, Readonly<Record<LaneRelation, KernelUse<Pick<UnitKernel, "compare">>>>>
> = {
  i32x4: ofShape("i32x4"),
  i64x2: ofShape("i64x2"),
  f32x4: ofShape("f32x4"),
  f64x2: ofShape("f64x2"),
};
