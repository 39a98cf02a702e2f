/**
 * Chunk words of a mini-block page: one for each chunk, in order. A word is a u16, or a u32 in a page with
 * large chunks (2.2).
 *
 *     bits 0–3    log2 of the chunk's values; 0 in the last chunk, which holds the rest
 *     bits 4 …    size of the chunk in units of 8 bytes, less 1
 *
 * Chunks lie back to back in the buffer of chunk data.
 */

import { bytesOf } from "../../bytes/view.js";
import { corruptPage, type PageOrigin } from "../container/page.js";

/** Returns the bytes of a chunk word. */
export const bytesPerWord = (hasLargeChunk: boolean): number => (hasLargeChunk ? 4 : 2);

/** Goes through the chunks of a page, and checks that they lie in its data and hold at most its values. */
export class ChunkWords {
  readonly chunkCount: number;
  /** Index of the chunk; -1 before the first. */
  index = -1;
  count = 0;
  /** Index, in the page, of the first value of the chunk. */
  firstValue = 0;
  /** Range of the chunk in the chunk data. */
  start = 0;
  end = 0;
  readonly #words: Uint8Array;
  readonly #wordBytes: number;

  /**
   * @param valueCount of the page
   * @param dataBytes of all chunks
   */
  constructor(
    words: Uint8Array,
    hasLargeChunk: boolean,
    private readonly valueCount: number,
    private readonly dataBytes: number,
    private readonly origin: PageOrigin,
  ) {
    this.#words = words;
    this.#wordBytes = bytesPerWord(hasLargeChunk);
    this.chunkCount = words.length / this.#wordBytes;
    if (!Number.isInteger(this.chunkCount)) throw corruptPage(origin, `${words.length} bytes of chunk words`);
    if (this.chunkCount === 0 && valueCount > 0) {
      throw corruptPage(origin, `${valueCount} values in a page without chunks`);
    }
  }

  /** Index of the value after the last of the chunk. */
  get endValue(): number {
    return this.firstValue + this.count;
  }

  /** Goes on to the next chunk; returns false after the last one. */
  next(): boolean {
    if (this.index + 1 >= this.chunkCount) return false;
    const index = ++this.index;
    const words = this.#words;
    const position = index * this.#wordBytes;
    let word = words[position] | (words[position + 1] << 8);
    if (this.#wordBytes === 4) word |= (words[position + 2] << 16) | (words[position + 3] << 24);
    this.firstValue += this.count;
    this.count = index === this.chunkCount - 1 ? this.valueCount - this.firstValue : 1 << (word & 15);
    this.start = this.end;
    this.end += ((word >>> 4) + 1) * 8;
    if (this.count < 0 || this.endValue > this.valueCount) {
      throw corruptPage(this.origin, `chunks hold more than the ${this.valueCount} values of the page`);
    }
    if (this.end > this.dataBytes) {
      throw corruptPage(this.origin, `chunk ${index} ends at ${this.end} of ${this.dataBytes} bytes`);
    }
    return true;
  }
}

/**
 * @param sizes bytes of each chunk
 * @param counts values of each chunk
 */
export function encodeChunkWords(
  sizes: readonly number[],
  counts: readonly number[],
  hasLargeChunk: boolean,
): Uint8Array {
  const words = hasLargeChunk ? new Uint32Array(sizes.length) : new Uint16Array(sizes.length);
  for (let chunk = 0; chunk < sizes.length; chunk++) {
    const log2 = chunk === sizes.length - 1 ? 0 : 31 - Math.clz32(counts[chunk]);
    words[chunk] = ((sizes[chunk] / 8 - 1) << 4) | log2;
  }
  return bytesOf(words);
}
