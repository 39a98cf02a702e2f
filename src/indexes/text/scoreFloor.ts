/**
 * A lower bound of the score of the last wanted document of a partition. It is known before any document is
 * scored, and so prunes the search from the start.
 *
 * The bound comes from the impacts (score.ts) of rare tokens: a document's score is at least that of one of
 * its tokens.
 */

import type { DocumentImpacts } from "./postingList.js";
import { IMPACT_VALUES, K1, leastImpact, lengthTerms } from "./score.js";
import type { DocumentQuery, ScoredTerm } from "./tokenCursor.js";

/** Documents whose impacts are read: this many per wanted one, within the two bounds. */
const CANDIDATES = 64;
const MIN_CANDIDATES = 8192;
const MAX_CANDIDATES = 2 ** 16;
/** Maximum number of tokens; the score of one of more says little. */
const MOST_TOKENS = 64;
/** Steps between 0 and the maximum score. */
const STEPS = 1024;
/** Attempts with lower scores. */
const TRIES = 3;
/** Oversampling per attempt. */
const MARGIN = 1.25;
/** Tolerance for rounding of sums and float32. */
const SLACK = 1 - 2 ** -18;

/** A rare token. */
interface RareToken {
  readonly kept: DocumentImpacts;
  /** Step of each impact. */
  readonly steps: Uint16Array;
}

/**
 * Returns a score that at least `wanted` accepted documents reach; −Infinity if unknown.
 * @param query for documents with any token
 * @param accepts true if the search may return the document
 */
export function scoreFloor(
  query: DocumentQuery,
  wanted: number,
  accepts: (document: number) => boolean,
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
    const steps = new Uint16Array(IMPACT_VALUES);
    for (let byte = 0; byte < IMPACT_VALUES; byte++) {
      steps[byte] = perStep * leastImpact(byte);
      counts[steps[byte]] += kept.counts[byte];
    }
    tokens.push({ kept, steps });
  }
  let target = wanted;
  for (let tries = 0; tries < TRIES && target <= count; tries++) {
    const step = stepOf(counts, target);
    const accepted = countAccepted(tokens, step, wanted, query.lengths.length, accepts);
    if (accepted >= wanted) return ((step * highest) / STEPS) * SLACK;
    target = Math.ceil((MARGIN * target * wanted) / Math.max(1, accepted));
  }
  return Number.NEGATIVE_INFINITY;
}

/** Returns the rarest tokens within the budget. */
function rareTerms({ terms }: DocumentQuery, wanted: number): readonly ScoredTerm[] {
  let room = Math.min(MAX_CANDIDATES, Math.max(MIN_CANDIDATES, CANDIDATES * wanted));
  const byCount = terms.length === 1 ? terms : [...terms].sort((a, b) => a.list.count - b.list.count);
  return byCount.filter(({ list }) => {
    room -= list.count;
    return list.count > 0 && room >= 0;
  });
}

/** Returns the highest step that enough documents reach. */
function stepOf(counts: Uint32Array, target: number): number {
  let step = STEPS;
  for (let reached = counts[step]; reached < target && step > 0; reached += counts[step]) step--;
  return step;
}

/** Counts accepted documents with a token of at least this step, up to `wanted`. */
function countAccepted(
  tokens: readonly RareToken[],
  least: number,
  wanted: number,
  documentCount: number,
  accepts: (document: number) => boolean,
): number {
  // A document may contain several tokens.
  const seen = tokens.length > 1 ? new Uint32Array((documentCount + 31) >>> 5) : null;
  let accepted = 0;
  for (const { kept, steps } of tokens) {
    const { documents, impacts } = kept;
    let low = 0;
    while (low < IMPACT_VALUES && steps[low] < least) low++;
    for (let index = 0; index < impacts.length; index++) {
      if (impacts[index] < low) continue;
      const document = documents[index];
      if (seen !== null) {
        const bit = 1 << (document & 31);
        if ((seen[document >>> 5] & bit) !== 0) continue;
        seen[document >>> 5] |= bit;
      }
      if (!accepts(document)) continue;
      if (++accepted === wanted) return accepted;
    }
  }
  return accepted;
}
