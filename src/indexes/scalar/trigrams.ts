/**
 * Cuts text into trigrams: all runs of three ASCII letters and digits, after lower-casing and removal of
 * diacritics. The number of a trigram has base 37: digits 0 to 9 count 1 to 10, letters a to z 11 to 36.
 */

import { parsePairs } from "../textPairs.js";

/** Exclusive bound of the numbers. */
const TRIGRAM_COUNT = 37 ** 3;
const LENGTH = 3;

/** Letters that Unicode does not decompose. */
const LETTERS: ReadonlyMap<string, string> = new Map(
  parsePairs(
    "ß:ss æ:ae œ:oe ø:o ð:d þ:th đ:d ħ:h ı:i ĸ:q ł:l ŋ:n ŧ:t ƀ:b ƃ:b ɓ:b ƈ:c ƌ:d ɖ:d ɗ:d ǝ:a ə:a ɛ:e ƒ:f " +
      "ɠ:g ǥ:g ƕ:hv ɩ:i ɨ:i ƙ:k ƚ:l ɯ:m ɲ:n ƞ:n ɔ:o ɵ:o ƥ:p ʀ:r ƫ:t ƭ:t ʈ:t ʉ:u ʋ:v ƴ:y ƶ:z ȥ:z ȡ:d ȴ:l ȵ:n " +
      "ȶ:t ȷ:j ɐ:a ɑ:a ɡ:g",
  ),
);

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Finds the distinct trigrams of texts. */
export class TrigramFinder {
  /** Last text with each trigram. */
  readonly #seen = new Uint32Array(TRIGRAM_COUNT);
  #text = 0;

  /** Calls `use` with the number of each distinct trigram of a text. */
  find(bytes: Uint8Array, start: number, end: number, use: (trigram: number) => void): void {
    this.#text++;
    const folded = foldText(bytes, start, end);
    if (folded === null) this.#scan(bytes, start, end, use);
    else this.#scan(folded, 0, folded.length, use);
  }

  #scan(bytes: Uint8Array, start: number, end: number, use: (trigram: number) => void): void {
    const seen = this.#seen;
    const text = this.#text;
    let run = 0;
    let number = 0;
    for (let offset = start; offset < end; offset++) {
      const digit = digitOf(bytes[offset]);
      if (digit === 0) {
        run = 0;
        continue;
      }
      number = ((number % (37 * 37)) * 37 + digit) % TRIGRAM_COUNT;
      if (++run < LENGTH || seen[number] === text) continue;
      seen[number] = text;
      use(number);
    }
  }
}

/** Returns the trigrams of all texts that contain `text`. Writers agree only on folding ASCII. */
export function trigramsWithin(text: string): number[] {
  const bytes = encoder.encode(text.toLowerCase());
  const trigrams = new Set<number>();
  for (let offset = 0; offset + LENGTH <= bytes.length; offset++) {
    const digits = [digitOf(bytes[offset]), digitOf(bytes[offset + 1]), digitOf(bytes[offset + 2])];
    if (!digits.includes(0)) trigrams.add((digits[0] * 37 + digits[1]) * 37 + digits[2]);
  }
  return [...trigrams];
}

/** Returns the digit in base 37; 0 for other bytes. */
function digitOf(byte: number): number {
  if (byte >= 0x61 && byte <= 0x7a) return byte - 0x61 + 11;
  if (byte >= 0x41 && byte <= 0x5a) return byte - 0x41 + 11;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30 + 1;
  return 0;
}

/** Folds a text to plain letters; null if it is ASCII, since the case of ASCII does not matter. */
function foldText(bytes: Uint8Array, start: number, end: number): Uint8Array | null {
  let offset = start;
  while (offset < end && bytes[offset] < 0x80) offset++;
  if (offset === end) return null;
  const text = decoder.decode(bytes.subarray(start, end)).toLowerCase();
  let folded = "";
  for (const character of text.normalize("NFKD")) folded += LETTERS.get(character) ?? plain(character);
  return encoder.encode(folded);
}

/** Drops diacritics. */
const plain = (character: string): string => (/^\p{M}$/u.test(character) ? "" : character);
