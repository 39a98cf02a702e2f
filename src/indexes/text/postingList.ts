/**
 * The posting list of a token in a partition. Blocks unpack when a query visits them. Lists below a size
 * limit keep the unpacked blocks, since frequent words recur in queries.
 */

import { countSetBits } from "../../bytes/bits.js";
import { concatWords } from "../../bytes/concatWords.js";
import { enlarged } from "../../bytes/growing.js";
import { lowerBound } from "../../bytes/search.js";
import { CorruptFileError, InternalError } from "../../errors.js";
import type { SearchedPart } from "../kind.js";
import type { BlockedPositions } from "./positions.js";
import { type BlockView, blockHead, type PostingForm, type Postings, unpackBlock } from "./postingBlocks.js";
import { type DocumentLengths, IMPACT_VALUES, type LengthTerms, putImpacts } from "./score.js";

export interface PostingSource {
  readonly blocks: readonly Uint8Array[];
  /** Number of documents, as stored. */
  readonly count: number;
  /** Number of documents of the partition. */
  readonly documentCount: number;
  readonly form: PostingForm;
  /** Null if not requested. */
  readonly positions: BlockedPositions | null;
  /** Path of the file, for errors. */
  readonly path: string;
}

/** Positions of a token in a block's documents, document by document. */
export interface BlockPositions {
  readonly positions: Uint32Array;
  /** First position of each document, from index `first` on, then the end of the last. */
  readonly starts: Uint32Array;
  readonly first: number;
}

/** Impacts (score.ts) of all documents of a list. */
export interface DocumentImpacts {
  readonly documents: Uint32Array;
  /** Impact of each document. */
  readonly impacts: Uint8Array;
  /** Number of documents by impact. */
  readonly counts: Uint32Array;
}

/** Maximum documents of a list that keeps its blocks: 13 MiB, with lengths and impacts. */
const MAX_KEPT = 2 ** 20;
/** Maximum documents of a list that keeps positions, whose starts take 2 MiB. */
const MAX_KEPT_STARTS = 2 ** 19;
/** Maximum positions that a list keeps: 6 MiB. */
const MAX_KEPT_POSITIONS = 3 * 2 ** 19;
const FIRST_KEPT_POSITIONS = 1024;
/** A list with a smaller fraction of the documents keeps no bits, which would exceed the documents. */
const SPARSE = 64;
/** Flags of what a block keeps. */
const [DOCUMENTS, IMPACTS, BITS, POSITIONS, LENGTHS] = [1, 2, 4, 8, 16];
/** Marks a word without documents. */
const NO_DOCUMENT = 0xffffffff;
/** Overhead of a block in bytes. */
const BLOCK_OVERHEAD = 112;

/** Scratch arrays for {@link PostingList.view} of lists that keep their blocks. */
const NO_ARRAYS: Postings = { documents: new Uint32Array(0), frequencies: new Uint32Array(0) };

export class PostingList implements SearchedPart {
  readonly kind = "postings";
  readonly count: number;
  readonly blockCount: number;
  /** First document of each block. */
  readonly firsts: Uint32Array;
  /** Stored maximum score of each block; Infinity if absent. */
  readonly scores: Float32Array;
  readonly #packedBytes: number;
  /** Unpacked documents; null if none, or not kept. */
  #kept: Postings | null = null;
  /** Kept flags by block. */
  readonly #isKept: Uint8Array;
  /** Impacts of the unpacked documents, and their length terms. */
  #impacts: Uint8Array | null = null;
  #terms: LengthTerms = { base: 0, perToken: 0 };
  /** Number of documents by impact; null until all blocks are counted. */
  #impactCounts: Uint32Array | null = null;
  /** Number of tokens of each unpacked document. */
  #lengths: Uint32Array | null = null;
  /** Bit per document of the partition, set for documents of kept blocks. */
  #bits: Uint32Array | null = null;
  /** List index of the first document in each word of bits. */
  #wordFirsts: Uint32Array | null = null;
  /** Kept positions, block by block in the order of requests. */
  #positions = new Uint32Array(0);
  #positionCount = 0;
  /** First position of each document, then the end of each block. */
  #starts: Uint32Array | null = null;

