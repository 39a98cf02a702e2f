/** Bits of ZSTD streams, written from the start; readers begin at the end. */

import { enlarged } from "../growing.js";

/** Bits of the longest Huffman code. */
export const MAXIMUM_CODE_BITS = 11;

/** Writes bits, the first one lowest. */
export class BitWriter {
  #bytes: Uint8Array;
  #position = 0;
  #word = 0;
  #bits = 0;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#position;
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#position);
  }

  /** Adds up to 24 bits. */
  add(value: number, count: number): void {
    this.#word |= value << this.#bits;
    this.#bits += count;
    this.#reserve(4);
    while (this.#bits >= 8) {
      this.#bytes[this.#position++] = this.#word;
      this.#word >>>= 8;
      this.#bits -= 8;
    }
  }

  /** Adds the codes of symbols, at most 11 bits each, the last symbol's first. */
  addCodes(symbols: Uint8Array, codes: Uint16Array, lengths: Uint8Array): void {
    const most = 4 + Math.ceil((symbols.length * MAXIMUM_CODE_BITS) / 8);
    this.#reserve(most);
    const bytes = this.#bytes;
    let position = this.#position;
    let word = this.#word;
    let bits = this.#bits;
    for (let offset = symbols.length - 1; offset >= 0; offset--) {
      const symbol = symbols[offset];
      word |= codes[symbol] << bits;
      bits += lengths[symbol];
      // Fewer than 16 bits and the next code always fit into a word.
      if (bits >= 16) {
        bytes[position] = word;
        bytes[position + 1] = word >>> 8;
        position += 2;
        word >>>= 16;
        bits -= 16;
      }
    }
    for (; bits >= 8; bits -= 8) {
      bytes[position++] = word;
      word >>>= 8;
    }
    this.#position = position;
    this.#word = word;
    this.#bits = bits;
  }

  /** Pads the last byte with zeros. */
  align(): void {
    if (this.#bits > 0) this.add(0, 8 - this.#bits);
  }

  /** Ends a stream for readers that begin at its end. */
  close(): void {
    this.add(1, 1);
    this.align();
  }

  append(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  #reserve(byteCount: number): void {
    const needed = this.#position + byteCount;
    if (needed > this.#bytes.length) this.#bytes = enlarged(this.#bytes, needed);
  }
}

export const bitLength = (value: number): number => 32 - Math.clz32(value);
