/** The words of a query, as they are looked up in indexes and in texts. */

import { breathe } from "../async/eventLoop.js";
import { compareBytes } from "../bytes/compare.js";
import type { Analyzer } from "../indexes/text/analyzer.js";
import { plainTokens } from "../indexes/text/analyzer.js";
import type { QueryWord } from "../indexes/text/phrases.js";
import type { TokenTable } from "../indexes/text/textPartition.js";
import type { Leaf, MatchQuery } from "./textQuery.js";

/** @param isPlain whether words are taken as they are: those that may differ in letters are */
export function queryWords(analyzer: Analyzer, text: string, isPlain: boolean): QueryWord[] {
  const words: QueryWord[] = [];
  const use = (token: string, position: number): void => void words.push({ token, position });
  if (isPlain) plainTokens(text, use);
  else analyzer.tokens(text, use);
  return words;
}

/** Tokens that are compared between two looks at the clock. */
const STEP = 256;

/** A token that counts for a word of the query. */
export interface Term {
  /** Number of the word's place among the places of the query. */
  readonly word: number;
  readonly token: string;
}

/**
 * The tokens that count for the words of a query: these themselves, or those of all partitions that are like them. Of
 * these, the first ones in the order of their bytes are taken, for the first word first, until there are enough.
 */
export async function queryTerms(
  { query, words, places }: Leaf,
  tables: readonly TokenTable[],
): Promise<Term[]> {
  const wordOf = ({ position }: QueryWord): number => places.indexOf(position);
  if (query.kind === "phrase" || query.fuzziness === 0) {
    return distinct(words).map((each) => ({ word: wordOf(each), token: each.token }));
  }
  const terms: Term[] = [];
  for (const each of words) {
    const most = query.maxExpansions - terms.length;
    if (most <= 0) break;
    const alike = new AlikeTokens(each.token, query);
    const found = new Map<string, Uint8Array>();
    for (const table of tables) await alike.findIn(table, most, found);
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
  readonly #prefix: Uint8Array;
  readonly #most: number;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(word: string, { prefixLength, fuzziness }: MatchQuery) {
    const letters = Array.from(word);
    this.#letters = codePoints(word);
    this.#prefix = new TextEncoder().encode(letters.slice(0, prefixLength).join(""));
    this.#most = fuzziness;
  }

  /** Adds the first ones of a partition by their text. */
  async findIn(table: TokenTable, most: number, found: Map<string, Uint8Array>): Promise<void> {
    let count = 0;
    for (let place = table.lowerBound(this.#prefix); place < table.count && count < most; place++) {
      if (place % STEP === 0) await breathe();
      const bytes = table.token(place);
      if (!beginsWith(bytes, this.#prefix)) break;
      // A letter has at most 4 bytes, and at least one.
      if (bytes.length < this.#letters.length - this.#most) continue;
      if (bytes.length > 4 * (this.#letters.length + this.#most)) continue;
      const isAscii = bytes.every((byte) => byte < 0x80);
      const letters = isAscii ? bytes : codePoints(this.#decoder.decode(bytes));
      if (!isWithin(this.#letters, letters, this.#most)) continue;
      found.set(this.#decoder.decode(bytes), bytes);
      count++;
    }
  }
}

const codePoints = (text: string): Uint32Array =>
  Uint32Array.from(Array.from(text), (letter) => letter.codePointAt(0) ?? 0);

function beginsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  for (let at = 0; at < prefix.length; at++) if (bytes[at] !== prefix[at]) return false;
  return true;
}

type Letters = Uint32Array | Uint8Array;

function isWithin(a: Letters, b: Letters, most: number): boolean {
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
