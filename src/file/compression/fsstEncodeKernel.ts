/**
 * FSST encoding as a WebAssembly kernel: the loop of `encodeRows` in fsst.ts. The length of each code decides
 * where the next bytes begin, and the lookup mostly waits for memory, so the kernel encodes two runs of
 * values by turns. A block holds only whole values. The memory:
 *
 *     symbols     by slot of the first three bytes: 8 bytes, zero-padded
 *     entries     by slot: code and length × 256 of the symbol, as u16; 0 if there is none
 *     masks       by length: the bytes of 8 that count; all of them for length 0, whose symbol no bytes equal
 *     byteCodes   by the next byte: code and length × 256 of the symbol of that byte alone, or 0
 *     shortCodes  by the next two bytes: the entry of the longest symbol of one or two bytes, or 0
 *     ends        u32 for each value of the block: its end, and after encoding the end of its codes
 *     input       the values, at their alignment modulo 8 in the page, and 8 bytes more
 *     output      their codes, at most two for each byte: those of the first run at the start, those of the
 *                 second after twice as many bytes as the first run has
 */

import { ESCAPE_CODE } from "../../arrow/columns/lazyValues.js";
import { phaseOf } from "../../bytes/aligned.js";
import { HASH_PRIME } from "../../bytes/hash.js";
import { type Kernel, KernelUse, kernel } from "../../bytes/wasm/kernel.js";
import type { Label } from "../../bytes/wasm/kernelCode.js";
import type { IntegerLocal } from "../../bytes/wasm/values.js";
import { type FsstSymbolTable, HASH_SHIFT } from "./fsstTraining.js";

/** Maximum number of bytes, and of values, of a block. */
export const ENCODED_BYTES = 64 * 1024;
export const ENCODED_VALUES = 8192;

const SLOTS = 1 << (32 - HASH_SHIFT);
const SYMBOLS = 0;
const ENTRIES = SYMBOLS + 8 * SLOTS;
const MASKS = ENTRIES + 2 * SLOTS;
const BYTE_CODES = MASKS + 8 * 16;
const SHORT_CODES = BYTE_CODES + 2 * 256;
const ENDS = SHORT_CODES + 2 * 65536;
const INPUT = ENDS + 4 * ENCODED_VALUES;
const OUTPUT = INPUT + ENCODED_BYTES + 16;
const PAGES = Math.ceil((OUTPUT + 2 * ENCODED_BYTES) / 65536);

/** Progress of a run of values: `end` is the end of the current value, read from the word at `position`. */
interface Run {
  readonly read: IntegerLocal;
  readonly end: IntegerLocal;
  readonly write: IntegerLocal;
  readonly position: IntegerLocal;
  readonly last: IntegerLocal;
}

const encodeKernel = (): Kernel | null =>
  kernel(PAGES, (wasm) => {
    const [readA, writeA, positionA, lastA, readB, writeB, positionB, lastB] = wasm.parameters();
    const [endA, endB, low, slot, entry] = wasm.integers();
    const runs: readonly [Run, Run] = [
      { read: readA, end: endA, write: writeA, position: positionA, last: lastA },
      { read: readB, end: endB, write: writeB, position: positionB, last: lastB },
    ];
    const length = entry.shiftRight(8);
    /** Encodes the next bytes of a value that has some. */
    const step = ({ read, end, write }: Run): void => {
      const isPastEnd = read.plus(length).above(end);
      const difference = read.loadLong().xor(slot.shiftLeft(3).loadLong(SYMBOLS));
      const differs = difference.and(length.shiftLeft(3).loadLong(MASKS)).isZero().equals(0);
      low.set(read.load());
      slot.set(low.and(0xffffff).times(HASH_PRIME).shiftRight(HASH_SHIFT));
      entry.set(slot.shiftLeft(1).load16(ENTRIES));
      const shortEntry = low.and(0xffff).shiftLeft(1).load16(SHORT_CODES);
      entry.set(differs.or(isPastEnd).choose(shortEntry, entry));
      wasm.when(isPastEnd, () => entry.set(low.and(0xff).shiftLeft(1).load16(BYTE_CODES)));
      wasm.when(
        entry.equals(0),
        () => {
          wasm.store8(write, ESCAPE_CODE);
          wasm.store8(write.plus(1), low);
          write.increase(2);
          read.increase(1);
        },
        () => {
          wasm.store8(write, entry);
          write.increase(1);
          read.increase(length);
        },
      );
    };
    /** Goes on to the next value that has bytes. */
    const next = ({ read, end, write, position, last }: Run, hasEnded: Label): void =>
      wasm.loop((again) =>
        wasm.block((hasBytes) => {
          hasBytes.jumpWhen(end.above(read));
          wasm.store(position, write);
          position.increase(4);
          hasEnded.jumpWhen(position.equals(last));
          end.set(position.load());
          again.jump();
        }),
      );
    /** Encodes runs by turns until one of them ends. */
    const encode = (together: readonly Run[]): void =>
      wasm.block((hasEnded) => {
        for (const { position, last } of together) hasEnded.jumpWhen(position.equals(last));
        wasm.loop((again) => {
          for (const run of together) next(run, hasEnded);
          for (const run of together) step(run);
          again.jump();
        });
      });
    for (const { end, position } of runs) end.set(position.load());
    encode(runs);
    for (const run of runs) encode([run]);
  });

