/** The words of a query, as they are looked up in indexes and in texts. */

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

/** @param isPlain whether words are taken as they are: those that may differ in letters are */
export async function queryWords(analyzer: Analyzer, text: string, isPlain: boolean): Promise<QueryWord[]> {
  const words: QueryWord[] = [];
  const use = (token: string, position: number): void => void words.push({ token, position });
  if (isPlain) plainTokens(text, use);
  else await runAsync(analyzer.steps(text, use));
  return words;
}

/** Words between two looks at the clock. */
const STEP_WORDS = 1024;
/** Tokens that are looked at between two looks at the clock. */
const STEP = 16_384;
/** Pairs of letters that are compared meanwhile, about, at most. */
const STEP_LETTER_PAIRS = 2 ** 20;

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
 * The tokens that count for the words of a query: these themselves, or those of all partitions that are like them. Of these,
 * the first ones in the order of their bytes are taken, for the first word first, until there are enough.
 * @param tables of all partitions; asked for only where tokens that are like the words count
 */
export async function queryTerms(
  { query, words, places }: Leaf,
  tables: () => Promise<readonly SearchedTokens[]>,
  signal?: AbortSignal,
): Promise<Term[]> {
  const numbers = new Map(places.map((position, number) => [position, number]));
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
    const found = new Map<string, Uint8Array>();
    for (const table of searched) await alike.findIn(table, most, found);
    const sorted = [...found].sort(([, a], [, b]) => compareBytes(a, b)).slice(0, most);
    for (const [token] of sorted) terms.push({ word: wordOf(each), token });
  }
  return terms;
}

/** A word that is given twice counts twice; windows of characters are all at one place, and count once. */
function* distinct(words: readonly QueryWord[]): Generator<QueryWord> {
  const seen = new Set<string>();
  for (const word of words) {
    const key = `${word.position} ${word.token}`;
    if (seen.has(key)) continue;
    seen.add(key);
    yield word;
  }
}

/** Tokens that differ from a word by at most some letters added, left out or replaced. */
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

  /** Adds the first ones of a partition by their text. */
  async findIn(
    { table, letters }: SearchedTokens,
    most: number,
    found: Map<string, Uint8Array>,
  ): Promise<void> {
    const places: number[] = [];
    const { length } = this.#letters;
    const fewest = Math.min(MOST_LETTERS, Math.max(0, length - this.#most));
    for (let count = fewest; count <= Math.min(MOST_LETTERS, length + this.#most); count++) {
      await this.#addOfLength(table, letters, count, places);
    }
    places.sort((a, b) => a - b);
    for (const position of places.slice(0, most)) {
      const bytes = table.token(position);
      found.set(this.#decoder.decode(bytes), bytes);
    }
  }

  /** Adds the places of those tokens of a number of letters that are alike. */
  async #addOfLength(
    table: TokenTable,
    letters: TokenLetters,
    count: number,
    found: number[],
  ): Promise<void> {
    // A letter that is added or left out is one bit more or less, one that is replaced may be both.
    const apart = count === MOST_LETTERS ? 0 : Math.abs(count - this.#letters.length);
    const mostBits = 2 * this.#most - apart;
    const ownOfGroup = this.#bits & GROUP_LETTERS;
    const first = groupOf(count, 0);
    const step = this.#tokensInStep();
    let left = step;
    for (let group = first; group < first + LETTER_GROUPS; group++) {
      if (countSetBits(bitsOfGroup(group) ^ ownOfGroup) > mostBits) continue;
      const end = letters.starts[group + 1];
      for (let start = letters.starts[group]; start < end; ) {
        const next = Math.min(end, start + left);
        this.#addPlaces(table, letters, start, next, mostBits, found);
        left -= next - start;
        start = next;
        if (left > 0) continue;
        left = step;
        await yieldToEventLoop();
      }
    }
  }

  /** Fewer where words are long, or may differ in many letters. */
  #tokensInStep(): number {
    const pairs = Math.max(1, this.#letters.length * (2 * this.#most + 1));
    return Math.max(1, Math.min(STEP, Math.floor(STEP_LETTER_PAIRS / pairs)));
  }

  #addPlaces(
    table: TokenTable,
    { bits, places }: TokenLetters,
    start: number,
    end: number,
    mostBits: number,
    found: number[],
  ): void {
    const own = this.#bits;
    for (let index = start; index < end; index++) {
      if (countSetBits(bits[index] ^ own) > mostBits) continue;
      const token = table.token(places[index]);
      if (beginsWith(token, this.#prefix) && isWithin(this.#letters, lettersOf(token), this.#most)) {
        found.push(places[index]);
      }
    }
  }
}

function beginsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  for (let offset = 0; offset < prefix.length; offset++) if (bytes[offset] !== prefix[offset]) return false;
  return true;
}

/** Whether two words differ by at most so many letters. */
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
  // What is left begins and ends with letters that differ.
  const [aLength, bLength] = [aEnd - start, bEnd - start];
  if (aLength <= 1 && bLength <= 1) return Math.max(aLength, bLength) <= most;
  if (most <= 1) return false;
  // Of each row only a band counts: letters further apart than that are as many added or left out.
  let previous = new Uint32Array(bLength + 1).map((_, index) => index);
  let current = new Uint32Array(bLength + 1);
  for (let row = 1; row <= aLength; row++) {
    const first = Math.max(1, row - most);
    const last = Math.min(bLength, row + most);
    current[first - 1] = first === 1 ? row : most + 1;
    // Behind the band of the row before nothing was written.
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
