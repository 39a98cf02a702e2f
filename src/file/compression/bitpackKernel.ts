/**
 * Bit-packing as WebAssembly kernels, two for each word width: the loops of bitpack.ts, 16 bytes at a time.
 * At every width a row of lanes is 128 bytes, both packed and unpacked. The memory of each kernel:
 *
 *     mask       16 bytes: words with as many ones as values have bits
 *     rows       64 × u32: offset of the first lane of each row among the words
 *     words      1024, not packed
 *     packed     the unit, and one more row, whose content is ignored
 */

import { type Kernel, KernelUse, kernel } from "../../bytes/wasm/kernel.js";
import type { KernelCode } from "../../bytes/wasm/kernelCode.js";
import { Integer, type ShiftShape, type Vector } from "../../bytes/wasm/values.js";

const SHAPES = { 8: "i8x16", 16: "i16x8", 32: "i32x4", 64: "i64x2" } as const satisfies Record<
  number,
  ShiftShape
>;
/** Width of the words that values are packed from. */
export type WordBits = keyof typeof SHAPES;

const UNIT = 1024;
const ROW_BYTES = 128;
const VECTORS = Array.from({ length: ROW_BYTES / 16 }, (_, vector) => vector * 16);

const MASK = 0;
const ROWS = MASK + 16;
const WORDS = ROWS + 4 * 64;
const PACKED = WORDS + 8 * UNIT;
const PAGES = Math.ceil((PACKED + 8 * UNIT + ROW_BYTES) / 65536);

/** Locals of the code for one row: `words` and `packed` are byte offsets. */
interface Row {
  readonly wasm: KernelCode;
  readonly words: Integer;
  /** The packed row in which it begins. */
  readonly packed: Integer;
  /** Bits of the packed words that come before it. */
  readonly shift: Integer;
  readonly packedBits: Integer;
}
type RowBody = (row: Row, wordBits: WordBits, shape: ShiftShape) => void;

const unpackRow: RowBody = ({ wasm, words, packed, shift, packedBits }, wordBits, shape) => {
  const first = (vector: number) => packed.loadVector(PACKED + vector).shiftRight(shape, shift);
  const rest = (vector: number) =>
    packed.loadVector(PACKED + ROW_BYTES + vector).shiftLeft(shape, Integer.of(wordBits).minus(shift));
  const write = (value: (vector: number) => Vector): void => {
    const mask = Integer.of(MASK).loadVector();
    for (const vector of VECTORS) wasm.store(words, value(vector).and(mask), WORDS + vector);
  };
  wasm.when(
    shift.plus(packedBits).atMost(wordBits),
    () => write(first),
    () => write((vector) => first(vector).or(rest(vector))),
  );
};

const packRow: RowBody = ({ wasm, words, packed, shift, packedBits }, wordBits, shape) => {
  const value = (vector: number) => words.loadVector(WORDS + vector);
  const write = (written: (vector: number) => Vector, offset = 0): void => {
    for (const vector of VECTORS) wasm.store(packed, written(vector), PACKED + offset + vector);
  };
  // The first row in a word overwrites the old word; so does the part of a row in the next word.
  wasm.when(
    shift,
    () => write((vector) => packed.loadVector(PACKED + vector).or(value(vector).shiftLeft(shape, shift))),
    () => write(value),
  );
  wasm.when(
    shift.plus(packedBits).atMost(wordBits),
    () => {},
    () => write((vector) => value(vector).shiftRight(shape, Integer.of(wordBits).minus(shift)), ROW_BYTES),
  );
};

const rowKernel = (wordBits: WordBits, body: RowBody): Kernel | null =>
  kernel(PAGES, (wasm) => {
    const [packedBits] = wasm.parameters();
    const [row, bit, packed, words, shift] = wasm.integers();
    wasm.doWhile(() => {
      words.set(row.shiftLeft(2).load(ROWS));
      shift.set(bit.and(wordBits - 1));
      packed.set(bit.shiftRight(Math.log2(wordBits)).shiftLeft(7));
      body({ wasm, words, packed, shift, packedBits }, wordBits, SHAPES[wordBits]);
      bit.increase(packedBits);
      row.increase(1);
    }, row.below(wordBits));
  });

/** A kernel with the views of its memory. */
export class UnitKernel {
  readonly #run: Kernel["run"];
  readonly #words: Uint8Array;
  readonly #packed: Uint8Array;
  readonly #mask: Uint8Array;
  readonly #wordBytes: number;
  #maskBits = 0;

  constructor({ run, memory }: Kernel, wordBits: WordBits, rowStarts: Int32Array) {
    this.#run = run;
    this.#wordBytes = wordBits / 8;
    this.#words = new Uint8Array(memory, WORDS, this.#wordBytes * UNIT);
    this.#packed = new Uint8Array(memory, PACKED, 8 * UNIT);
    this.#mask = new Uint8Array(memory, MASK, 16);
    const rows = new Int32Array(memory, ROWS, wordBits);
    for (let row = 0; row < wordBits; row++) rows[row] = rowStarts[row] * this.#wordBytes;
  }

  /** @param packed a unit of `packedBits` > 0 */
  unpack(packedBits: number, packed: Uint8Array, output: Uint8Array, outputOffset: number): void {
    if (packedBits !== this.#maskBits) this.#setMask(packedBits);
    this.#packed.set(packed);
    this.#run(packedBits);
    output.set(this.#words, outputOffset);
  }

  /** @param words 1024 words, none of more than `packedBits` > 0 bits */
  pack(packedBits: number, words: Uint8Array, output: Uint8Array, outputOffset: number): void {
    this.#words.set(words);
    this.#run(packedBits);
    output.set(this.#packed.subarray(0, packedBits * ROW_BYTES), outputOffset);
  }

  #setMask(packedBits: number): void {
    for (let byte = 0; byte < 16; byte++) {
      const ones = Math.min(8, Math.max(0, packedBits - 8 * (byte % this.#wordBytes)));
      this.#mask[byte] = (1 << ones) - 1;
    }
    this.#maskBits = packedBits;
  }
}

export type UnitKernels<Use extends "pack" | "unpack"> = Readonly<
  Record<WordBits, KernelUse<Pick<UnitKernel, Use>>>
>;

/** @param rowStarts number of the value in lane 0 of each row */
export const packKernels = (rowStarts: Int32Array): UnitKernels<"pack"> => unitKernels(packRow, rowStarts);

/** The kernels that unpack units of {@link packKernels}. */
export const unpackKernels = (rowStarts: Int32Array): UnitKernels<"unpack"> =>
  unitKernels(unpackRow, rowStarts);

function unitKernels(body: RowBody, rowStarts: Int32Array): Record<WordBits, KernelUse<UnitKernel>> {
  const ofWidth = (wordBits: WordBits) =>
    KernelUse.of(
      () => rowKernel(wordBits, body),
      (compiled) => new UnitKernel(compiled, wordBits, rowStarts),
    );
  return { 8: ofWidth(8), 16: ofWidth(16), 32: ofWidth(32), 64: ofWidth(64) };
}
