/**
 * Cuts text into the tokens of an index:
 *
 *     base tokenizer ─ length bound ─ lower case ─ stem ─ stop words ─ folding to ASCII
 *
 * Positions count the tokens of the base tokenizer, so dropped tokens leave gaps.
 */

import type { Steps } from "../../async/eventLoop.js";
import { UnsupportedError } from "../../errors.js";
import { parsePairs } from "../textPairs.js";
import { cutIcuRuns, cutIcuWords, requireSegmenter } from "./icuWords.js";
import type { TextParameters } from "./parameters.js";
import { type Stem, stemmerOf } from "./stemmer.js";
import { stopWordsOf } from "./stopWords.js";

/** Receives a token, its position, and its range `[start, end)` in the text, in UTF-16 code units. */
export type UseToken = (token: string, position: number, start: number, end: number) => void;
type Cut = (text: string, use: UseToken) => void;

const WORDS = /[\p{Alphabetic}\p{N}]+/gu;
const ONE_WORD = /^[\p{Alphabetic}\p{N}]+$/u;
/** ASCII white space after another character. */
const SPACE = /(?<=[^\t\n\f\r ])[\t\n\f\r ]/;
const UNSPACED = /[^\t\n\f\r ]+/gu;

export class Analyzer {
  readonly #cut: Cut;
  readonly #maxBytes: number;
  readonly #lowerCase: boolean;
  readonly #stem: Stem | null;
  readonly #stopWords: ReadonlySet<string> | null;
  readonly #folds: boolean;
  readonly #cutsAtSpaces: boolean;

  private constructor(parameters: TextParameters, stem: Stem | null, words: ReadonlySet<string> | null) {
    this.#cut = cutterOf(parameters);
    this.#maxBytes = parameters.maxTokenLength ?? Number.POSITIVE_INFINITY;
    this.#lowerCase = parameters.lowerCase;
    this.#stem = stem;
    this.#stopWords = words;
    this.#folds = parameters.asciiFolding;
    this.#cutsAtSpaces = !["raw", "ngram"].includes(parameters.baseTokenizer);
  }

  /**
   * Loads the stemmer and the stop words.
   * @throws UnsupportedError if this release lacks it, or the tokenizer
   */
  static async load(parameters: TextParameters): Promise<Analyzer> {
    const stem = parameters.stem ? await stemmerOf(parameters.language) : null;
    return new Analyzer(parameters, stem, await stopWords(parameters));
  }

  /** True if the base tokenizer cuts runs of letters and digits. */
  get cutsWords(): boolean {
    return this.#cut === plainTokens;
  }

