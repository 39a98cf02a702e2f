/**
 * Tokenizer parameters of full-text indexes: JSON in files, members in requests. Missing members have
 * defaults, unknown members are ignored.
 */

import { parseBoundedJson } from "../../bytes/boundedJson.js";
import type { IndexParameters } from "../kind.js";

export type TextParameters = {
  /** `simple`, `whitespace`, `raw` or `ngram`; others need models. */
  readonly baseTokenizer: string;
  readonly language: string;
  readonly withPosition: boolean;
  /** Exclusive bound of the UTF-8 bytes of a token, which drops longer tokens; null for none. */
  readonly maxTokenLength: number | null;
  readonly lowerCase: boolean;
  readonly stem: boolean;
  readonly removeStopWords: boolean;
  /** Replace the stop words of the language; null to use those. */
  readonly customStopWords: readonly string[] | null;
  readonly asciiFolding: boolean;
  readonly minNgramLength: number;
  readonly maxNgramLength: number;
  readonly prefixOnly: boolean;
  /** Documents per block of postings: 128 or 256. */
  readonly blockSize: number;
};

export const DEFAULT_TEXT_PARAMETERS: TextParameters = {
  baseTokenizer: "simple",
  language: "English",
  withPosition: false,
  maxTokenLength: 40,
  lowerCase: true,
  stem: true,
  removeStopWords: true,
  customStopWords: null,
  asciiFolding: true,
  minNgramLength: 3,
  maxNgramLength: 3,
  prefixOnly: false,
  blockSize: 128,
};

/** Adds the defaults. */
export const textParameters = (settings: IndexParameters): TextParameters => ({
  ...DEFAULT_TEXT_PARAMETERS,
  ...settings,
});

/** Parameters for columns without an index: words, unchanged. */
export const PLAIN_TEXT_PARAMETERS: TextParameters = {
  ...DEFAULT_TEXT_PARAMETERS,
  maxTokenLength: null,
  lowerCase: false,
  stem: false,
  removeStopWords: false,
  asciiFolding: false,
};

/** Names of the members in files. */
const KEYS = {
  baseTokenizer: "base_tokenizer",
  language: "language",
  withPosition: "with_position",
  maxTokenLength: "max_token_length",
  lowerCase: "lower_case",
  stem: "stem",
  removeStopWords: "remove_stop_words",
  customStopWords: "custom_stop_words",
  asciiFolding: "ascii_folding",
  minNgramLength: "min_ngram_length",
  maxNgramLength: "max_ngram_length",
  prefixOnly: "prefix_only",
  blockSize: "block_size",
} as const satisfies Record<keyof TextParameters, string>;

export function formatTextParameters(parameters: TextParameters): string {
  const members = Object.keys(KEYS) as (keyof TextParameters)[];
  return JSON.stringify({
    lance_tokenizer: "text",
    ...Object.fromEntries(members.map((member) => [KEYS[member], parameters[member]])),
  });
}

/** @returns null for invalid parameters, and for tokenizers of other data than text */
export function parseTextParameters(text: string): TextParameters | null {
  let json: unknown;
  try {
    json = parseBoundedJson(text);
  } catch {
    // Parsing fails only for invalid JSON.
    return null;
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) return null;
  const members = json as Record<string, unknown>;
  if ((members.lance_tokenizer ?? "text") !== "text") return null;
  const parameters: Record<string, unknown> = {};
  for (const [member, fallback] of Object.entries(DEFAULT_TEXT_PARAMETERS)) {
    const value = members[KEYS[member as keyof TextParameters]];
    if (member === "maxTokenLength" && value === null) parameters[member] = null;
    else if (member === "customStopWords") parameters[member] = isTextList(value) ? value : null;
    else if (value === undefined || value === null) parameters[member] = fallback;
    else if (typeof value !== typeof (fallback ?? 0)) return null;
    else parameters[member] = value;
  }
  return parameters as unknown as TextParameters;
}

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
