/**
 * FSST decoding as a WebAssembly kernel: the loop of `decodeFsstPlainly` in fsst.ts, which in JavaScript cannot move
 * eight bytes at once. Codes are passed in blocks, regardless of where values begin and end. Its memory:
 *
 *     symbols     256 × 8 bytes, zero-padded
 *     lengths     256 × u32
 *     consumed    u32: how far the codes decoded reach; stays 0 where one of them means nothing
 *     codes       of the block, as far behind a multiple of 8 as where they came from, and one byte more, for an escape at
 *                 its end
 *     positions   i32 for each code, and one for the end: where in the memory its symbol went; -1 for the byte
 *                 behind an escape
 *     output      what the codes stand for
 *
 * Addresses never leave the memory for any codes: each code takes one position and stores at most eight bytes.
 */

import { ESCAPE_CODE } from "../../arrow/columns/codedValues.js";
import { phaseOf } from "../../bytes/aligned.js";
import {
  add,
  atLeast,
  block,
  type Code,
  constant,
  equal,
  get,
  type Kernel,
  KernelUse,
  kernel,
  leave,
  leaveWhen,
  load,
  load8,
  load64,
  loop,
  set,
  shiftLeft,
  store,
  store8,
  store64,
  subtract,
} from "../../bytes/wasm.js";

/** Most codes of a block. */
export const BLOCK_CODES = 8192;

const SYMBOLS = 0;
const LENGTHS = SYMBOLS + 8 * 256;
const CONSUMED = LENGTHS + 4 * 256;
const CODES = CONSUMED + 8;
const POSITIONS = CODES + BLOCK_CODES + 16;
const OUTPUT = POSITIONS + 4 * (BLOCK_CODES + 2);
const PAGES = Math.ceil((OUTPUT + 8 * (BLOCK_CODES + 1)) / 65536);

/** Codes decoded between two checks for the end of the block. */
const UNROLLED = 4;

const decodeKernel = (): Kernel | null =>
  kernel({
    parameters: ["read", "end", "write", "position", "count"],
    locals: ["code"],
    pages: PAGES,
    body: (local) => {
      const read = local("read");
      const end = local("end");
      const write = local("write");
      const position = local("position");
      const code = local("code");
      const advance = (codes: number): Code => [
        set(read, add(get(read), constant(codes))),
        set(position, add(get(position), constant(4 * codes))),
      ];
      // Decodes one code. A code without symbol, such as the escape, leaves the block around the one it is in.
      const one: Code = [
        store(get(position), get(write)),
        set(code, load8(get(read))),
        leaveWhen(1, atLeast(get(code), get(local("count")))),
        store64(get(write), load64(shiftLeft(get(code), constant(3)), SYMBOLS)),
        set(write, add(get(write), load(shiftLeft(get(code), constant(2)), LENGTHS))),
        advance(1),
      ];
      return block(
        loop(
          block(
            block(
              leaveWhen(0, atLeast(add(get(read), constant(UNROLLED - 1)), get(end))),
              Array.from({ length: UNROLLED }, () => one),
              leave(2),
            ),
            block(leaveWhen(0, atLeast(get(read), get(end))), one, leave(2)),
            store(get(position), get(write)),
            store(constant(CONSUMED), subtract(get(read), constant(CODES))),
            leave(2),
          ),
          block(leaveWhen(0, equal(get(code), constant(ESCAPE_CODE))), leave(2)),
          store8(get(write), load8(get(read), 1)),
          set(write, add(get(write), constant(1))),
          store(get(position), constant(-1), 4),
          advance(2),
          leave(0),
        ),
      );
    },
  });

/** The kernel with the views of its memory. Symbols stay until others are set, output until the next block. */
export class FsstDecoder {
  /** Where the symbol of each code of the last block went, counted from {@link ORIGIN}; -1 behind an escape. */
  readonly positions: Int32Array;
  readonly #run: Kernel["run"];
  readonly #bytes: Uint8Array;
  readonly #words: Int32Array;

  constructor({ run, memory }: Kernel) {
    this.#run = run;
    this.#bytes = new Uint8Array(memory);
    this.#words = new Int32Array(memory);
    this.positions = new Int32Array(memory, POSITIONS, BLOCK_CODES + 2);
  }

  /** Sets the symbols by code: their first four bytes, their last four bytes and their lengths. */
  setSymbols(low: Int32Array, high: Int32Array, lengths: Uint8Array): void {
    const words = this.#words;
    for (let code = 0; code < 256; code++) {
      words[SYMBOLS / 4 + 2 * code] = low[code];
      words[SYMBOLS / 4 + 2 * code + 1] = high[code];
    }
    words.set(lengths, LENGTHS / 4);
  }

  /**
   * Decodes one to {@link BLOCK_CODES} codes.
   * @param count codes below this have a symbol
   * @returns the number of codes decoded: one more than were given if the last is an escape, 0 if one of them has no
   * symbol
   */
  decode(codes: Uint8Array, start: number, end: number, count: number): number {
    const block = codes.subarray(start, end + 1);
    const phase = phaseOf(block);
    this.#bytes.set(block, CODES + phase);
    this.#words[CONSUMED / 4] = 0;
    this.#run(CODES + phase, CODES + phase + end - start, OUTPUT, POSITIONS, count);
    return Math.max(0, this.#words[CONSUMED / 4] - phase);
  }

  /** What `consumed` codes of the last block stand for; a view that the next block overwrites. */
  output(consumed: number): Uint8Array {
    return this.#bytes.subarray(OUTPUT, this.positions[consumed]);
  }

  static readonly ORIGIN = OUTPUT;
}

/** One decoder is enough, because a page is decoded without a break. */
export const fsstDecoder = new KernelUse(() => {
  const made = decodeKernel();
  return made === null ? null : new FsstDecoder(made);
});
