/**
 * The documents of one token in a partition, unpacked block by block when a query comes to them. What was unpacked of a list
 * that is not too long is kept with it: frequent words are in many queries.
 */

import { countSetBits } from "../../bytes/bits.js";
import { concatWords } from "../../bytes/concatWords.js";
import { enlarged } from "../../bytes/growing.js";
import { lowerBound } from "../../bytes/search.js";
import { CorruptFileError, InternalError } from "../../errors.js";
import type { KeptPostings } from "../kind.js";
import type { BlockedPositions } from "./positions.js";
import {
  blockHead,
  checkBlockCount,
  type PostingArrays,
  type PostingForm,
  type Postings,
  unpackBlock,
} from "./postingBlocks.js";
import type { LengthTerms } from "./score.js";
import { putImpacts, SHARE_BYTES } from "./score.js";

export interface PostingSource {
  readonly blocks: readonly Uint8Array[];
  /** Documents, as the file says. */
  readonly count: number;
  /** Documents of the partition. */
  readonly documentCount: number;
  readonly form: PostingForm;
  /** Null where they were not asked for. */
  readonly positions: BlockedPositions | null;
  /** Of the file, for errors. */
  readonly path: string;
}

/** Documents of a block: what the arrays have from `start` to before `end`. */
export interface BlockView extends PostingArrays {
  readonly start: number;
  readonly end: number;
}

/** Positions of a token in the documents of a block, one document after the other. */
export interface BlockPositions {
  readonly positions: Uint32Array;
  /** Where those of each document begin, from `first` on, and behind them where those of the last end. */
  readonly starts: Uint32Array;
  readonly first: number;
}

/** What the shares of documents depend on, beside what a list knows of them. */
export interface DocumentLengths extends LengthTerms {
  /** Tokens of each document of the partition. */
  readonly lengths: Uint32Array;
}

/** The shares (score.ts) of all documents of a list. */
export interface DocumentImpacts {
  readonly documents: Uint32Array;
  /** Of each of these. */
  readonly impacts: Uint8Array;
  /** By share, how many documents have it. */
  readonly counts: Uint32Array;
}

/** Most documents of a list that keeps them: 13 MiB, with their lengths and shares. */
const MAX_KEPT = 2 ** 20;
/** Most documents of a list that keeps positions: where those of each begin takes 2 MiB. */
const MAX_KEPT_STARTS = 2 ** 19;
/** Most positions that it keeps: 6 MiB. */
const MAX_KEPT_POSITIONS = 3 * 2 ** 19;
const FIRST_KEPT_POSITIONS = 1024;
/** Of fewer than one in so many documents, no bits are kept: they would take more than the documents themselves. */
const SPARSE = 64;
/** What may be kept of a block. */
const [DOCUMENTS, SHARES, BITS, POSITIONS, LENGTHS] = [1, 2, 4, 8, 16];
/** The place of no document. */
const NOWHERE = 0xffffffff;
/** Bytes of memory of a block beside its own. */
const BLOCK_OVERHEAD = 112;

/** For {@link PostingList.view} of lists that keep their documents: nobody else need have memory for them. */
const NO_ARRAYS: PostingArrays = { documents: new Uint32Array(0), frequencies: new Uint32Array(0) };

export class PostingList implements KeptPostings {
  readonly kind = "postings";
  readonly #source: PostingSource;
  readonly count: number;
  readonly blockCount: number;
  /** The first document of each block, ascending. */
  readonly firsts: Uint32Array;
  /** The highest score of each block as the file has it; Infinity where it has none. */
  readonly scores: Float32Array;
  readonly #packedBytes: number;
  /** All documents, as far as they were unpacked; null where nothing was, or they are too many. */
  #kept: PostingArrays | null = null;
  /** What is kept of each block. */
  readonly #isKept: Uint8Array;
  /** Shares of the documents that are kept, and the terms that they were computed with. */
  #impacts: Uint8Array | null = null;
  #terms: LengthTerms = { base: 0, perToken: 0 };
  /** How many documents have each share; null until those of all blocks were counted. */
  #shareCounts: Uint32Array | null = null;
  /** Tokens of the documents that are kept. */
  #lengths: Uint32Array | null = null;
  /** A bit for each document of the partition that is in a block of which it is kept. */
  #bits: Uint32Array | null = null;
  /** For each word of bits, the place of the first document among the list's that has a bit there. */
  #bitPlaces: Uint32Array | null = null;
  /** Positions that are kept, block by block in the order in which they were asked for. */
  #positions = new Uint32Array(0);
  #positionCount = 0;
  /** Where those of each document begin, and behind those of each block where its last ones end. */
  #starts: Uint32Array | null = null;

