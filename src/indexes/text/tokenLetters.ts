/**
 * What tells of most tokens that they differ from a word by more than a few letters, without a look at their text: how many
 * letters they have, and which.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";

/**
 * The tokens of a partition in groups: those of a number of letters that have the same ones of {@link GROUP_LETTERS}. Those of a
 * group are in the order of their bytes.
 */
export interface TokenLetters {
  /** A bit for each letter of a token, several letters with the same one. */
  readonly bits: Uint32Array;
  /** The places of the tokens in their table. */
  readonly places: Uint32Array;
  /** Where the tokens of each group begin, by {@link groupOf}, and behind them where those of the last one end. */
  readonly starts: Uint32Array;
}

/** Texts of tokens, by their places. */
interface TokenTexts {
  readonly count: number;
  token(position: number): Uint8Array;
}

/** Tokens of so many letters are among those of more. */
export const MOST_LETTERS = 64;

/** Of the bits of letters, those that groups are made by: half of all words have some of h to o, and not the same ones. */
const GROUP_SHIFT = 8;
/** Groups of the tokens of one number of letters. */
export const LETTER_GROUPS = 256;

/** What a group's tokens have of the bits of their letters. */
export const GROUP_LETTERS = (LETTER_GROUPS - 1) << GROUP_SHIFT;

/** The number of a group. @param bits of its letters; others do not count */
export const groupOf = (letterCount: number, bits: number): number =>
  letterCount * LETTER_GROUPS + ((bits & GROUP_LETTERS) >>> GROUP_SHIFT);

/** The bits that the tokens of a group have in common. */
export const bitsOfGroup = (group: number): number => (group % LETTER_GROUPS) << GROUP_SHIFT;

/** Tokens between two looks at the clock. */
const STEP_TOKENS = 1024;
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/** Adds a letter to the bits of others. */
const withLetter = (bits: number, letter: number): number =>
  (bits | (1 << ((letter ^ (letter >>> 5)) & 31))) >>> 0;

/** The bits of a word's letters. */
export function letterBits(letters: ArrayLike<number>): number {
  let bits = 0;
  for (let index = 0; index < letters.length; index++) bits = withLetter(bits, letters[index]);
  return bits;
}

/** The code points of a token. */
export function lettersOf(token: Uint8Array): ArrayLike<number> {
  for (let offset = 0; offset < token.length; offset++) {
    if (token[offset] < 0x80) continue;
    return codePoints(DECODER.decode(token));
  }
  return token;
}

/** The code points of a text. */
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

/** UTF-16 units of a code point. */
export const letterUnits = (letter: number): number => (letter > 0xffff ? 2 : 1);

export function* lettersOfTokens(table: TokenTexts): Steps<TokenLetters> {
  const { count } = table;
  const pace = new Pace(STEP_TOKENS);
  const counts = new Uint8Array(count);
  const own = new Uint32Array(count);
  const starts = new Uint32Array((MOST_LETTERS + 1) * LETTER_GROUPS + 1);
  for (let offset = 0; offset < count; offset++) {
    const letters = lettersOf(table.token(offset));
    own[offset] = letterBits(letters);
    counts[offset] = Math.min(letters.length, MOST_LETTERS);
    starts[groupOf(counts[offset], own[offset]) + 1]++;
    if (pace.isStep()) yield;
  }
  for (let group = 1; group < starts.length; group++) starts[group] += starts[group - 1];
  const bits = new Uint32Array(count);
  const places = new Uint32Array(count);
  const next = starts.slice();
  for (let byteOffset = 0; byteOffset < count; byteOffset++) {
    const index = next[groupOf(counts[byteOffset], own[byteOffset])]++;
    bits[index] = own[byteOffset];
    places[index] = byteOffset;
    if (pace.isStep()) yield;
  }
  return { bits, places, starts };
}
