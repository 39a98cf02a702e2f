/**
 * What tells of most tokens that they differ from a word by more than a few letters, without a look at their text: how many
 * letters they have, and which.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";

/** The tokens of a partition by the number of their letters; those of one number in the order of their bytes. */
export interface TokenLetters {
  /** A bit for each letter of a token, several letters with the same one. */
  readonly bits: Uint32Array;
  /** The places of the tokens in their table. */
  readonly places: Uint32Array;
  /** Where the tokens of each number of letters begin; the last ones are those of {@link MOST_LETTERS} and more. */
  readonly starts: Uint32Array;
}

/** Texts of tokens, by their places. */
interface TokenTexts {
  readonly count: number;
  token(place: number): Uint8Array;
}

/** Tokens of so many letters are among those of more. */
export const MOST_LETTERS = 64;

/** Tokens between two looks at the clock. */
const STEP_TOKENS = 1024;
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/** Adds a letter to the bits of others. */
const withLetter = (bits: number, letter: number): number =>
  (bits | (1 << ((letter ^ (letter >>> 5)) & 31))) >>> 0;

/** The bits of a word's letters. */
export function letterBits(letters: ArrayLike<number>): number {
  let bits = 0;
  for (let at = 0; at < letters.length; at++) bits = withLetter(bits, letters[at]);
  return bits;
}

/** The code points of a token. */
export function lettersOf(token: Uint8Array): ArrayLike<number> {
  for (let at = 0; at < token.length; at++) {
    if (token[at] < 0x80) continue;
    return Array.from(DECODER.decode(token), (letter) => letter.codePointAt(0) ?? 0);
  }
  return token;
}

export function* lettersOfTokens(table: TokenTexts): Steps<TokenLetters> {
  const { count } = table;
  const pace = new Pace(STEP_TOKENS);
  const counts = new Uint8Array(count);
  const own = new Uint32Array(count);
  const starts = new Uint32Array(MOST_LETTERS + 2);
  for (let place = 0; place < count; place++) {
    const letters = lettersOf(table.token(place));
    own[place] = letterBits(letters);
    counts[place] = Math.min(letters.length, MOST_LETTERS);
    starts[counts[place] + 1]++;
    if (pace.isStep()) yield;
  }
  for (let letters = 0; letters <= MOST_LETTERS; letters++) starts[letters + 1] += starts[letters];
  const bits = new Uint32Array(count);
  const places = new Uint32Array(count);
  const next = starts.slice();
  for (let place = 0; place < count; place++) {
    const at = next[counts[place]]++;
    bits[at] = own[place];
    places[at] = place;
    if (pace.isStep()) yield;
  }
  return { bits, places, starts };
}
