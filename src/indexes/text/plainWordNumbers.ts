/** JavaScript form of the word kernel (wordNumbers.ts), for ASCII texts. */

import { enlarged } from "../../bytes/growing.js";
import type { Analyzer } from "./analyzer.js";
import { isWordByte } from "./analyzer.js";

/** Maximum number of remembered words; beyond it, all are forgotten. */
const MAX_WORDS = 2 ** 18;
/** Maximum bytes of remembered words. */
const MAX_BYTES = 4 * 2 ** 20;
/** Keeps the table at most a quarter full. */
const SLOTS = 4 * MAX_WORDS;
/** Marks a word without a token. */
const NONE = -1;

const DECODER = new TextDecoder();
const IS_WORD = Uint8Array.from({ length: 256 }, (_, byte) => (isWordByte(byte) ? 1 : 0));

/** Receives the number of a token and its position. */
export type UseNumber = (number: number, position: number) => void;

export interface WordNumbers {
  /** Announces that the memory of texts may have changed. */
  beginTexts(): void;
  /**
   * Passes the tokens of the text in `[start, end)` to `use`, in order.
   * @returns false without effect if the text needs the analyzer
   */
  each(bytes: Uint8Array, start: number, end: number, use: UseNumber): boolean;
  /** Forgets all numbers: tokens are renumbered. */
  forget(): void;
}

export class PlainWordNumbers implements WordNumbers {
  /** Number of a word plus 1 by hash; 0 if free. */
  readonly #slots = new Uint32Array(SLOTS);
  readonly #hashes = new Uint32Array(MAX_WORDS);
  readonly #ends = new Uint32Array(MAX_WORDS + 1);
  readonly #numbers = new Int32Array(MAX_WORDS);
  #bytes = new Uint8Array(64 * 1024);
  #count = 0;

  /** @param numberOf returns the number of a token, constant until {@link forget} */
  constructor(
    private readonly analyzer: Analyzer,
    private readonly numberOf: (token: string) => number,
  ) {}

  beginTexts(): void {}

  forget(): void {
    this.#slots.fill(0);
    this.#count = 0;
  }

  each(bytes: Uint8Array, start: number, end: number, use: UseNumber): boolean {
    for (let offset = start; offset < end; offset++) if (bytes[offset] >= 0x80) return false;
    let position = 0;
    let byteOffset = start;
    while (byteOffset < end) {
      if (IS_WORD[bytes[byteOffset]] === 0) {
        byteOffset++;
        continue;
      }
      const from = byteOffset;
      let hash = 0x811c9dc5;
      for (; byteOffset < end && IS_WORD[bytes[byteOffset]] === 1; byteOffset++)
        hash = Math.imul(hash ^ bytes[byteOffset], 0x01000193);
      const number = this.#find(bytes, from, byteOffset, (hash ^ (hash >>> 15)) >>> 0);
      if (number !== NONE) use(number, position);
      position++;
    }
    return true;
  }

  #find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    let slot = hash & (SLOTS - 1);
    for (;;) {
      const position = this.#slots[slot] - 1;
      if (position < 0) return this.#learn(bytes.subarray(start, end), hash);
      if (this.#hashes[position] === hash && this.#isSame(position, bytes, start, end))
        return this.#numbers[position];
      slot = (slot + 1) & (SLOTS - 1);
    }
  }

  #isSame(position: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.#ends[position];
    if (this.#ends[position + 1] - from !== end - start) return false;
    const knownBytes = this.#bytes;
    for (let offset = start, to = from; offset < end; offset++, to++)
      if (bytes[offset] !== knownBytes[to]) return false;
    return true;
  }

  #learn(word: Uint8Array, hash: number): number {
    const token = this.analyzer.tokenOf(DECODER.decode(word));
    const number = token === null ? NONE : this.numberOf(token);
    const start = this.#count === 0 ? 0 : this.#ends[this.#count];
    if (this.#count === MAX_WORDS || start + word.length > MAX_BYTES) {
      this.forget();
      return number;
    }
    if (start + word.length > this.#bytes.length) this.#bytes = enlarged(this.#bytes, start + word.length);
    this.#bytes.set(word, start);
    this.#ends[this.#count] = start;
    this.#ends[this.#count + 1] = start + word.length;
    this.#hashes[this.#count] = hash;
    this.#numbers[this.#count] = number;
    let slot = hash & (SLOTS - 1);
    while (this.#slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
    this.#slots[slot] = ++this.#count;
    return number;
  }
}
