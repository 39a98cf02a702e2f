/** The words of a query, as they are looked up in indexes and in texts. */

import { breathe } from "../../async/eventLoop.js";
import { compareBytes } from "../../bytes/compare.js";
import type { Analyzer } from "../../indexes/text/analyzer.js";
import { plainTokens } from "../../indexes/text/analyzer.js";
import type { QueryWord } from "../../indexes/text/phrases.js";
import {
  lettersOf,
  type TokenLetters,
  type TokenTable,
  withLetter,
} from "../../indexes/text/textPartition.js";
import type { Leaf, MatchQuery } from "./textQuery.js";

/** @param isPlain whether words are taken as they are: those that may differ in letters are */
export function queryWords(analyzer: Analyzer, text: string, isPlain: boolean): QueryWord[] {
  const words: QueryWord[] = [];
  const use = (token: string, position: number): void => void words.push({ token, position });
  if (isPlain) plainTokens(text, use);
  else analyzer.tokens(text, use);
  return words;
}

/** Tokens that are looked at between two looks at the clock. */
const STEP = 16_384;

/** The tokens of a partition, and their letters. */
export interface SearchedTokens {
  readonly table: TokenTable;
  readonly letters: TokenLetters;
}

/** A token that counts for a word of the query. */
export interface Term {
  /** Number of the word's place among the places of the query. */
  readonly word: number;
  readonly token: string;
}

/**
 * The tokens that count for the words of a query: these themselves, or those of all partitions that are like them, which
 * are asked for then. Of
 * these, the first ones in the order of their bytes are taken, for the first word first, until there are enough.
 */
export async function queryTerms(
  { query, words, places }: Leaf,
  tables: () => Promise<readonly SearchedTokens[]>,
): Promise<Term[]> {
  const wordOf = ({ position }: QueryWord): number => places.indexOf(position);
  if (query.kind === "phrase" || query.fuzziness === 0) {
    return distinct(words).map((each) => ({ word: wordOf(each), token: each.token }));
  }
  const terms: Term[] = [];
  const searched = await tables();
  for (const each of words) {
    const most = query.maxExpansions - terms.length;
    if (most <= 0) break;
    const alike = new AlikeTokens(each.token, query);
    const found = new Map<string, Uint8Array>();
    for (const table of searched) await alike.findIn(table, most, found);
    const sorted = [...found].sort(([, a], [, b]) => compareBytes(a, b)).slice(0, most);
    for (const [token] of sorted) terms.push({ word: wordOf(each), token });
  }
  return terms;
}

/** A word that is given twice counts twice; windows of characters are all at one place, and count once. */
function distinct(words: readonly QueryWord[]): QueryWord[] {
  const seen = new Set<string>();
  return words.filter(({ token, position }) => {
    const key = `${position} ${token}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** Tokens that differ from a word by at most some letters added, left out or replaced. */
class AlikeTokens {
  readonly #letters: Uint32Array;
  readonly #bits: number;
  readonly #prefix: Uint8Array;
  readonly #most: number;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(word: string, { prefixLength, fuzziness }: MatchQuery) {
    const letters = Array.from(word);
    this.#letters = Uint32Array.from(letters, (letter) => letter.codePointAt(0) ?? 0);
    this.#bits = this.#letters.reduce(withLetter, 0);
    this.#prefix = new TextEncoder().encode(letters.slice(0, prefixLength).join(""));
    this.#most = fuzziness;
  }

  /** Adds the first ones of a partition by their text. */
  async findIn(
    { table, letters }: SearchedTokens,
    most: number,
    found: Map<string, Uint8Array>,
  ): Promise<void> {
    let count = 0;
    let place = table.lowerBound(this.#prefix);
    while (place < table.count && count < most) {
      const end = Math.min(table.count, place + STEP);
      place = this.#nextAlike(letters, place, end);
      if (place === end) {
        await breathe();
        continue;
      }
      const bytes = table.token(place++);
      if (!beginsWith(bytes, this.#prefix)) {
        if (compareBytes(bytes, this.#prefix) > 0) break;
        continue;
      }
      if (!isWithin(this.#letters, lettersOf(bytes), this.#most)) continue;
      found.set(this.#decoder.decode(bytes), bytes);
      count++;
    }
  }

  /**
   * The place of the next token that may be alike, or the end. A letter that is added or left out is one bit more or less,
   * one that is replaced may be both.
   */
  #nextAlike(letters: TokenLetters, start: number, end: number): number {
    const most = this.#most;
    const least = this.#letters.length - most;
    const own = this.#bits;
    for (let place = start; place < end; place++) {
      // Of most tokens the number of letters tells.
      const count = letters[2 * place + 1] - least;
      if (count >= 0 && count <= 2 * most && bitCount(letters[2 * place] ^ own) <= 2 * most) return place;
    }
    return end;
  }
}

function bitCount(bits: number): number {
  let left = bits - ((bits >>> 1) & 0x55555555);
  left = (left & 0x33333333) + ((left >>> 2) & 0x33333333);
  return Math.imul((left + (left >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function beginsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  for (let at = 0; at < prefix.length; at++) if (bytes[at] !== prefix[at]) return false;
  return true;
}

function isWithin(a: ArrayLike<number>, b: ArrayLike<number>, most: number): boolean {
  if (Math.abs(a.length - b.length) > most) return false;
  let previous = new Uint32Array(b.length + 1).map((_, at) => at);
  let current = new Uint32Array(b.length + 1);
  for (let row = 1; row <= a.length; row++) {
    current[0] = row;
    let least = row;
    for (let at = 1; at <= b.length; at++) {
      const replaced = previous[at - 1] + (a[row - 1] === b[at - 1] ? 0 : 1);
      const distance = Math.min(replaced, previous[at] + 1, current[at - 1] + 1);
      current[at] = distance;
      if (distance < least) least = distance;
    }
    if (least > most) return false;
    [previous, current] = [current, previous];
  }
  return previous[b.length] <= most;
}
