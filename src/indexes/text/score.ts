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
export function lengthTerms({ documents, tokens }: Corpus): {
  readonly base: number;
  readonly perToken: number;
} {
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
