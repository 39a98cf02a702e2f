/**
 * Encodes posting lists (postingBlocks.ts shows the blocks). The lists of many tokens share memory, since
 * most are short and an object each would cost more than their bytes.
 */

import { Pace, runSync, type Steps } from "../../async/eventLoop.js";
import type { Task } from "../../async/workerPool.js";
import { enlarged, NumberList } from "../../bytes/growing.js";
import { GROUP, GROUP_LANES } from "./postingBlocks.js";
import { type Corpus, K1, lengthTerms, wordWeight } from "./score.js";

/** Layout of written postings; tails are varints. */
export interface WrittenForm {
  readonly blockSize: number;
  readonly withPosition: boolean;
}

/** Lists of some tokens, each a row of the postings file. */
export interface EncodedLists {
  readonly count: number;
  /** Maximum score and number of documents of each token. */
  readonly scores: Float32Array;
  readonly documentCounts: Uint32Array;
  /** First block of each token, then the number of blocks. */
  readonly blockStarts: Int32Array;
  /** First byte of each block, then the number of bytes. */
  readonly byteStarts: Uint32Array;
  readonly bytes: Uint8Array;
  /** Null for indexes without positions. */
  readonly positions: EncodedPositions | null;
}

interface EncodedPositions {
  /** First byte of each token, then the number of bytes. */
  readonly starts: Uint32Array;
  /** First byte of each block, relative to its token. */
  readonly blockOffsets: Uint32Array;
  readonly bytes: Uint8Array;
}

const FIRST_BYTES = 64 * 1024;
/** Maximum bytes of a varint. */
const VARINT_BYTES = 5;

/** Entries between steps. */
const STEP_ENTRIES = 8192;

/** Scratch words of a packed block: 32 numbers of up to 32 bits in 8 lanes. */
const WORDS = new Uint32Array(32 * 8);
const WORD_BYTES = new Uint8Array(WORDS.buffer);

class Bytes {
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  room(byteLength: number): void {
    if (this.length + byteLength <= this.#bytes.length) return;
    this.#bytes = enlarged(this.#bytes, this.length + byteLength);
    this.#view = new DataView(this.#bytes.buffer);
  }

  byte(value: number): void {
    this.room(1);
    this.#bytes[this.length++] = value;
  }

  word(value: number): void {
    this.room(4);
    this.#view.setUint32(this.length, value, true);
    this.length += 4;
  }

  float(value: number): void {
    this.room(4);
    this.#view.setFloat32(this.length, value, true);
    this.length += 4;
  }

  /** Writes varints. */
  varints(numbers: Uint32Array, start: number, end: number): void {
    this.room(VARINT_BYTES * (end - start));
    const bytes = this.#bytes;
    let offset = this.length;
    for (let index = start; index < end; index++) {
      let left = numbers[index];
      while (left >= 0x80) {
        bytes[offset++] = (left & 0x7f) | 0x80;
        left >>>= 7;
      }
      bytes[offset++] = left;
    }
    this.length = offset;
  }

  /** Packs 32 numbers per lane after their width. @param between byte after the width; -1 for none */
  packed(lanes: number, numbers: Uint32Array, start: number, between = -1): void {
    const count = 32 * lanes;
    let all = 0;
    for (let index = start; index < start + count; index++) all |= numbers[index];
    const width = 32 - Math.clz32(all);
    this.byte(width);
    if (between >= 0) this.byte(between);
    if (width === 0) return;
    for (let lane = 0; lane < lanes; lane++) packLane(numbers, start + lane, lanes, width, lane);
    const byteLength = 4 * lanes * width;
    this.room(byteLength);
    this.#bytes.set(WORD_BYTES.subarray(0, byteLength), this.length);
    this.length += byteLength;
  }

  taken(): Uint8Array {
    return this.#bytes.slice(0, this.length);
  }
}

/** Packs 32 numbers, `lanes` apart, into the words of a lane. */
function packLane(numbers: Uint32Array, start: number, lanes: number, width: number, lane: number): void {
  let position = lane;
  let word = 0;
  let filled = 0;
  for (let index = start, left = 32; left > 0; index += lanes, left--) {
    const value = numbers[index];
    word |= value << filled;
    filled += width;
    if (filled < 32) continue;
    WORDS[position] = word;
    position += lanes;
    filled -= 32;
    word = filled === 0 ? 0 : value >>> (width - filled);
  }
}

export class PostingEncoder {
  readonly #base: number;
  readonly #perToken: number;
  readonly #scores = new NumberList();
  readonly #counts = new NumberList();
  readonly #blockStarts = new NumberList();
  readonly #byteStarts = new NumberList();
  readonly #bytes = new Bytes();
  readonly #positionStarts = new NumberList();
  readonly #positionOffsets = new NumberList();
  readonly #positionBytes = new Bytes();
  readonly #deltas: Uint32Array;
  #positionDeltas = new Uint32Array(1024);
  readonly #float = new Float32Array(1);
  readonly #floatBits = new Uint32Array(this.#float.buffer);

