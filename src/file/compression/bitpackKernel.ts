/**
 * Bit-packing as WebAssembly kernels, two for each word width: the loops of bitpack.ts, 16 bytes at a time. At every
 * width a row of lanes is 128 bytes, both packed and unpacked. The memory of each kernel:
 *
 *     mask       16 bytes: words with as many ones as values have bits
 *     rows       64 × u32: where the first lane of each row is among the words
 *     words      1024, not packed
 *     packed     the unit, and a row more that is touched but means nothing
 */

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
  leaveWhen,
  load,
  loop,
  set,
  shiftLeft,
  shiftRight,
  subtract,
  type VectorShape,
  vectorAnd,
  vectorLoad,
  vectorOr,
  vectorShiftLeft,
  vectorShiftRight,
  vectorStore,
  when,
} from "../../bytes/wasm.js";

const SHAPES = { 8: "i8x16", 16: "i16x8", 32: "i32x4", 64: "i64x2" } as const satisfies Record<
  number,
  VectorShape
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

/** The code for one row, from the addresses of its words and of the packed row it begins in, and the shift in bits. */
type RowBody = (words: Code, packed: Code, shift: Code, packedBits: Code, shape: VectorShape) => Code;

const unpackRow =
  (wordBits: WordBits): RowBody =>
  (words, packed, shift, packedBits, shape) => {
    const first = (vector: number) => vectorShiftRight(shape, vectorLoad(packed, PACKED + vector), shift);
    const rest = (vector: number) =>
      vectorShiftLeft(
        shape,
        vectorLoad(packed, PACKED + ROW_BYTES + vector),
        subtract(constant(wordBits), shift),
      );
    const write = (value: (vector: number) => Code): Code =>
      VECTORS.map((vector) =>
        vectorStore(words, vectorAnd(value(vector), vectorLoad(constant(MASK))), WORDS + vector),
      );
    return when(
      atMost(add(shift, packedBits), constant(wordBits)),
      write(first),
      write((vector) => vectorOr(first(vector), rest(vector))),
    );
  };

const packRow =
  (wordBits: WordBits): RowBody =>
  (words, packed, shift, packedBits, shape) => {
    const value = (vector: number) => vectorLoad(words, WORDS + vector);
    const write = (written: (vector: number) => Code, offset = 0): Code =>
      VECTORS.map((vector) => vectorStore(packed, written(vector), PACKED + offset + vector));
    // The first row in a word overwrites what was there; so does the part of a row that goes on in the next word.
    return [
      when(
        shift,
        write((vector) =>
          vectorOr(vectorLoad(packed, PACKED + vector), vectorShiftLeft(shape, value(vector), shift)),
        ),
        write(value),
      ),
      when(
        atMost(add(shift, packedBits), constant(wordBits)),
        [],
        write(
          (vector) => vectorShiftRight(shape, value(vector), subtract(constant(wordBits), shift)),
          ROW_BYTES,
        ),
      ),
    ];
  };

const rowKernel = (wordBits: WordBits, body: RowBody): Kernel | null =>
  kernel({
    parameters: ["packedBits"],
    locals: ["row", "bit", "packed", "words", "shift"],
    pages: PAGES,
    body: (local) => {
      const [packedBits, row, bit, packed, words, shift] = [
        local("packedBits"),
        local("row"),
        local("bit"),
        local("packed"),
        local("words"),
        local("shift"),
      ];
      return loop(
        set(words, load(shiftLeft(get(row), constant(2)), ROWS)),
        set(shift, and(get(bit), constant(wordBits - 1))),
        set(packed, shiftLeft(shiftRight(get(bit), constant(Math.log2(wordBits))), constant(7))),
        body(get(words), get(packed), get(shift), get(packedBits), SHAPES[wordBits]),
        set(bit, add(get(bit), get(packedBits))),
        set(row, add(get(row), constant(1))),
        leaveWhen(0, below(get(row), constant(wordBits))),
      );
    },
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

/** Kernels by word width. */
export type UnitKernels<Use extends "pack" | "unpack"> = Readonly<
  Record<WordBits, KernelUse<Pick<UnitKernel, Use>>>
>;

/** @param rowStarts number of the value in lane 0 of each row */
export const packKernels = (rowStarts: Int32Array): UnitKernels<"pack"> => unitKernels(packRow, rowStarts);

/** The kernels that unpack what {@link packKernels} pack. */
export const unpackKernels = (rowStarts: Int32Array): UnitKernels<"unpack"> =>
  unitKernels(unpackRow, rowStarts);

function unitKernels(
  bodyOf: (wordBits: WordBits) => RowBody,
  rowStarts: Int32Array,
): Record<WordBits, KernelUse<UnitKernel>> {
  const ofWidth = (wordBits: WordBits) =>
    new KernelUse(() => {
      const compiled = rowKernel(wordBits, bodyOf(wordBits));
      return compiled === null ? null : new UnitKernel(compiled, wordBits, rowStarts);
    });
  return { 8: ofWidth(8), 16: ofWidth(16), 32: ofWidth(32), 64: ofWidth(64) };
}
