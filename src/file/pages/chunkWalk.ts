/**
 * Walks the chunks of a mini-block page (structural/miniBlock.ts) without decoding them. Finds each chunk and
 * its parts, and checks that they lie in the page.
 */

import { alignedBytes, alignTo8 } from "../../bytes/aligned.js";
import type { MiniBlockLayout } from "../../format/encodings.js";
import { type WordMemory, wordMemory } from "../compression/pickBitpacked.js";
import { corruptPage, type PageOrigin } from "../container/page.js";
import { ChunkWords } from "../structural/chunkWords.js";

/** Location of a chunk. The members about its parts are those of the chunk that was opened last. */
export interface ChunkPlace {
  /** The page's chunks, at an address that is a multiple of 8. */
  readonly data: Uint8Array;
  /** Memory of the chunks, as words. */
  readonly memory: WordMemory;
  /** Number of values in the chunk. */
  readonly count: number;
  /** Index, in the page, of the first value of the chunk. */
  readonly firstValue: number;
  /** Byte offset of each value buffer in the data; `sizes` has its bytes. */
  readonly starts: readonly number[];
  readonly sizes: readonly number[];
  /** Number of levels of each kind. */
  readonly levelCount: number;
}

/** Returns the bytes of a value buffer of an opened chunk. */
export const valueBuffer = ({ data, starts, sizes }: ChunkPlace, buffer: number): Uint8Array =>
  data.subarray(starts[buffer], starts[buffer] + sizes[buffer]);

export class ChunkWalk extends ChunkWords implements ChunkPlace {
  readonly data: Uint8Array;
  readonly memory: WordMemory;
  readonly starts: number[];
  readonly sizes: number[];
  levelCount = 0;
  readonly #page: MiniBlockLayout;
  readonly #origin: PageOrigin;
  /** Byte ranges of an opened chunk's levels. Numbers, because a chunk is opened for every few values. */
  #repetitionStart = 0;
  #repetitionSize = 0;
  #definitionStart = 0;
  #definitionSize = 0;

  /** @param page with as many value buffers as its encoding has */
  constructor(page: MiniBlockLayout, [words, bytes]: readonly Uint8Array[], origin: PageOrigin) {
    super(words, page.hasLargeChunk, page.itemCount, bytes.length, origin);
    this.#page = page;
    this.#origin = origin;
    this.data = alignedBytes(bytes, 8);
    this.memory = wordMemory(this.data);
    this.starts = new Array(page.bufferCount).fill(0);
    this.sizes = new Array(page.bufferCount).fill(0);
  }

  /** Bytes of the chunk. */
  get byteLength(): number {
    return this.end - this.start;
  }

  /** Finds the parts of the chunk. */
  open(): void {
    const { data, starts, sizes } = this;
    const { hasLargeChunk, repCompression, defCompression } = this.#page;
    const hasRepetition = repCompression !== undefined;
    const hasDefinition = defCompression !== undefined;
    const sizeBytes = hasLargeChunk ? 4 : 2;
    const headerBytes = 2 + (hasRepetition ? 2 : 0) + (hasDefinition ? 2 : 0) + starts.length * sizeBytes;
    let header = this.start;
    let position = header + alignTo8(headerBytes);
    if (position > this.end) throw corruptPage(this.#origin, "chunk shorter than its header");
    this.levelCount = data[header] | (data[header + 1] << 8);
    header += 2;
    if (hasRepetition) {
      this.#repetitionStart = position;
      this.#repetitionSize = data[header] | (data[header + 1] << 8);
      position = this.#behind(position, this.#repetitionSize);
      header += 2;
    }
    if (hasDefinition) {
      this.#definitionStart = position;
      this.#definitionSize = data[header] | (data[header + 1] << 8);
      position = this.#behind(position, this.#definitionSize);
      header += 2;
    }
    for (let buffer = 0; buffer < starts.length; buffer++, header += sizeBytes) {
      let size = data[header] | (data[header + 1] << 8);
      if (sizeBytes === 4) size = (size | (data[header + 2] << 16) | (data[header + 3] << 24)) >>> 0;
      starts[buffer] = position;
      sizes[buffer] = size;
      position = this.#behind(position, size);
    }
  }

  /** Returns the offset of the next part of the opened chunk. */
  #behind(start: number, size: number): number {
    if (start + size > this.end) throw corruptPage(this.#origin, "a part of a chunk leaves it");
    return start + alignTo8(size);
  }

  /** Returns the encoded repetition levels of an opened chunk of a page that has such levels. */
  repetition(): Uint8Array {
    return this.data.subarray(this.#repetitionStart, this.#repetitionStart + this.#repetitionSize);
  }

  /** Returns the encoded definition levels of an opened chunk of a page that has such levels. */
  definition(): Uint8Array {
    return this.data.subarray(this.#definitionStart, this.#definitionStart + this.#definitionSize);
  }
}
