/** The words of a query, as they are looked up in indexes and in texts. */

import type { Analyzer } from "../indexes/text/analyzer.js";
import { plainTokens } from "../indexes/text/analyzer.js";
import type { TokenTable } from "../indexes/text/textPartition.js";
import type { MatchQuery, PhraseQuery } from "./textQuery.js";

/** A word of a query, and where it stands there. */
export interface QueryWord {
  readonly token: string;
  readonly position: number;
}

/** @param isPlain whether words are taken as they are: those that may differ in letters are */
export function wordsOf(analyzer: Analyzer, text: string, isPlain: boolean): QueryWord[] {
  const words: QueryWord[] = [];
  const use = (token: string, position: number): void => void words.push({ token, position });
  if (isPlain) plainTokens(text, use);
  else analyzer.tokens(text, use);
  return words;
}

/** A token that counts for a word of the query. */
export interface Term {
  readonly word: number;
  readonly token: string;
}

/** The tokens of a partition that count for the words of a query. */
export function termsIn(
  query: MatchQuery | PhraseQuery,
  words: readonly QueryWord[],
  tokens: TokenTable,
): Term[] {
  if (query.kind === "phrase" || query.fuzziness === 0) {
    return words.map(({ token }, word) => ({ word, token }));
  }
  const decoder = new TextDecoder();
  const terms: Term[] = [];
  for (const [word, { token }] of words.entries()) {
    const letters = Array.from(token);
    const prefix = letters.slice(0, query.prefixLength).join("");
    for (let place = 0; place < tokens.count && terms.length < query.maxExpansions; place++) {
      const candidate = decoder.decode(tokens.token(place));
      if (!candidate.startsWith(prefix)) continue;
      if (isWithin(letters, Array.from(candidate), query.fuzziness)) terms.push({ word, token: candidate });
    }
  }
  return terms;
}

/** Whether two words differ by at most some letters added, left out or replaced. */
export function isWithin(a: readonly string[], b: readonly string[], most: number): boolean {
  if (Math.abs(a.length - b.length) > most) return false;
  let previous = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let at = 1; at <= b.length; at++) {
      const replaced = previous[at - 1] + (a[row - 1] === b[at - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[at] + 1, current[at - 1] + 1));
    }
    if (current.every((distance) => distance > most)) return false;
    previous = current;
  }
  return previous[b.length] <= most;
}

/**
 * Whether the words of a phrase follow each other in a document.
 * @param positions of each word, ascending
 */
export function isPhrase(
  words: readonly QueryWord[],
  positions: readonly Uint32Array[],
  slop: number,
): boolean {
  // Places that a word can have, as if the phrase began there; each is kept where the words before fit.
  let places = Array.from(positions[0], (position) => position - words[0].position);
  for (let word = 1; word < words.length && places.length > 0; word++) {
    const next: number[] = [];
    let from = 0;
    for (const position of positions[word]) {
      const place = position - words[word].position;
      while (from < places.length && places[from] < place - slop) from++;
      if (from < places.length && places[from] <= place) next.push(place);
    }
    places = next;
  }
  return places.length > 0;
}