  /** @param lengths number of tokens of each document */
  constructor(
    private readonly form: WrittenForm,
    private readonly corpus: Corpus,
    private readonly lengths: Uint32Array,
  ) {
    const { base, perToken } = lengthTerms(corpus);
    this.#base = base;
    this.#perToken = perToken;
    this.#deltas = new Uint32Array(form.blockSize);
  }

  /** Number of tokens since the last {@link finish}. */
  get count(): number {
    return this.#counts.length;
  }

  get byteLength(): number {
    return this.#bytes.length + this.#positionBytes.length;
  }

  /**
   * Adds a token.
   * @param documents ascending; `count` of them, with `frequencies`
   * @param positions document by document, from `positionStart` on
   */
  add(
    documents: Uint32Array,
    frequencies: Uint32Array,
    count: number,
    positions: Uint32Array | null,
    positionStart: number,
  ): void {
    const { blockSize, withPosition } = this.form;
    const weight = wordWeight(this.corpus.documents, count);
    let best = 0;
    this.#blockStarts.push(this.#byteStarts.length);
    for (let start = 0; start < count; start += blockSize) {
      const end = Math.min(start + blockSize, count);
      const score = this.#blockScore(documents, frequencies, start, end, weight);
      if (score > best) best = score;
      this.#byteStarts.push(this.#bytes.length);
      this.#block(documents, frequencies, start, end, score);
    }
    this.#counts.push(count);
    this.#float[0] = best;
    this.#scores.push(this.#floatBits[0]);
    if (withPosition && positions !== null) this.#addPositions(frequencies, count, positions, positionStart);
  }

  /** Returns the maximum score of a block, rounded up: a lower one would hide documents. */
  #blockScore(
    documents: Uint32Array,
    frequencies: Uint32Array,
    start: number,
    end: number,
    weight: number,
  ): number {
    const lengths = this.lengths;
    const [base, perToken] = [this.#base, this.#perToken];
    let best = 0;
    for (let index = start; index < end; index++) {
      const frequency = frequencies[index];
      const impact = frequency / (frequency + base + perToken * lengths[documents[index]]);
      if (impact > best) best = impact;
    }
    return weight * (K1 + 1) * best * (1 + 2 ** -20);
  }

  #block(documents: Uint32Array, frequencies: Uint32Array, start: number, end: number, score: number): void {
    const { blockSize } = this.form;
    const bytes = this.#bytes;
    const deltas = this.#deltas;
    for (let index = start + 1; index < end; index++) {
      deltas[index - start] = documents[index] - documents[index - 1];
    }
    const isFull = end - start === blockSize;
    deltas[0] = isFull ? 0 : documents[start];
    if (blockSize === 128) bytes.float(score);
    if (isFull) {
      bytes.word(documents[start]);
      bytes.packed(blockSize / 32, deltas, 0);
      // Frequencies in blocks of 256 are packed whole, without exceptions.
      bytes.packed(blockSize / 32, frequencies, start, blockSize === 128 ? -1 : 0);
    } else {
      bytes.varints(deltas, 0, end - start);
      bytes.varints(frequencies, start, end);
    }
  }

