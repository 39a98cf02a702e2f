/** Quoted texts, with doubled quotes. The lexer reads a token in one go, so long texts are read before. */

import { Pace, type Steps } from "../../async/eventLoop.js";

/** A text without its quotes, and the position of the closing quote. */
export interface QuotedText {
  readonly text: string;
  readonly end: number;
}

/** Long texts by the position of the opening quote; null for a text without a closing quote. */
export type LongTexts = ReadonlyMap<number, QuotedText | null>;

const LONG_UNITS = 2 ** 16;
const STEP_UNITS = 2 ** 16;
const UNITS_AT_ONCE = 2 ** 12;
const NONE: LongTexts = new Map();
const DOUBLED: readonly string[] = ["''", '""', "``"];

/**
 * Reads a text up to the closing quote, in a few nanoseconds for each unit.
 * @param start of the text, after its quote
 * @returns null without a closing quote
 */
export function* readQuoted(source: string, start: number, quote: number): Steps<QuotedText | null> {
  const pace = new Pace(STEP_UNITS);
  const units: number[] = [];
  let text = "";
  for (let position = start; position < source.length; position++) {
    const unit = source.charCodeAt(position);
    if (unit === quote && source.charCodeAt(++position) !== quote) {
      return { text: text + String.fromCharCode(...units), end: position - 1 };
    }
    units.push(unit);
    if (units.length < UNITS_AT_ONCE) continue;
    text += String.fromCharCode(...units);
    units.length = 0;
    if (pace.isStep(UNITS_AT_ONCE)) yield;
  }
  return null;
}

/** Reads the long texts of an expression that have doubled quotes. */
export function* readLongTexts(source: string): Steps<LongTexts> {
  if (source.length < LONG_UNITS || !DOUBLED.some((pair) => source.includes(pair))) return NONE;
  const texts = new Map<number, QuotedText | null>();
  const pace = new Pace(STEP_UNITS);
  let depth = 0;
  for (let position = 0; position < source.length; ) {
    if (pace.isStep()) yield;
    const unit = source[position];
    const isComment = unit === "/" && source[position + 1] === "*";
    if (isComment) {
      depth++;
      position += 2;
    } else if (depth > 0) {
      const isEnd = unit === "*" && source[position + 1] === "/";
      if (isEnd) depth--;
      position += isEnd ? 2 : 1;
    } else if (unit === "-" && source[position + 1] === "-") {
      const lineEnd = source.indexOf("\n", position);
      position = lineEnd < 0 ? source.length : lineEnd;
    } else if (unit === "'" || unit === '"' || unit === "`") {
      const quote = source.indexOf(unit, position + 1);
      let end = quote < 0 ? source.length : quote;
      if (source[end + 1] === unit) {
        const read = yield* readQuoted(source, position + 1, unit.charCodeAt(0));
        end = read?.end ?? source.length;
        if (end - position >= LONG_UNITS) texts.set(position, read);
      }
      position = end + 1;
    } else position++;
  }
  return texts;
}
