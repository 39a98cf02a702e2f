/** BM25 scores. */

import type { BlockView } from "./postingBlocks.js";

export const K1 = 1.2;
const B = 0.75;

/** Collection statistics. */
export interface Corpus {
  readonly documents: number;
  /** Number of tokens of all documents. */
  readonly tokens: number;
}

/** Returns the inverse document frequency of a word. @param having number of documents that contain it */
export function wordWeight(documents: number, having: number): number {
  return Math.log(1 + (documents - having + 0.5) / (having + 0.5));
}

/** Terms of {@link lengthNorm}: that of an empty document, and the growth per token. */
export interface LengthTerms {
  readonly base: number;
  readonly perToken: number;
}

export function lengthTerms({ documents, tokens }: Corpus): LengthTerms {
  return { base: K1 * (1 - B), perToken: tokens === 0 ? 0 : (K1 * B * documents) / tokens };
}

/** Returns the length normalization, which BM25 adds to the frequency. @param length in tokens */
export function lengthNorm(corpus: Corpus, length: number): number {
  const { base, perToken } = lengthTerms(corpus);
  return base + perToken * length;
}

/** Returns the score of a document for a word (BM25). The loops of tokenCursor.ts repeat this formula. */
export const wordScore = (weight: number, frequency: number, norm: number): number =>
  (weight * (K1 + 1) * frequency) / (frequency + norm);

/**
 * The impact of a document is its fraction of the maximum score of a token, in (0, 1), from its frequency and
 * length. It is stored as a byte in 255ths, rounded up.
 */
const IMPACT_STEPS = 255;
/** Number of byte values. */
export const IMPACT_VALUES = 256;
/** Tolerance for rounding in comparisons of impacts with scores. */
const SLACK = 1 - 2 ** -20;

/** Inputs of impacts besides the list. */
export interface DocumentLengths extends LengthTerms {
  /** Number of tokens of each document of the partition. */
  readonly lengths: Uint32Array;
}

/** Computes the impacts of a block's documents. */
export function putImpacts(
  impacts: Uint8Array,
  { documents, frequencies, start, end }: BlockView,
  { base, perToken, lengths }: DocumentLengths,
): void {
  for (let index = start; index < end; index++) {
    const frequency = frequencies[index];
    const impact = frequency / (frequency + base + perToken * lengths[documents[index]]);
    impacts[index] = IMPACT_STEPS * impact + 1;
  }
}

/** Returns the greatest impact byte below a score, or less than 0. @param highest score of the token */
export const lowImpact = (score: number, highest: number): number =>
  score > 0 ? Math.floor((score / highest) * IMPACT_STEPS * SLACK) : -1;

/** Returns the least impact with this byte. */
export const leastImpact = (byte: number): number => Math.max(0, byte - 1) / IMPACT_STEPS;
