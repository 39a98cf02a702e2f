/** Cutting texts into words without a table. */

import type { TokenizerOptions } from "../namespace/indexes.js";
import { tokenizeText } from "../tokenizeText.js";
import { translated } from "./failures.js";
import { present } from "./present.js";
import type { FtsToken } from "./tableTypes.js";

/** Name of a tokenizer. Models of `jieba` and `lindera` need files that this release does not read. */
export type BaseTokenizer =
  | "simple"
  | "whitespace"
  | "raw"
  | "ngram"
  | "icu"
  | "icu/split"
  | `jieba/${string}`
  | `lindera/${string}`;

/** Options of {@link tokenize}. They mean what they mean for `Index.fts`. */
export interface TokenizeOptions {
  /** Tokenizer. Default: `simple`, which yields runs of letters and digits. */
  baseTokenizer?: BaseTokenizer;
  /** Language of stems and stop words. Default: English. */
  language?: string;
  /** Longest word in bytes. Default: 40. */
  maxTokenLength?: number;
  /** True: ignores case. Default: true. */
  lowercase?: boolean;
  /** True: reduces words to their stems. Default: true. */
  stem?: boolean;
  /** True: leaves out stop words. Default: true. */
  removeStopWords?: boolean;
  /** Stop words in place of the language's. */
  customStopWords?: string[];
  /** True: removes accents from letters. Default: true. */
  asciiFolding?: boolean;
  /** Shortest window of the tokenizer `ngram`. Default: 3. */
  ngramMinLength?: number;
  /** Longest window of the tokenizer `ngram`. Default: 3. */
  ngramMaxLength?: number;
  /** True: the tokenizer `ngram` keeps only windows at the start of a word. Default: false. */
  prefixOnly?: boolean;
}

/** Cuts a text into words, as an index of words with these options does. */
export async function tokenize(query: string, options?: Partial<TokenizeOptions>): Promise<FtsToken[]> {
  try {
    const tokens = await tokenizeText({ text: query, ...tokenizerOptionsOf(options ?? {}) });
    return tokens.map(({ text, position }) => ({ text, position }));
  } catch (error) {
    throw translated(error);
  }
}

/** Returns the options of a tokenizer by the engine's names. */
export function tokenizerOptionsOf(options: Partial<TokenizeOptions>): TokenizerOptions {
  const { lowercase, ngramMinLength, ngramMaxLength, ...others } = options;
  return present<TokenizerOptions>({
    ...others,
    lowerCase: lowercase,
    minNgramLength: ngramMinLength,
    maxNgramLength: ngramMaxLength,
  });
}
