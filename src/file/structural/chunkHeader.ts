/** Headers of the chunks of a mini-block page; miniBlock.ts has the picture. */

import { alignTo8 } from "../../bytes/aligned.js";
import type { MiniBlockLayout } from "../../format/encodings.js";
import { corruptPage, type PageOrigin } from "../container/page.js";

/** Maximum events of a chunk, and maximum bytes of each kind of levels: both numbers have 16 bits. */
export const MAXIMUM_CHUNK_LEVELS = 65_535;

/** Finds the parts of one chunk after another, and checks that they lie in the chunk. */
export class ChunkHeader {
  /** Number of levels of each kind. */
  levelCount = 0;
  /** Position of each value buffer in the chunk data, and its bytes. */
  readonly starts: number[];
  readonly sizes: number[];
  readonly #data: Uint8Array;
  readonly #hasRepetition: boolean;
  readonly #hasDefinition: boolean;
  readonly #sizeBytes: 2 | 4;
  readonly #headerBytes: number;
  readonly #origin: PageOrigin;
  /** Numbers in place of objects: a page has a chunk for every few values. */
  #repetitionStart = 0;
  #repetitionSize = 0;
  #definitionStart = 0;
  #definitionSize = 0;
  #end = 0;

  /** @param data chunk data of the page */
  constructor(page: MiniBlockLayout, data: Uint8Array, origin: PageOrigin) {
    this.#data = data;
    this.#hasRepetition = page.repCompression !== undefined;
    this.#hasDefinition = page.defCompression !== undefined;
    this.#sizeBytes = page.hasLargeChunk ? 4 : 2;
    const levelKinds = +this.#hasRepetition + +this.#hasDefinition;
    this.#headerBytes = 2 + 2 * levelKinds + page.bufferCount * this.#sizeBytes;
    this.#origin = origin;
    this.starts = new Array(page.bufferCount).fill(0);
    this.sizes = new Array(page.bufferCount).fill(0);
  }

  /** Reads the header of the chunk between two positions of the chunk data. */
  read(start: number, end: number): void {
    const data = this.#data;
    const { starts, sizes } = this;
    const sizeBytes = this.#sizeBytes;
    let position = start + alignTo8(this.#headerBytes);
    if (position > end) throw corruptPage(this.#origin, "a chunk shorter than its header");
    this.#end = end;
    this.levelCount = data[start] | (data[start + 1] << 8);
    let field = start + 2;
    if (this.#hasRepetition) {
      this.#repetitionStart = position;
      this.#repetitionSize = data[field] | (data[field + 1] << 8);
      position = this.#endOf(position, this.#repetitionSize);
      field += 2;
    }
    if (this.#hasDefinition) {
      this.#definitionStart = position;
      this.#definitionSize = data[field] | (data[field + 1] << 8);
      position = this.#endOf(position, this.#definitionSize);
      field += 2;
    }
    for (let buffer = 0; buffer < starts.length; buffer++, field += sizeBytes) {
      let size = data[field] | (data[field + 1] << 8);
      if (sizeBytes === 4) size = (size | (data[field + 2] << 16) | (data[field + 3] << 24)) >>> 0;
      starts[buffer] = position;
      sizes[buffer] = size;
      position = this.#endOf(position, size);
    }
  }

  /** Padded end of a part of the chunk. */
  #endOf(start: number, size: number): number {
    if (start + size > this.#end) throw corruptPage(this.#origin, "a part of a chunk leaves it");
    return start + alignTo8(size);
  }

  /** Encoded repetition levels, in a page that has them. */
  repetition(): Uint8Array {
    return this.#data.subarray(this.#repetitionStart, this.#repetitionStart + this.#repetitionSize);
  }

  /** Encoded definition levels, in a page that has them. */
  definition(): Uint8Array {
    return this.#data.subarray(this.#definitionStart, this.#definitionStart + this.#definitionSize);
  }
}
