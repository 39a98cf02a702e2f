/**
 * How an index of words cuts text: what its files say as JSON, and requests as members. A member that is missing has
 * its default; one that is not known is left alone.
 */

import { parseBoundedJson } from "../../bytes/boundedJson.js";
import type { IndexTarget } from "../kind.js";

export type TextParameters = {
  /** `simple`, `whitespace`, `raw`, `ngram`; others need models. */
  readonly baseTokenizer: string;
  readonly language: string;
  readonly withPosition: boolean;
  /** Tokens of this many bytes of UTF-8 and more are left out; null for no bound. */
  readonly maxTokenLength: number | null;
  readonly lowerCase: boolean;
  readonly stem: boolean;
  readonly removeStopWords: boolean;
  /** In place of those of the language; null for these. */
  readonly customStopWords: readonly string[] | null;
  readonly asciiFolding: boolean;
  readonly minNgramLength: number;
  readonly maxNgramLength: number;
  readonly prefixOnly: boolean;
  /** Documents of a block of postings: 128 or 256. */
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

/** With the defaults of what is not given. */
export const textParameters = (given: IndexTarget["parameters"]): TextParameters => ({
  ...DEFAULT_TEXT_PARAMETERS,
  ...given,
});

/** How text is cut where there is no index: into words, as they are. */
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

/** @returns null for a text that says no such thing, or names a way to cut text that is not one of text */
export function parseTextParameters(text: string): TextParameters | null {
  let json: unknown;
  try {
    json = parseBoundedJson(text);
  } catch {
    // A text that is no JSON: parsing fails for no other reason.
    return null;
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) return null;
  const given = json as Record<string, unknown>;
  if ((given.lance_tokenizer ?? "text") !== "text") return null;
  const found: Record<string, unknown> = {};
  for (const [member, fallback] of Object.entries(DEFAULT_TEXT_PARAMETERS)) {
    const value = given[KEYS[member as keyof TextParameters]];
    if (member === "maxTokenLength" && value === null) found[member] = null;
    else if (member === "customStopWords") found[member] = isTextList(value) ? value : null;
    else if (value === undefined || value === null) found[member] = fallback;
    else if (typeof value !== typeof (fallback ?? 0)) return null;
    else found[member] = value;
  }
  return found as unknown as TextParameters;
}

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
