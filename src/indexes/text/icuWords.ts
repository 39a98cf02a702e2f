/**
 * The tokenizer `icu`: words by the boundaries of Unicode, which `Intl.Segmenter` finds. Lance uses another
 * release of ICU, so this module corrects what differs:
 *
 * - A colon ends a word.
 * - Hangul belongs to the letters beside it.
 * - A word is any segment with a letter or digit.
 *
 * Scripts without spaces are cut by dictionaries or models, which differ too much. Such texts are refused,
 * because LanceDB would not find the words.
 */

import { UnsupportedError } from "../../errors.js";

type UseWord = (word: string, position: number, start: number, end: number) => void;

/** Scripts whose words only dictionaries tell. */
const DICTIONARY_SCRIPTS = [
  ...["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"],
  ...["Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet", "Ahom"],
];
const COLONS = /[:\ufe13\ufe55\uff1a]/g;
/** Letters of Hangul, all of one UTF-16 unit. */
const HANGUL = /[\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa0-\uffdc]/g;
const LETTER = /\p{L}/u;
const LETTER_OR_DIGIT = /[\p{Alphabetic}\p{N}]/u;
const LETTERS_AND_DIGITS = /[\p{Alphabetic}\p{N}]+/gu;
const ASCII = /^[\0-\x7f]*$/;
/** UTF-16 units that are segmented at once: the time of each word grows with the length of the text. */
const PIECE_UNITS = 256;

// Compiled on first use: most programs use other tokenizers.
let segmenter: Intl.Segmenter | null = null;
let dictionaryCharacter: RegExp | null = null;

/** @throws UnsupportedError if the runtime cannot cut words */
export function requireSegmenter(): Intl.Segmenter {
  if (segmenter !== null) return segmenter;
  if (typeof Intl === "undefined" || typeof Intl.Segmenter !== "function") {
    throw new UnsupportedError("baseTokenizer icu: this runtime has no Intl.Segmenter");
  }
  segmenter = new Intl.Segmenter("en", { granularity: "word" });
  return segmenter;
}

/**
 * Passes the words of a text to `use`.
 * @throws UnsupportedError for a text with characters of a script that needs a dictionary
 */
export function cutIcuWords(text: string, use: UseWord): void {
  const isAscii = ASCII.test(text);
  if (!isAscii) refuseDictionaryScripts(text);
  const withoutColons = text.replace(COLONS, "|");
  const cut = isAscii
    ? withoutColons
    : withoutColons.replace(HANGUL, (unit) => (LETTER.test(unit) ? "a" : unit));
  let position = 0;
  for (let start = 0; start < text.length; ) {
    const boundaries = boundariesFrom(cut, start);
    for (let index = 1; index < boundaries.length; index++) {
      const end = boundaries[index];
      const word = text.slice(start, end);
      if (LETTER_OR_DIGIT.test(word)) use(word, position++, start, end);
      start = end;
    }
  }
}

/**
 * Returns some boundaries from `start` on, which is the first. The two segments after a segment can decide
 * its end. So if a piece ends within the text, its last two segments are left to the next call.
 */
function boundariesFrom(text: string, start: number): number[] {
  for (let length = PIECE_UNITS; ; length *= 2) {
    const end = Math.min(text.length, start + length);
    const boundaries: number[] = [];
    for (const { index } of requireSegmenter().segment(text.slice(start, end)))
      if (boundaries.push(start + index) > PIECE_UNITS) break;
    if (end === text.length && boundaries.length <= PIECE_UNITS) return [...boundaries, end];
    boundaries.pop();
    if (boundaries.length > 1) return boundaries;
  }
}

/** Passes the runs of letters and digits within the words of a text to `use`. */
export function cutIcuRuns(text: string, use: UseWord): void {
  let position = 0;
  cutIcuWords(text, (word, _, start) => {
    for (const { 0: run, index } of word.matchAll(LETTERS_AND_DIGITS)) {
      use(run, position++, start + index, start + index + run.length);
    }
  });
}

function refuseDictionaryScripts(text: string): void {
  dictionaryCharacter ??= new RegExp(
    `[${DICTIONARY_SCRIPTS.map((script) => `\\p{Script=${script}}`).join("")}]`,
    "u",
  );
  const character = dictionaryCharacter.exec(text)?.[0];
  if (character === undefined) return;
  const script = DICTIONARY_SCRIPTS.find((each) => new RegExp(`\\p{Script=${each}}`, "u").test(character));
  throw new UnsupportedError(
    `baseTokenizer icu: this release does not cut ${script?.replaceAll("_", " ")} text as LanceDB does; ngram serves texts without spaces`,
  );
}