  /** @throws CorruptFileError */
  constructor(source: PostingSource) {
    const { blocks, count, documentCount, form, positions, path } = source;
    checkBlockCount(blocks.length, count, documentCount, form, path);
    this.#source = source;
    this.count = count;
    this.blockCount = blocks.length;
    this.firsts = new Uint32Array(blocks.length);
    this.scores = new Float32Array(blocks.length);
    for (const [index, block] of blocks.entries()) {
      const { first, score } = blockHead(block, this.sizeOf(index) < form.blockSize, form, path);
      this.firsts[index] = first;
      this.scores[index] = score;
    }
    if (positions !== null && (positions.blockCount ?? blocks.length) !== blocks.length) {
      this.#fail("positions are of another number of blocks");
    }
    this.#isKept = new Uint8Array(blocks.length);
    const bytes = blocks.reduce((sum, block) => sum + block.length, positions?.byteLength ?? 0);
    this.#packedBytes = 256 + bytes + BLOCK_OVERHEAD * blocks.length;
  }

  get memoryWeight(): number {
    const kept =
      (this.#kept === null ? 0 : 8) + (this.#impacts === null ? 0 : 1) + (this.#lengths === null ? 0 : 4);
    const bits = 2 * (this.#bits?.byteLength ?? 0);
    const positions = this.#positions.byteLength + (this.#starts?.byteLength ?? 0);
    return this.#packedBytes + kept * this.count + bits + positions;
  }

  /** Arrays for the documents of a block, as {@link view} needs them: empty where the list keeps its documents. */
  ownArrays(): PostingArrays {
    if (this.count <= MAX_KEPT) return NO_ARRAYS;
    return { documents: new Uint32Array(this.blockSize), frequencies: new Uint32Array(this.blockSize) };
  }

  /** @param own arrays of {@link ownArrays}; their owner goes on with one block */
  view(block: number, own: PostingArrays): BlockView {
    if (this.count > MAX_KEPT) {
      const end = this.read(block, own);
      return { documents: own.documents, frequencies: own.frequencies, start: 0, end };
    }
    const start = block * this.blockSize;
    const end = start + this.sizeOf(block);
    this.#kept ??= { documents: new Uint32Array(this.count), frequencies: new Uint32Array(this.count) };
    const { documents, frequencies } = this.#kept;
    if ((this.#isKept[block] & DOCUMENTS) === 0) {
      this.read(block, { documents: documents.subarray(start), frequencies: frequencies.subarray(start) });
      this.#isKept[block] |= DOCUMENTS;
    }
    return { documents, frequencies, start, end };
  }

  /**
   * The shares (score.ts) of the documents of a block, where {@link view} has these; null where the list does not keep them.
   */
  impacts(block: number, terms: DocumentLengths): Uint8Array | null {
    if (this.#kept === null) return null;
    const { base, perToken } = this.#terms;
    if (this.#impacts === null || base !== terms.base || perToken !== terms.perToken) {
      // How long texts are on average may change with the version that is searched.
      this.#impacts ??= new Uint8Array(this.count);
      this.#terms = { base: terms.base, perToken: terms.perToken };
      this.#shareCounts = null;
      for (let offset = 0; offset < this.blockCount; offset++) this.#isKept[offset] &= ~SHARES;
    }
    if ((this.#isKept[block] & SHARES) === 0) {
      const { documents, frequencies, start, end } = this.view(block, this.#kept);
      putImpacts(this.#impacts, documents, frequencies, start, end, terms, terms.lengths);
      this.#isKept[block] |= SHARES;
    }
    return this.#impacts;
  }

  /** All documents with their shares, and how many have each; null where the list does not keep them. */
  allImpacts(terms: DocumentLengths): DocumentImpacts | null {
    for (let block = 0; block < this.blockCount; block++) {
      this.view(block, NO_ARRAYS);
      if (this.impacts(block, terms) === null) return null;
    }
    const [kept, impacts] = [this.#kept, this.#impacts];
    if (kept === null || impacts === null) return null;
    if (this.#shareCounts === null) {
      const counts = new Uint32Array(SHARE_BYTES);
      for (let index = 0; index < impacts.length; index++) counts[impacts[index]]++;
      this.#shareCounts = counts;
    }
    return { documents: kept.documents, impacts, counts: this.#shareCounts };
  }

  /**
   * The tokens of the documents of a block, at the places where {@link view} has these: side by side, where those of all
   * documents are far apart in memory. Null where the list does not keep them.
   * @param all of each document of the partition
   */
  lengths(block: number, all: Uint32Array): Uint32Array | null {
    if (this.#kept === null) return null;
    this.#lengths ??= new Uint32Array(this.count);
    if ((this.#isKept[block] & LENGTHS) === 0) {
      const { documents, start, end } = this.view(block, this.#kept);
      for (let index = start; index < end; index++) this.#lengths[index] = all[documents[index]];
      this.#isKept[block] |= LENGTHS;
    }
    return this.#lengths;
  }

  /**
   * A bit for each document of the partition, by its number: whether it is in one of some blocks, or in one of those asked for
   * before. Null where documents are not kept, or are few.
   */
  bits(start: number, end: number): Uint32Array | null {
    const { documentCount } = this.#source;
    if (this.count > MAX_KEPT || this.count * SPARSE < documentCount) return null;
    const words = (documentCount + 31) >>> 5;
    this.#bits ??= new Uint32Array(words);
    this.#bitPlaces ??= new Uint32Array(words).fill(NOWHERE);
    const bits = this.#bits;
    const places = this.#bitPlaces;
    for (let block = start; block < end; block++) {
      if ((this.#isKept[block] & BITS) !== 0) continue;
      const { documents, start: first, end: behind } = this.view(block, NO_ARRAYS);
      for (let index = first; index < behind; index++) {
        const document = documents[index];
        const word = document >>> 5;
        bits[word] |= 1 << (document & 31);
        // No block but the last fits into a word, so that those of which a word has documents follow each other. Either of
        // two may be asked for first.
        if (index < places[word]) places[word] = index;
      }
      this.#isKept[block] |= BITS;
    }
    return bits;
  }

  /** The place of a document that {@link bits} has, among all of the list: the place that it has in views, too. */
  placeOf(document: number): number {
    const [bits, places] = [this.#bits, this.#bitPlaces];
    if (bits === null || places === null) throw new InternalError("bits that were not asked for");
    const word = document >>> 5;
    return places[word] + countSetBits(bits[word] & ((1 << (document & 31)) - 1));
  }

  /** How often the document at such a place has the token. */
  frequencyAt(position: number): number {
    if (this.#kept === null) throw new InternalError("documents that are not kept");
    return this.#kept.frequencies[position];
  }

  /** Documents of a block. */
  sizeOf(block: number): number {
    const { blockSize } = this.#source.form;
    return Math.min(blockSize, this.count - block * blockSize);
  }

  get blockSize(): number {
    return this.#source.form.blockSize;
  }

  /** Unpacks a block into the start of arrays. @returns its number of documents */
  read(block: number, into: PostingArrays): number {
    const { blocks, documentCount, form, path } = this.#source;
    const size = this.sizeOf(block);
    unpackBlock(blocks[block], size, documentCount, form, path, into, 0);
    const next = block + 1 < this.blockCount ? this.firsts[block + 1] : documentCount;
    if (into.documents[size - 1] >= next) this.#fail("documents do not ascend");
    return size;
  }

  /** All documents at once. */
  all(): Postings {
    const documents = new Uint32Array(this.count);
    const frequencies = new Uint32Array(this.count);
    const { blockSize } = this;
    for (let block = 0; block < this.blockCount; block++) {
      const start = block * blockSize;
      const part = { documents: documents.subarray(start), frequencies: frequencies.subarray(start) };
      this.read(block, part);
    }
    return { documents, frequencies };
  }

  /** Whether positions are most often unpacked once, so that documents may be asked for in any order. */
  get keepsPositions(): boolean {
    return this.count <= MAX_KEPT_STARTS;
  }

  /** The positions in the documents of a block. @param own as {@link view} has it */
  positionsOf(block: number, own: PostingArrays): BlockPositions {
    const first = block * (this.blockSize + 1);
    if (this.#starts !== null && (this.#isKept[block] & POSITIONS) !== 0) {
      return { positions: this.#positions, starts: this.#starts, first };
    }
    const { frequencies: all, start, end } = this.view(block, own);
    const frequencies = all.subarray(start, end);
    const positions = this.#unpackPositions(block, frequencies);
    if (this.keepsPositions && this.#positionCount + positions.length <= MAX_KEPT_POSITIONS) {
      this.#starts ??= new Uint32Array(this.count + this.blockCount);
      putStarts(this.#starts, first, frequencies, this.#keep(positions));
      this.#isKept[block] |= POSITIONS;
      return { positions: this.#positions, starts: this.#starts, first };
    }
    const starts = new Uint32Array(frequencies.length + 1);
    putStarts(starts, 0, frequencies, 0);
    return { positions, starts, first: 0 };
  }

  /** @returns where they begin among those that are kept */
  #keep(positions: Uint32Array): number {
    const start = this.#positionCount;
    const end = start + positions.length;
    if (end > this.#positions.length) {
      this.#positions = enlarged(this.#positions, Math.max(end, FIRST_KEPT_POSITIONS), MAX_KEPT_POSITIONS);
    }
    this.#positions.set(positions, start);
    this.#positionCount = end;
    return start;
  }

  #unpackPositions(block: number, frequencies: Uint32Array): Uint32Array {
    const { positions } = this.#source;
    if (positions === null) throw new InternalError("positions that were not asked for");
    return positions.ofBlock(block, block * this.blockSize, frequencies);
  }

  /** The positions in all documents. @param frequencies of these */
  allPositions(frequencies: Uint32Array): Uint32Array {
    const { blockSize } = this;
    const parts: Uint32Array[] = [];
    for (let block = 0; block < this.blockCount; block++) {
      const ofBlock = frequencies.subarray(block * blockSize, (block + 1) * blockSize);
      parts.push(this.#unpackPositions(block, ofBlock));
    }
    return concatWords(parts);
  }

  #fail(reason: string): never {
    throw new CorruptFileError(this.#source.path, 0, `postings: ${reason}`);
  }
}

/** @param start where the positions of the first document begin */
function putStarts(starts: Uint32Array, first: number, frequencies: Uint32Array, start: number): void {
  let next = start;
  starts[first] = next;
  for (let index = 0; index < frequencies.length; index++) {
    next += frequencies[index];
    starts[first + index + 1] = next;
  }
}

/** Whether {@link PostingList.bits} have a document. */
export const hasDocument = (bits: Uint32Array, document: number): boolean =>
  ((bits[document >>> 5] >>> (document & 31)) & 1) !== 0;

/** Documents that are looked at one by one before a search halves what is left of a block. */
const NEAR = 8;

/** The index of the first of some documents that is not before another one, which most often is near. */
export function documentAt(documents: Uint32Array, start: number, end: number, document: number): number {
  let index = start;
  for (let step = 0; step < NEAR && index < end && documents[index] < document; step++) index++;
  if (index === end || documents[index] >= document) return index;
  return lowerBound(documents, document, index, end);
}
