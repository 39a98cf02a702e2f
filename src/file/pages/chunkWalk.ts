/**
 * Walks the chunks of a mini-block page (structural/miniBlock.ts) without decoding them. Finds each chunk and
 * its parts, and checks that they lie in the page.
 */

import { alignedBytes } from "../../bytes/aligned.js";
import type { MiniBlockLayout } from "../../format/encodings.js";
import { type WordMemory, wordMemory } from "../compression/pickBitpacked.js";
import type { PageOrigin } from "../container/page.js";
import { ChunkHeader } from "../structural/chunkHeader.js";
import { ChunkWords } from "../structural/chunkWords.js";

/** Location of a chunk. The members about its parts are those of the chunk that was opened last. */
export interface ChunkPlace {
  /** The page's chunks, at an address that is a multiple of 8. */
  readonly data: Uint8Array;
  /** Memory of the chunks, as words. */
  readonly memory: WordMemory;
  readonly count: number;
  /** Index, in the page, of the first value of the chunk. */
  readonly firstValue: number;
  /** Byte offset of each value buffer in the data; `sizes` has its bytes. */
  readonly starts: readonly number[];
  readonly sizes: readonly number[];
}

/** Returns the bytes of a value buffer of an opened chunk. */
export const valueBuffer = ({ data, starts, sizes }: ChunkPlace, buffer: number): Uint8Array =>
  data.subarray(starts[buffer], starts[buffer] + sizes[buffer]);

export class ChunkWalk extends ChunkWords implements ChunkPlace {
  readonly data: Uint8Array;
  readonly memory: WordMemory;
  readonly starts: readonly number[];
  readonly sizes: readonly number[];
  /** Header of the chunk that was opened last. */
  readonly header: ChunkHeader;

  /** @param page with as many value buffers as its encoding has */
  constructor(page: MiniBlockLayout, [words, bytes]: readonly Uint8Array[], origin: PageOrigin) {
    super(words, page.hasLargeChunk, page.itemCount, bytes.length, origin);
    this.data = alignedBytes(bytes, 8);
    this.memory = wordMemory(this.data);
    this.header = new ChunkHeader(page, this.data, origin);
    this.starts = this.header.starts;
    this.sizes = this.header.sizes;
  }

  get byteLength(): number {
    return this.end - this.start;
  }

  /** Finds the parts of the chunk. */
  open(): void {
    this.header.read(this.start, this.end);
  }
}
