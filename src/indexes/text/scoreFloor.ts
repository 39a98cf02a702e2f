/**
 * A score that as many documents of a partition reach as a search wants. Known before any document is scored, it spares
 * the search those that come before it has found enough good ones by itself.
 *
 * It is taken from the shares (score.ts) of rare tokens: a document's score is not below what one of its tokens gives.
 */

import type { DocumentImpacts } from "./postingList.js";
import { K1, leastImpact, lengthTerms, SHARE_BYTES } from "./score.js";
import type { DocumentQuery, ScoredTerm } from "./tokenCursor.js";

/** Documents whose shares are looked at: so many times as many as are wanted, but not fewer and not more than these. */
const LOOKED_AT = 64;
const LEAST_LOOKED_AT = 8192;
const MOST_LOOKED_AT = 2 ** 16;
/** Of queries with more tokens, the score of one says little. */
const MOST_TOKENS = 64;
/** Steps between 0 and the highest score that a token can give. */
const STEPS = 1024;
/** Times that a lower score is tried where too many documents can't be found. */
const TRIES = 3;
/** How many more documents are looked for in each try than should be enough. */
const MARGIN = 1.25;
/** What sums and single floats may lose by rounding. */
const SLACK = 1 - 2 ** -18;

/** A rare token. */
interface RareToken {
  readonly kept: DocumentImpacts;
  /** The step of each share. */
  readonly steps: Uint16Array;
}

/**
 * @param query that finds documents which have any of its tokens
 * @param isFound whether the search takes a document
 * @returns a score that is not above that of `wanted` documents which the search takes; −Infinity where none is known
 */
export function scoreFloor(
  query: DocumentQuery,
  wanted: number,
  isFound: (document: number) => boolean,
): number {
  if (query.terms.length > MOST_TOKENS) return Number.NEGATIVE_INFINITY;
  const rare = rareTerms(query, wanted);
  let count = 0;
  let highest = 0;
  for (const { list, weight } of rare) {
    count += list.count;
    highest = Math.max(highest, (K1 + 1) * weight);
  }
  if (wanted === 0 || count < wanted) return Number.NEGATIVE_INFINITY;
  const { corpus, lengths } = query;
  const { base, perToken } = lengthTerms(corpus);
  const tokens: RareToken[] = [];
  const counts = new Uint32Array(STEPS + 1);
  for (const { list, weight } of rare) {
    const kept = list.allImpacts({ base, perToken, lengths });
    if (kept === null) continue;
    const perStep = (weight * (K1 + 1) * STEPS) / highest;
    const steps = new Uint16Array(SHARE_BYTES);
    for (let byte = 0; byte < SHARE_BYTES; byte++) {
      steps[byte] = perStep * leastImpact(byte);
      counts[steps[byte]] += kept.counts[byte];
    }
    tokens.push({ kept, steps });
  }
  let sought = wanted;
  for (let tries = 0; tries < TRIES && sought <= count; tries++) {
    const step = stepOf(counts, sought);
    const found = countFound(tokens, step, wanted, query.lengths.length, isFound);
    if (found >= wanted) return ((step * highest) / STEPS) * SLACK;
    sought = Math.ceil((MARGIN * sought * wanted) / Math.max(1, found));
  }
  return Number.NEGATIVE_INFINITY;
}

/** Tokens of few documents, the rarest first. */
function rareTerms({ terms }: DocumentQuery, wanted: number): readonly ScoredTerm[] {
  let room = Math.min(MOST_LOOKED_AT, Math.max(LEAST_LOOKED_AT, LOOKED_AT * wanted));
  const byCount = terms.length === 1 ? terms : [...terms].sort((a, b) => a.list.count - b.list.count);
  return byCount.filter(({ list }) => {
    room -= list.count;
    return list.count > 0 && room >= 0;
  });
}

/** The highest step that enough documents reach. */
function stepOf(counts: Uint32Array, sought: number): number {
  let step = STEPS;
  for (let reached = counts[step]; reached < sought && step > 0; reached += counts[step]) step--;
  return step;
}

/** How many documents that the search takes have a token of a step at least, counted up to those that are wanted. */
function countFound(
  tokens: readonly RareToken[],
  least: number,
  wanted: number,
  documentCount: number,
  isFound: (document: number) => boolean,
): number {
  // A document may have several of the tokens.
  const seen = tokens.length > 1 ? new Uint32Array((documentCount + 31) >>> 5) : null;
  let found = 0;
  for (const { kept, steps } of tokens) {
    const { documents, impacts } = kept;
    let low = 0;
    while (low < SHARE_BYTES && steps[low] < least) low++;
    for (let index = 0; index < impacts.length; index++) {
      if (impacts[index] < low) continue;
      const document = documents[index];
      if (seen !== null) {
        const bit = 1 << (document & 31);
        if ((seen[document >>> 5] & bit) !== 0) continue;
        seen[document >>> 5] |= bit;
      }
      if (!isFound(document)) continue;
      if (++found === wanted) return found;
    }
  }
  return found;
}
