/** Query words, as looked up in indexes and texts. */

import { Pace, runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { countSetBits } from "../../bytes/bits.js";
import { compareBytes } from "../../bytes/compare.js";
import type { Analyzer } from "../../indexes/text/analyzer.js";
import { plainTokens } from "../../indexes/text/analyzer.js";
import type { QueryWord } from "../../indexes/text/phrases.js";
import type { TokenTable } from "../../indexes/text/textPartition.js";
import {
  bitsOfGroup,
  codePoints,
  GROUP_LETTERS,
  groupOf,
  LETTER_GROUPS,
  letterBits,
  lettersOf,
  letterUnits,
  MOST_LETTERS,
  type TokenLetters,
} from "../../indexes/text/tokenLetters.js";
import type { Leaf, MatchQuery } from "./textQuery.js";

/** Cuts a query into words. @param isPlain true to keep the words unchanged, as for fuzzy queries */
export async function queryWords(analyzer: Analyzer, text: string, isPlain: boolean): Promise<QueryWord[]> {
  const words: QueryWord[] = [];
  const use = (token: string, position: number): void => void words.push({ token, position });
  if (isPlain) plainTokens(text, use);
  else await runAsync(analyzer.steps(text, use));
  return words;
}

/** Words between yields. */
const STEP_WORDS = 1024;
/** Tokens checked between yields. */
const STEP = 16_384;
/** Approximate maximum of letter pairs compared between yields. */
const STEP_LETTER_PAIRS = 2 ** 20;

/** Tokens of a partition and their letters. */
export interface SearchedTokens {
  readonly table: TokenTable;
  readonly letters: TokenLetters;
}

/** A token that matches a query word. */
export interface Term {
  /** Index of the word's position among the query positions. */
  readonly word: number;
  readonly token: string;
}

/**
 * Returns the tokens that match the words of a query: the words, or for a fuzzy query similar tokens of all
 * partitions. For each word in order, similar tokens are taken in byte order until the limit.
 * @param tables of all partitions, loaded only for fuzzy queries
 */
export async function queryTerms(
  { query, words, wordPositions }: Leaf,
  tables: () => Promise<readonly SearchedTokens[]>,
  signal?: AbortSignal,
): Promise<Term[]> {
  const numbers = new Map(wordPositions.map((position, number) => [position, number]));
  const wordOf = ({ position }: QueryWord): number => numbers.get(position) as number;
  const terms: Term[] = [];
  if (query.kind === "phrase" || query.fuzziness === 0) {
    const pace = new Pace(STEP_WORDS);
    for (const each of distinct(words)) {
      terms.push({ word: wordOf(each), token: each.token });
      if (pace.isStep()) await yieldToEventLoop();
    }
    return terms;
  }
  const searched = await tables();
  for (const each of words) {
    const most = query.maxExpansions - terms.length;
    if (most <= 0) break;
    signal?.throwIfAborted();
    const alike = new AlikeTokens(each.token, query);
    const matches = new Map<string, Uint8Array>();
    for (const table of searched) await alike.findIn(table, most, matches);
    const sorted = [...matches].sort(([, a], [, b]) => compareBytes(a, b)).slice(0, most);
    for (const [token] of sorted) terms.push({ word: wordOf(each), token });
  }
  return terms;
}

/** A repeated word counts twice, but character windows share a position and count once. */
function* distinct(words: readonly QueryWord[]): Generator<QueryWord> {
  const seen = new Set<string>();
  for (const word of words) {
    const key = `${word.position} ${word.token}`;
    if (seen.has(key)) continue;
    seen.add(key);
    yield word;
  }
}

/** Tokens within an edit distance of a word. */
class AlikeTokens {
  readonly #letters: Uint32Array;
  readonly #bits: number;
  readonly #prefix: Uint8Array;
  readonly #most: number;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(word: string, { prefixLength, fuzziness }: MatchQuery) {
    this.#letters = codePoints(word);
    this.#bits = letterBits(this.#letters);
    let prefixUnits = 0;
    for (const letter of this.#letters.subarray(0, prefixLength)) prefixUnits += letterUnits(letter);
    this.#prefix = new TextEncoder().encode(word.slice(0, prefixUnits));
    this.#most = fuzziness;
  }

  /** Adds the first matches of a partition in byte order. */
  async findIn(
    { table, letters }: SearchedTokens,
    most: number,
    matches: Map<string, Uint8Array>,
  ): Promise<void> {
    const tokenIndices: number[] = [];
    const { length } = this.#letters;
    const fewest = Math.min(MOST_LETTERS, Math.max(0, length - this.#most));
    for (let count = fewest; count <= Math.min(MOST_LETTERS, length + this.#most); count++) {
      await this.#addOfLength(table, letters, count, tokenIndices);
    }
    tokenIndices.sort((a, b) => a - b);
    for (const position of tokenIndices.slice(0, most)) {
      const bytes = table.token(position);
      matches.set(this.#decoder.decode(bytes), bytes);
    }
  }

  /** Adds the table indices of matches with `count` letters. */
  async #addOfLength(
    table: TokenTable,
    letters: TokenLetters,
    count: number,
    matches: number[],
  ): Promise<void> {
    // An insertion or deletion changes one bit, a replacement up to two.
    const apart = count === MOST_LETTERS ? 0 : Math.abs(count - this.#letters.length);
    const mostBits = 2 * this.#most - apart;
    const groupBits = this.#bits & GROUP_LETTERS;
    const first = groupOf(count, 0);
    const step = this.#tokensInStep();
    let left = step;
    for (let group = first; group < first + LETTER_GROUPS; group++) {
      if (countSetBits(bitsOfGroup(group) ^ groupBits) > mostBits) continue;
      const end = letters.starts[group + 1];
      for (let start = letters.starts[group]; start < end; ) {
        const next = Math.min(end, start + left);
        this.#addMatches(table, letters, start, next, mostBits, matches);
        left -= next - start;
        start = next;
        if (left > 0) continue;
        left = step;
        await yieldToEventLoop();
      }
    }
  }

  /** Decreases with the length of the word and the edit distance. */
  #tokensInStep(): number {
    const pairs = Math.max(1, this.#letters.length * (2 * this.#most + 1));
    return Math.max(1, Math.min(STEP, Math.floor(STEP_LETTER_PAIRS / pairs)));
  }

  #addMatches(
    table: TokenTable,
    { bits, tokenIndices }: TokenLetters,
    start: number,
    end: number,
    mostBits: number,
    matches: number[],
  ): void {
    const wordBits = this.#bits;
    for (let index = start; index < end; index++) {
      if (countSetBits(bits[index] ^ wordBits) > mostBits) continue;
      const token = table.token(tokenIndices[index]);
      if (beginsWith(token, this.#prefix) && isWithin(this.#letters, lettersOf(token), this.#most)) {
        matches.push(tokenIndices[index]);
      }
    }
  }
}

function beginsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  for (let offset = 0; offset < prefix.length; offset++) if (bytes[offset] !== prefix[offset]) return false;
  return true;
}

/** True if the edit distance of two words is at most `most`. */
function isWithin(a: ArrayLike<number>, b: ArrayLike<number>, most: number): boolean {
  let aEnd = a.length;
  let bEnd = b.length;
  if (Math.abs(aEnd - bEnd) > most) return false;
  let start = 0;
  while (start < aEnd && start < bEnd && a[start] === b[start]) start++;
  while (aEnd > start && bEnd > start && a[aEnd - 1] === b[bEnd - 1]) {
    aEnd--;
    bEnd--;
  }
  // The rest begins and ends with different letters.
  const [aLength, bLength] = [aEnd - start, bEnd - start];
  if (aLength <= 1 && bLength <= 1) return Math.max(aLength, bLength) <= most;
  if (most <= 1) return false;
  // Only a diagonal band matters: cells further away need more edits.
  let previous = new Uint32Array(bLength + 1).map((_, index) => index);
  let current = new Uint32Array(bLength + 1);
  for (let row = 1; row <= aLength; row++) {
    const first = Math.max(1, row - most);
    const last = Math.min(bLength, row + most);
    current[first - 1] = first === 1 ? row : most + 1;
    // Cells beyond the last row's band are unset.
    if (row + most <= bLength) previous[last] = most + 1;
    let least = current[first - 1];
    for (let index = first; index <= last; index++) {
      const replaced = previous[index - 1] + (a[start + row - 1] === b[start + index - 1] ? 0 : 1);
      const distance = Math.min(replaced, previous[index] + 1, current[index - 1] + 1);
      current[index] = distance;
      if (distance < least) least = distance;
    }
    if (least > most) return false;
    [previous, current] = [current, previous];
  }
  return previous[bLength] <= most;
}
