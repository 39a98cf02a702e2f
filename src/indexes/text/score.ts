/** BM25: how well documents match words. */

export const K1 = 1.2;
const B = 0.75;

/** What is known of all documents together. */
export interface Corpus {
  readonly documents: number;
  /** Tokens of all documents. */
  readonly tokens: number;
}

/** The weight of a word that is in some of the documents. */
export function wordWeight(documents: number, having: number): number {
  return Math.log(1 + (documents - having + 0.5) / (having + 0.5));
}

/** What {@link lengthNorm} is of an empty document, and what each token adds to it. */
export interface LengthTerms {
  readonly base: number;
  readonly perToken: number;
}

export function lengthTerms({ documents, tokens }: Corpus): LengthTerms {
  return { base: K1 * (1 - B), perToken: tokens === 0 ? 0 : (K1 * B * documents) / tokens };
}

/** What the frequency of a word is divided by, beside itself. @param length tokens of the document */
export function lengthNorm(corpus: Corpus, length: number): number {
  const { base, perToken } = lengthTerms(corpus);
  return base + perToken * length;
}

/** The score of a document for a word. */
export const wordScore = (weight: number, frequency: number, norm: number): number =>
  (weight * (K1 + 1) * frequency) / (frequency + norm);

// -------------------------------------------------------------------------------------------------- shares

/**
 * A document's share is what its frequency of a token and its length leave of the highest score that the token can give: a
 * number above 0 and below 1. It is kept as a byte, which it is below in 255ths.
 */
const SHARE_STEPS = 255;
/** Values that the byte of a share can have. */
export const SHARE_BYTES = 256;
/** What a comparison of shares with scores may lose by rounding. */
const SLACK = 1 - 2 ** -20;

/** Puts the shares of some documents of a token into bytes, at the same places. */
export function putImpacts(
  impacts: Uint8Array,
  documents: Uint32Array,
  frequencies: Uint32Array,
  start: number,
  end: number,
  { base, perToken }: LengthTerms,
  lengths: Uint32Array,
): void {
  for (let index = start; index < end; index++) {
    const frequency = frequencies[index];
    const impact = frequency / (frequency + base + perToken * lengths[documents[index]]);
    impacts[index] = SHARE_STEPS * impact + 1;
  }
}

/**
 * The greatest byte of a share that is too low for a score; below 0 where none is.
 * @param highest score that the token can give
 */
export const lowImpact = (score: number, highest: number): number =>
  score > 0 ? Math.floor((score / highest) * SHARE_STEPS * SLACK) : -1;

/** What a share is at least that has a byte. */
export const leastImpact = (byte: number): number => Math.max(0, byte - 1) / SHARE_STEPS;
