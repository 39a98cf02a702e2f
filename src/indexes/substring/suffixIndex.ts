/**
 * An FM index of some documents: finds every place of a text in them. The documents lie in one string, each
 * followed by a byte 255, and a byte 0 ends it. Rows are the suffixes of the string in their order. The tree
 * holds the byte before each suffix. From the row of a suffix follows the row of the suffix one byte longer:
 * those that begin with one byte keep the order of the suffixes without it. Every 32nd row has its position.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { upperBound } from "../../bytes/search.js";
import type { SearchedPart } from "../kind.js";
import { suffixArray } from "./suffixArray.js";
import { occurrencesOf, WaveletTree } from "./waveletTree.js";

/** Byte after a document. UTF-8 has none of this value. */
export const DOCUMENT_END = 255;
/** Byte that stands for 0 and 255 in documents. */
export const SPACE = 32;
export const SAMPLE_RATE = 32;
/** Maximum steps from row to row in a search, as a share of all rows. With more, reading all is faster. */
const SEARCHED_PART = 1 / 8;
const MIN_STEPS = 4096;
/** Rows that a search walks over between two chances for the event loop. */
const STEP_ROWS = 4096;

/** Documents of an index. */
export interface Documents {
  /** Position of each document in the string. */
  readonly starts: Uint32Array;
  /** Row addresses: pairs of words, low and high. */
  readonly addresses: Uint32Array;
}

export class SuffixIndex implements SearchedPart {
  readonly kind = "suffixes";

  /**
   * @param firsts first row of each byte, then the number of rows
   * @param samples positions of the rows 0, 32, 64 …
   */
  constructor(
    readonly tree: WaveletTree,
    readonly firsts: Uint32Array,
    readonly samples: Uint32Array,
    readonly documents: Documents,
  ) {}

  /** @param text the string of the documents; empty without documents */
  static *build(text: Uint8Array, documents: Documents): Steps<SuffixIndex> {
    const firsts = new Uint32Array(257);
    if (text.length === 0) {
      const tree = WaveletTree.open(0, [], new Int32Array(0), neverFails);
      return new SuffixIndex(tree, firsts, new Uint32Array(0), documents);
    }
    const suffixes = yield* suffixArray(text, 256);
    const before = new Uint8Array(text.length);
    const samples = new Uint32Array(Math.ceil(text.length / SAMPLE_RATE));
    const pace = new Pace(STEP_ROWS * 8);
    for (let row = 0; row < suffixes.length; row++) {
      if (pace.isStep()) yield;
      const position = suffixes[row];
      before[row] = text[position === 0 ? text.length - 1 : position - 1];
      if (row % SAMPLE_RATE === 0) samples[row / SAMPLE_RATE] = position;
    }
    for (const [byte, count] of (yield* occurrencesOf(text)).entries())
      firsts[byte + 1] = firsts[byte] + count;
    return new SuffixIndex(yield* WaveletTree.build(before), firsts, samples, documents);
  }

  get memoryWeight(): number {
    const { starts, addresses } = this.documents;
    return this.tree.memoryWeight + this.samples.byteLength + starts.byteLength + addresses.byteLength + 4096;
  }

  /**
   * Finds the documents that hold a text.
   * @param text not empty, without 0 and 255
   * @returns numbers of documents in any order, each once; null if so many places take too long to find
   */
  *find(text: Uint8Array): Steps<Uint32Array | null> {
    const { tree, firsts, samples, documents } = this;
    let [first, end] = [0, tree.length];
    for (let index = text.length - 1; index >= 0 && first < end; index--) {
      const byte = text[index];
      first = firsts[byte] + tree.rank(byte, first);
      end = firsts[byte] + tree.rank(byte, end);
    }
    const numbers = new Set<number>();
    const pace = new Pace(STEP_ROWS);
    let left = Math.max(MIN_STEPS, tree.length * SEARCHED_PART);
    // A place takes as many steps as the distance to a sampled row, on average half of the largest one.
    if ((end - first) * (SAMPLE_RATE / 2) > left) return null;
    for (let match = first; match < end; match++) {
      let row = match;
      let distance = 0;
      for (; row % SAMPLE_RATE !== 0; distance++) {
        if (--left < 0) return null;
        if (pace.isStep()) yield;
        row = this.#before(row);
      }
      if (--left < 0) return null;
      const position = (samples[row / SAMPLE_RATE] + distance) % tree.length;
      numbers.add(upperBound(documents.starts, position) - 1);
    }
    return Uint32Array.from(numbers);
  }

  /** Restores the string of the documents. */
  *text(): Steps<Uint8Array> {
    const { tree, firsts } = this;
    const text = new Uint8Array(tree.length);
    const pace = new Pace(STEP_ROWS);
    for (let position = text.length - 2, row = 0; position >= 0; position--) {
      if (pace.isStep()) yield;
      const rankAndByte = tree.rankAndByte(row);
      text[position] = rankAndByte % 256;
      row = firsts[text[position]] + Math.floor(rankAndByte / 256);
    }
    return text;
  }

  /** Returns the row of the suffix that is one byte longer. */
  #before(row: number): number {
    const rankAndByte = this.tree.rankAndByte(row);
    return this.firsts[rankAndByte % 256] + Math.floor(rankAndByte / 256);
  }
}

const neverFails = (reason: string): never => {
  throw new Error(reason);
};
