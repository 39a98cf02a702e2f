/**
 * FSST decoding as a WebAssembly kernel: the loop of `decodeFsstPlainly` in fsst.ts, which in JavaScript
 * cannot move eight bytes at once. A block of codes may begin and end inside a value. The memory:
 *
 *     symbols     256 × 8 bytes, zero-padded
 *     lengths     256 × u32
 *     consumed    u32: number of codes decoded; stays 0 if one of them has no symbol
 *     codes       those of the block, at their alignment modulo 8 in the page, and one byte for an escape at
 *                 the end
 *     positions   i32 for each code, and one for the end: address of its symbol in the output; -1 for the
 *                 byte after an escape
 *     output      the symbols of the codes
 *
 * No codes can move an address out of the memory: each code takes one position and stores at most eight
 * bytes.
 */

import { ESCAPE_CODE } from "../../arrow/columns/lazyValues.js";
import { phaseOf } from "../../bytes/aligned.js";
import { type Kernel, KernelUse, kernel } from "../../bytes/wasm/kernel.js";
import type { Label } from "../../bytes/wasm/kernelCode.js";

const BLOCK_CODES = 8192;

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
  kernel(PAGES, (wasm) => {
    const [read, end, write, position, count] = wasm.parameters();
    const [code] = wasm.integers();
    const advance = (codes: number): void => {
      read.increase(codes);
      position.increase(4 * codes);
    };
    /** An escape has no symbol either. */
    const decodeOne = (noSymbol: Label): void => {
      wasm.store(position, write);
      code.set(read.load8());
      noSymbol.jumpWhen(code.atLeast(count));
      wasm.store(write, code.shiftLeft(3).loadLong(SYMBOLS));
      write.increase(code.shiftLeft(2).load(LENGTHS));
      advance(1);
    };
    wasm.loop((next) => {
      wasm.block((noSymbol) => {
        wasm.block((isNearEnd) => {
          isNearEnd.jumpWhen(read.plus(UNROLLED - 1).atLeast(end));
          for (let index = 0; index < UNROLLED; index++) decodeOne(noSymbol);
          next.jump();
        });
        wasm.block((isAtEnd) => {
          isAtEnd.jumpWhen(read.atLeast(end));
          decodeOne(noSymbol);
          next.jump();
        });
        wasm.store(position, write);
        wasm.store(CONSUMED, read.minus(CODES));
        wasm.return();
      });
      wasm.block((isEscape) => {
        isEscape.jumpWhen(code.equals(ESCAPE_CODE));
        wasm.return();
      });
      wasm.store8(write, read.load8(1));
      write.increase(1);
      wasm.store(position, -1, 4);
      advance(2);
      next.jump();
    });
  });

/** The kernel with the views of its memory. Symbols stay until the next set, output until the next block. */
export class FsstDecoder {
  /** Address of the symbol of each code of the last block, from {@link origin} on; -1 after an escape. */
  readonly positions: Int32Array;
  /** Address of the first byte of the output. */
  readonly origin = OUTPUT;
  /** Maximum number of codes of a block. */
  readonly blockCodes = BLOCK_CODES;
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
   * @returns the number of codes decoded: one more than requested if the last is an escape, 0 if one has no
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

  /** The text of `consumed` codes of the last block; a view that the next block overwrites. */
  output(consumed: number): Uint8Array {
    return this.#bytes.subarray(OUTPUT, this.positions[consumed]);
  }
}

/** One decoder is enough, because a page is decoded without a break. */
export const fsstDecoder = KernelUse.of(decodeKernel, (compiled) => new FsstDecoder(compiled));
