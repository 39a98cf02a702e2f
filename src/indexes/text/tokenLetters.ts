/**
 * Letter statistics of tokens. For a fuzzy query, they exclude most tokens by the number of letters and by
 * which letters occur, without reading the tokens.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";

/** Tokens grouped by length and by {@link GROUP_LETTERS}, in byte order within a group. */
export interface TokenLetters {
  /** Bits of each token's letters; letters share bits. */
  readonly bits: Uint32Array;
  /** Index of each token in the token table. */
  readonly tokenIndices: Uint32Array;
  /** First token of each group, by {@link groupOf}, then the number of tokens. */
  readonly starts: Uint32Array;
}

/** Tokens by index. */
interface TokenTexts {
  readonly count: number;
  token(position: number): Uint8Array;
}

/** Longer tokens count as this long. */
export const MOST_LETTERS = 64;

/** First letter bit that forms groups, h to o: half of all words contain some, in many combinations. */
const GROUP_SHIFT = 8;
/** Groups per number of letters. */
export const LETTER_GROUPS = 256;

/** Letter bits that form groups. */
export const GROUP_LETTERS = (LETTER_GROUPS - 1) << GROUP_SHIFT;

/** Returns the number of a group. @param bits of letters; only {@link GROUP_LETTERS} count */
export const groupOf = (letterCount: number, bits: number): number =>
  letterCount * LETTER_GROUPS + ((bits & GROUP_LETTERS) >>> GROUP_SHIFT);

/** Returns the letter bits of a group. */
export const bitsOfGroup = (group: number): number => (group % LETTER_GROUPS) << GROUP_SHIFT;

/** Tokens between yields. */
const STEP_TOKENS = 1024;
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/** Adds a letter's bit. */
const withLetter = (bits: number, letter: number): number =>
  (bits | (1 << ((letter ^ (letter >>> 5)) & 31))) >>> 0;

/** Returns the bits of a word's letters. */
export function letterBits(letters: ArrayLike<number>): number {
  let bits = 0;
  for (let index = 0; index < letters.length; index++) bits = withLetter(bits, letters[index]);
  return bits;
}

/** Returns the code points of a token. */
export function lettersOf(token: Uint8Array): ArrayLike<number> {
  for (let offset = 0; offset < token.length; offset++) {
    if (token[offset] < 0x80) continue;
    return codePoints(DECODER.decode(token));
  }
  return token;
}

/** Returns the code points of a text. */
export function codePoints(text: string): Uint32Array {
  const letters = new Uint32Array(text.length);
  let count = 0;
  for (let index = 0; index < text.length; count++) {
    const letter = text.codePointAt(index) as number;
    letters[count] = letter;
    index += letterUnits(letter);
  }
  return letters.subarray(0, count);
}

/** Returns the UTF-16 units of a code point. */
export const letterUnits = (letter: number): number => (letter > 0xffff ? 2 : 1);

export function* lettersOfTokens(table: TokenTexts): Steps<TokenLetters> {
  const { count } = table;
  const pace = new Pace(STEP_TOKENS);
  const counts = new Uint8Array(count);
  const letterSets = new Uint32Array(count);
  const starts = new Uint32Array((MOST_LETTERS + 1) * LETTER_GROUPS + 1);
  for (let offset = 0; offset < count; offset++) {
    const letters = lettersOf(table.token(offset));
    letterSets[offset] = letterBits(letters);
    counts[offset] = Math.min(letters.length, MOST_LETTERS);
    starts[groupOf(counts[offset], letterSets[offset]) + 1]++;
    if (pace.isStep()) yield;
  }
  for (let group = 1; group < starts.length; group++) starts[group] += starts[group - 1];
  const bits = new Uint32Array(count);
  const tokenIndices = new Uint32Array(count);
  const next = starts.slice();
  for (let byteOffset = 0; byteOffset < count; byteOffset++) {
    const index = next[groupOf(counts[byteOffset], letterSets[byteOffset])]++;
    bits[index] = letterSets[byteOffset];
    tokenIndices[index] = byteOffset;
    if (pace.isStep()) yield;
  }
  return { bits, tokenIndices, starts };
}