  /** Passes the tokens of a text to `use`, in order. */
  tokens(text: string, use: UseToken): void {
    this.#cut(text, (word, position, start, end) => {
      const token = this.tokenOf(word);
      if (token !== null) use(token, position, start, end);
    });
  }

  /** Does the work of {@link tokens} in steps, one per piece of a long text. */
  *steps(text: string, use: UseToken): Steps<void> {
    let position = 0;
    let start = 0;
    do {
      const end = this.#cutsAtSpaces ? pieceEnd(text, start) : text.length;
      const piece = start === 0 && end === text.length ? text : text.slice(start, end);
      let last = -1;
      this.#cut(piece, (word, slot, from, to) => {
        last = slot;
        const token = this.tokenOf(word);
        if (token !== null) use(token, position + slot, start + from, start + to);
      });
      position += last + 1;
      start = end;
      if (start < text.length) yield;
    } while (start < text.length);
  }

  /** Passes the base tokenizer's words of a text to `use`. */
  words(text: string, use: UseToken): void {
    this.#cut(text, use);
  }

  /** Returns the token of a base word; null if the index drops it. */
  tokenOf(word: string): string | null {
    if (word.length * 3 >= this.#maxBytes && utf8Length(word) >= this.#maxBytes) return null;
    let token = this.#lowerCase ? lowerCased(word) : word;
    if (this.#stem !== null) token = this.#stem(token);
    if (this.#stopWords?.has(token)) return null;
    return this.#folds ? foldToAscii(token) : token;
  }
}

/** True if the text is a run of letters and digits. */
export const isOneWord = (text: string): boolean => ONE_WORD.test(text);

function cutterOf({ baseTokenizer, minNgramLength, maxNgramLength, prefixOnly }: TextParameters): Cut {
  switch (baseTokenizer) {
    case "simple":
      return plainTokens;
    case "whitespace":
      return cutBy(UNSPACED);
    case "raw":
      return (text, use) => use(text, 0, 0, text.length);
    case "icu":
    case "icu/split":
      requireSegmenter();
      return baseTokenizer === "icu" ? cutIcuWords : cutIcuRuns;
    case "ngram":
      return (text, use) => cutWindows(text, minNgramLength, maxNgramLength, prefixOnly, use);
    default:
      throw new UnsupportedError(`baseTokenizer: this release does not support ${baseTokenizer}`);
  }
}

/** Minimum UTF-16 units per piece. */
const PIECE_LETTERS = 16_384;

/** Returns the end of a piece: at a space, which no word contains. */
function pieceEnd(text: string, start: number): number {
  if (text.length - start <= PIECE_LETTERS) return text.length;
  const space = text.slice(start + PIECE_LETTERS).search(SPACE);
  return space < 0 ? text.length : start + PIECE_LETTERS + space;
}

const cutBy =
  (pattern: RegExp): Cut =>
  (text, use) => {
    let position = 0;
    for (const { 0: word, index } of text.matchAll(pattern))
      use(word, position++, index, index + word.length);
  };

const cutAny = cutBy(WORDS);

/** Cuts runs of letters and digits, as of a fuzzy query; without a pattern while the text is ASCII. */
export function plainTokens(text: string, use: UseToken): void {
  let position = 0;
  let start = -1;
  for (let offset = 0; offset < text.length; offset++) {
    const code = text.charCodeAt(offset);
    if (code >= 0x80) {
      const from = start < 0 ? offset : start;
      cutAny(text.slice(from), (word, index, begin, end) =>
        use(word, position + index, from + begin, from + end),
      );
      return;
    }
    if (isWordByte(code)) {
      if (start < 0) start = offset;
    } else if (start >= 0) {
      use(text.slice(start, offset), position++, start, offset);
      start = -1;
    }
  }
  if (start >= 0) use(text.slice(start), position, start, text.length);
}

const isWordByte = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39);

/** Cuts all windows of characters, by start, then length. */
function cutWindows(text: string, least: number, most: number, prefixOnly: boolean, use: UseToken): void {
  const characters = Array.from(text);
  const starts = prefixOnly ? Math.min(1, characters.length) : characters.length;
  let from = 0;
  for (let start = 0; start < starts; start++) {
    for (let length = least; length <= most && start + length <= characters.length; length++) {
      const window = characters.slice(start, start + length).join("");
      // Overlapping windows all get position 0.
      use(window, 0, from, from + window.length);
    }
    from += characters[start].length;
  }
}

const NON_ASCII = /[^\0-\x7f]/;

/**
 * Lower-cases each character on its own: unlike `toLowerCase`, Lance ignores the end of a word (final sigma).
 */
function lowerCased(word: string): string {
  if (!word.includes("Σ")) return word.toLowerCase();
  return Array.from(word, (character) => (character === "Σ" ? "σ" : character.toLowerCase())).join("");
}

function utf8Length(word: string): number {
  if (!NON_ASCII.test(word)) return word.length;
  let bytes = 0;
  for (let index = 0; index < word.length; index++) {
    const code = word.charCodeAt(index);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    // A surrogate pair takes 4 bytes.
    if (code >= 0xd800 && code < 0xdc00) bytes -= 2;
  }
  return bytes;
}

/** Letters that Unicode does not decompose. */
const LETTERS: ReadonlyMap<string, string> = new Map(
  parsePairs(
    "ß:ss ẞ:SS æ:ae Æ:AE œ:oe Œ:OE ø:o Ø:O ð:d Ð:D þ:th Þ:TH đ:d Đ:D ħ:h Ħ:H ı:i ĸ:k ł:l Ł:L ŋ:n Ŋ:N ŧ:t " +
      "Ŧ:T",
  ),
);

/** Folds characters to the ASCII letters, digits and signs that they consist of; others stay. */
function foldToAscii(token: string): string {
  if (!NON_ASCII.test(token)) return token;
  let folded = "";
  for (const character of token) folded += character <= "\x7f" ? character : foldCharacter(character);
  return folded;
}

function foldCharacter(character: string): string {
  let folded = "";
  for (const part of character.normalize("NFKD")) {
    folded += part <= "\x7f" ? part : (LETTERS.get(part) ?? "");
  }
  return folded === "" ? character : folded;
}

async function stopWords(parameters: TextParameters): Promise<ReadonlySet<string> | null> {
  const { removeStopWords, customStopWords, language } = parameters;
  if (!removeStopWords) return null;
  if (customStopWords !== null) return new Set(customStopWords);
  const words = await stopWordsOf(language);
  if (words !== null) return words;
  throw new UnsupportedError(
    `removeStopWords: this release has no stop words for the language ${language.slice(0, 80)}; set removeStopWords to false, or give customStopWords`,
  );
}