/** The kernel with the views of its memory. */
export class FsstEncoder {
  readonly #run: Kernel["run"];
  readonly #bytes: Uint8Array;
  readonly #words: Int32Array;
  readonly #shorts: Uint16Array;

  constructor({ run, memory }: Kernel) {
    this.#run = run;
    this.#bytes = new Uint8Array(memory);
    this.#words = new Int32Array(memory);
    this.#shorts = new Uint16Array(memory);
    this.#words.fill(-1, MASKS / 4, MASKS / 4 + 2);
    for (let length = 1; length <= 8; length++) {
      this.#bytes.fill(0xff, MASKS + 8 * length, MASKS + 9 * length);
    }
  }

  setTable(table: FsstSymbolTable): void {
    const { slots, slotCodes, shortCodes } = table;
    for (let slot = 0; slot < SLOTS; slot++) {
      this.#words[SYMBOLS / 4 + 2 * slot] = slots[4 * slot];
      this.#words[SYMBOLS / 4 + 2 * slot + 1] = slots[4 * slot + 1];
    }
    this.#shorts.set(slotCodes, ENTRIES / 2);
    this.#shorts.set(table.byteCodes(), BYTE_CODES / 2);
    this.#shorts.set(shortCodes, SHORT_CODES / 2);
  }

  /**
   * Encodes values `first` to `last − 1`, at most {@link ENCODED_VALUES} with at most {@link ENCODED_BYTES}.
   * @param positions from index `first + 1` on, gets the end of each value's codes, counted from
   *   `positions[first]`
   * @returns the codes, in two pieces; views that the next call overwrites
   */
  encode(
    offsets: Int32Array,
    bytes: Uint8Array,
    first: number,
    last: number,
    positions: Int32Array,
  ): [Uint8Array, Uint8Array] {
    const start = offsets[first];
    const byteCount = offsets[last] - start;
    const values = bytes.subarray(start, offsets[last]);
    const input = INPUT + phaseOf(values);
    this.#bytes.set(values, input);
    const ends = ENDS / 4;
    const shift = input - start;
    let middle = first;
    for (let value = first; value < last; value++) {
      const end = offsets[value + 1];
      this.#words[ends + value - first] = end + shift;
      if (2 * (end - start) <= byteCount) middle = value + 1;
    }
    const firstBytes = offsets[middle] - start;
    const secondOutput = OUTPUT + 2 * firstBytes;
    const middleEnd = ENDS + 4 * (middle - first);
    this.#run(
      ...[input, OUTPUT, ENDS, middleEnd],
      ...[input + firstBytes, secondOutput, middleEnd, ENDS + 4 * (last - first)],
    );
    const firstSize = this.#collect(positions, first, middle, OUTPUT, ends - first);
    const secondSize = this.#collect(positions, middle, last, secondOutput, ends - first);
    return [
      this.#bytes.subarray(OUTPUT, OUTPUT + firstSize),
      this.#bytes.subarray(secondOutput, secondOutput + secondSize),
    ];
  }

  /** @returns the size of the codes of these values */
  #collect(positions: Int32Array, first: number, last: number, output: number, ends: number): number {
    const shift = positions[first] - output;
    for (let value = first; value < last; value++) positions[value + 1] = this.#words[ends + value] + shift;
    return positions[last] - positions[first];
  }
}

/** One encoder is enough, because a page is encoded without a break. */
export const fsstEncoder = KernelUse.of(encodeKernel, (compiled) => new FsstEncoder(compiled));