  /** Encodes positions block by block: the first of each document, then deltas. */
  #addPositions(
    frequencies: Uint32Array,
    count: number,
    positions: Uint32Array,
    positionStart: number,
  ): void {
    const { blockSize } = this.form;
    const bytes = this.#positionBytes;
    const first = bytes.length;
    this.#positionStarts.push(first);
    let from = positionStart;
    for (let start = 0; start < count; start += blockSize) {
      const end = Math.min(start + blockSize, count);
      this.#positionOffsets.push(bytes.length - first);
      const length = this.#takeDeltas(frequencies, start, end, positions, from);
      from += length;
      let index = 0;
      for (; index + GROUP <= length; index += GROUP) bytes.packed(GROUP_LANES, this.#positionDeltas, index);
      bytes.varints(this.#positionDeltas, index, length);
    }
  }

  /** @returns the number of positions */
  #takeDeltas(
    frequencies: Uint32Array,
    start: number,
    end: number,
    positions: Uint32Array,
    from: number,
  ): number {
    let length = 0;
    for (let index = start; index < end; index++) length += frequencies[index];
    if (length > this.#positionDeltas.length) this.#positionDeltas = new Uint32Array(2 * length);
    const deltas = this.#positionDeltas;
    let slot = 0;
    for (let index = start; index < end; index++) {
      let last = 0;
      for (let left = frequencies[index]; left > 0; left--) {
        const position = positions[from + slot];
        deltas[slot++] = position - last;
        last = position;
      }
    }
    return length;
  }

  /** Returns the encoded lists. */
  finish(): EncodedLists {
    this.#blockStarts.push(this.#byteStarts.length);
    this.#byteStarts.push(this.#bytes.length);
    this.#positionStarts.push(this.#positionBytes.length);
    const scores = this.#scores.numbers.slice();
    const positions = {
      starts: this.#positionStarts.numbers.slice(),
      blockOffsets: this.#positionOffsets.numbers.slice(),
      bytes: this.#positionBytes.taken(),
    };
    return {
      count: this.count,
      scores: new Float32Array(scores.buffer, 0, scores.length),
      documentCounts: this.#counts.numbers.slice(),
      blockStarts: new Int32Array(this.#blockStarts.numbers),
      byteStarts: this.#byteStarts.numbers.slice(),
      bytes: this.#bytes.taken(),
      positions: this.form.withPosition ? positions : null,
    };
  }
}

/** Entries of documents, sorted by token; a repeated token has adjacent entries. */
export interface SortedEntries {
  readonly documents: Uint32Array;
  readonly positions: Uint32Array | null;
  /** First entry of each token, then the number of entries. */
  readonly starts: Uint32Array;
}

export interface EntryPiece extends SortedEntries {
  readonly form: WrittenForm;
  readonly corpus: Corpus;
  /** Number of tokens of each document. */
  readonly lengths: Uint32Array;
}

/** Encodes the lists of some tokens, in a thread if there is one. */
export const ENCODE_POSTINGS: Task<EntryPiece, EncodedLists> = {
  name: "encodePostings",
  run: (piece) => runSync(encodeEntries(piece)),
  memoryOf: ({ scores, documentCounts, blockStarts, byteStarts, bytes, positions }) =>
    [
      scores,
      documentCounts,
      blockStarts,
      byteStarts,
      bytes,
      ...(positions === null ? [] : [positions.starts, positions.blockOffsets, positions.bytes]),
    ].map(({ buffer }) => buffer as ArrayBuffer),
};

/** Encodes the lists of some tokens in steps. */
export function* encodeEntries(piece: EntryPiece): Steps<EncodedLists> {
  const { documents, positions, starts, form, corpus, lengths } = piece;
  const pace = new Pace(STEP_ENTRIES);
  const encoder = new PostingEncoder(form, corpus, lengths);
  let most = 0;
  for (let token = 0; token + 1 < starts.length; token++) {
    most = Math.max(most, starts[token + 1] - starts[token]);
  }
  const tokenDocuments = new Uint32Array(most);
  const frequencies = new Uint32Array(most);
  for (let token = 0; token + 1 < starts.length; token++) {
    const start = starts[token];
    const end = starts[token + 1];
    let count = 0;
    let last = -1;
    for (let entry = start; entry < end; entry++) {
      const document = documents[entry];
      if (document === last) frequencies[count - 1]++;
      else {
        tokenDocuments[count] = document;
        frequencies[count++] = 1;
        last = document;
      }
    }
    encoder.add(tokenDocuments, frequencies, count, positions, start);
    if (pace.isStep(end - start)) yield;
  }
  return encoder.finish();
}
