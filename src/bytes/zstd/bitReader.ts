/** Bits of ZSTD streams, read from the end of the stream to its start. */

/** The frame is malformed. The decoder catches this error and returns false. */
export class MalformedZstd extends Error {}

/** Reads a stream from its end to its start; the highest bit set in its last byte marks its end. */
export class BackwardBits {
  readonly #bytes: Uint8Array;
  readonly #start: number;
  /** Bits not read yet. */
  #left: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#left = bitsOfStream(bytes, start, end);
  }

  get atStart(): boolean {
    return this.#left === 0;
  }

  /** Reads `count` ≤ 30 bits. */
  read(count: number): number {
    if (count > 16) return this.read(count - 16) * 65536 + this.read(16);
    const left = this.#left - count;
    if (left < 0) throw new MalformedZstd();
    this.#left = left;
    const offset = this.#start + (left >>> 3);
    const bytes = this.#bytes;
    const word = bytes[offset] | (bytes[offset + 1] << 8) | (bytes[offset + 2] << 16);
    return (word >>> (left & 7)) & ((1 << count) - 1);
  }

  /** Reads `count` bits; null if fewer are left. */
  readIfLeft(count: number): number | null {
    return count > this.#left ? null : this.read(count);
  }
}

/** Returns the number of bits in a stream, before the bit that marks its end. */
export function bitsOfStream(bytes: Uint8Array, start: number, end: number): number {
  if (start >= end || bytes[end - 1] === 0) throw new MalformedZstd();
  return (end - start) * 8 - 8 + highestBit(bytes[end - 1]);
}

export const highestBit = (value: number): number => 31 - Math.clz32(value);