  /** @throws CorruptFileError */
  constructor(private readonly source: PostingSource) {
    const { blocks, count, documentCount, form, positions, path } = source;
    if (count > documentCount || blocks.length !== Math.ceil(count / form.blockSize))
      this.#fail(`a list has ${count} documents in ${blocks.length} blocks`);
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
      this.#fail("positions and documents have different numbers of blocks");
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

  /** Allocates scratch arrays for {@link view}; empty if the list keeps its blocks. */
  scratchArrays(): Postings {
    if (this.count <= MAX_KEPT) return NO_ARRAYS;
    return { documents: new Uint32Array(this.blockSize), frequencies: new Uint32Array(this.blockSize) };
  }

  /** Returns the documents of a block. @param scratch of {@link scratchArrays}; holds one block at a time */
  view(block: number, scratch: Postings): BlockView {
    if (this.count > MAX_KEPT) {
      const end = this.read(block, scratch);
      return { documents: scratch.documents, frequencies: scratch.frequencies, start: 0, end };
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

  /** Returns impacts (score.ts) at the indices of {@link view}; null if the list does not keep its blocks. */
  impacts(block: number, terms: DocumentLengths): Uint8Array | null {
    if (this.#kept === null) return null;
    const { base, perToken } = this.#terms;
    if (this.#impacts === null || base !== terms.base || perToken !== terms.perToken) {
      // The average length may change with the searched version.
      this.#impacts ??= new Uint8Array(this.count);
      this.#terms = { base: terms.base, perToken: terms.perToken };
      this.#impactCounts = null;
      for (let offset = 0; offset < this.blockCount; offset++) this.#isKept[offset] &= ~IMPACTS;
    }
    if ((this.#isKept[block] & IMPACTS) === 0) {
      putImpacts(this.#impacts, this.view(block, this.#kept), terms);
      this.#isKept[block] |= IMPACTS;
    }
    return this.#impacts;
  }

  /** Returns all documents with their impacts; null if the list does not keep its blocks. */
  allImpacts(terms: DocumentLengths): DocumentImpacts | null {
    for (let block = 0; block < this.blockCount; block++) {
      this.view(block, NO_ARRAYS);
      if (this.impacts(block, terms) === null) return null;
    }
    const [kept, impacts] = [this.#kept, this.#impacts];
    if (kept === null || impacts === null) return null;
    if (this.#impactCounts === null) {
      const counts = new Uint32Array(IMPACT_VALUES);
      for (let index = 0; index < impacts.length; index++) counts[impacts[index]]++;
      this.#impactCounts = counts;
    }
    return { documents: kept.documents, impacts, counts: this.#impactCounts };
  }

  /**
   * Returns the lengths of a block's documents, at the indices of {@link view}: contiguous, while those of
   * the partition are scattered. Null if the list does not keep its blocks.
   * @param all lengths of the partition's documents
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
   * Returns bits of the partition's documents, set for those in blocks `[start, end)` and in blocks of
   * earlier calls. Null if the list is too long or too sparse.
   */
  bits(start: number, end: number): Uint32Array | null {
    const { documentCount } = this.source;
    if (this.count > MAX_KEPT || this.count * SPARSE < documentCount) return null;
    const words = (documentCount + 31) >>> 5;
    this.#bits ??= new Uint32Array(words);
    this.#wordFirsts ??= new Uint32Array(words).fill(NO_DOCUMENT);
    const bits = this.#bits;
    const wordFirsts = this.#wordFirsts;
    for (let block = start; block < end; block++) {
      if ((this.#isKept[block] & BITS) !== 0) continue;
      const { documents, start: first, end: last } = this.view(block, NO_ARRAYS);
      for (let index = first; index < last; index++) {
        const document = documents[index];
        const word = document >>> 5;
        bits[word] |= 1 << (document & 31);
        // A block that is not the tail spans more than a word, so a word's documents are contiguous in the
        // list. Blocks arrive in any order.
        if (index < wordFirsts[word]) wordFirsts[word] = index;
      }
      this.#isKept[block] |= BITS;
    }
    return bits;
  }

  /** Returns the list index of a document with a bit, which is also its index in views. */
  listIndexOf(document: number): number {
    const [bits, wordFirsts] = [this.#bits, this.#wordFirsts];
    if (bits === null || wordFirsts === null) throw new InternalError("the posting list has no bits yet");
    const word = document >>> 5;
    return wordFirsts[word] + countSetBits(bits[word] & ((1 << (document & 31)) - 1));
  }

  /** Returns the frequency at a list index. */
  frequencyAt(listIndex: number): number {
    if (this.#kept === null) throw new InternalError("the posting list does not keep its unpacked documents");
    return this.#kept.frequencies[listIndex];
  }

  /** Returns the number of documents of a block. */
  sizeOf(block: number): number {
    const { blockSize } = this.source.form;
    return Math.min(blockSize, this.count - block * blockSize);
  }

  get blockSize(): number {
    return this.source.form.blockSize;
  }

  /** Unpacks a block into the start of arrays. @returns its number of documents */
  read(block: number, into: Postings): number {
    const { blocks, documentCount, form, path } = this.source;
    const size = this.sizeOf(block);
    unpackBlock(blocks[block], size, documentCount, form, path, into);
    const next = block + 1 < this.blockCount ? this.firsts[block + 1] : documentCount;
    if (into.documents[size - 1] >= next) this.#fail("documents do not ascend");
    return size;
  }

  /** Unpacks all documents. */
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

  /** True if positions mostly unpack once, so that documents can come in any order. */
  get keepsPositions(): boolean {
    return this.count <= MAX_KEPT_STARTS;
  }

  /** Returns the positions of a block. @param scratch see {@link view} */
  positionsOf(block: number, scratch: Postings): BlockPositions {
    const first = block * (this.blockSize + 1);
    if (this.#starts !== null && (this.#isKept[block] & POSITIONS) !== 0) {
      return { positions: this.#positions, starts: this.#starts, first };
    }
    const { frequencies: all, start, end } = this.view(block, scratch);
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

  /** Keeps positions. @returns the index of the first */
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
    const { positions } = this.source;
    if (positions === null) throw new InternalError("the posting list was read without positions");
    return positions.ofBlock(block, block * this.blockSize, frequencies);
  }

  /** Unpacks the positions of all documents. @param frequencies of the documents */
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
    throw new CorruptFileError(this.source.path, 0, `postings: ${reason}`);
  }
}

/** @param start index of the first document's first position */
function putStarts(starts: Uint32Array, first: number, frequencies: Uint32Array, start: number): void {
  let next = start;
  starts[first] = next;
  for (let index = 0; index < frequencies.length; index++) {
    next += frequencies[index];
    starts[first + index + 1] = next;
  }
}

/** True if {@link PostingList.bits} contain the document. */
export const hasDocument = (bits: Uint32Array, document: number): boolean =>
  ((bits[document >>> 5] >>> (document & 31)) & 1) !== 0;

/** Documents to scan before a binary search. */
const NEAR = 8;

/** Returns the index of the first document that is at least `document`, which mostly is near. */
export function documentAt(documents: Uint32Array, start: number, end: number, document: number): number {
  let index = start;
  for (let step = 0; step < NEAR && index < end && documents[index] < document; step++) index++;
  if (index === end || documents[index] >= document) return index;
  return lowerBound(documents, document, index, end);
}
