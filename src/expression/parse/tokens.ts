/**
 * Cuts the text of an expression into tokens, one at a time. The lexer is the state of the current token and
 * makes no object for any: lists of 100,000 values pass through it.
 *
 *     word        letter or "_", then letters, digits, "_" "$" "@" "#"; also in `backticks` or "quotes"
 *     number      digits [. digits] [e exponent], or . digits
 *     text        'characters, each quote doubled'
 *     hex         X'pairs of digits', or 0x and digits
 *     parameter   $ word
 *     symbol      one of ( ) [ ] , . ; = == != <> < <= > >= + - * / % || :: << >>
 *
 * Comments are blanks: `-- to the end of the line`, and `/\* … *\/`, which may hold another.
 */

import { runSync } from "../../async/eventLoop.js";
import { type LongTexts, readQuoted } from "./longTexts.js";
import { type ExpressionSource, problem } from "./problem.js";

export type TokenKind = "word" | "quoted" | "number" | "text" | "hex" | "parameter" | "symbol" | "end";

const TAB = 0x09;
const LINE_FEED = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x27;
const DOUBLE_QUOTE = 0x22;
const BACKTICK = 0x60;
const OPENING = 0x28;
const CLOSING = 0x29;
const COMMA = 0x2c;
const DOT = 0x2e;
const DOLLAR = 0x24;
const MINUS = 0x2d;
const PLUS = 0x2b;
const SLASH = 0x2f;
const STAR = 0x2a;
const UNDERSCORE = 0x5f;
const LATIN_BLANK = 0x85;

const SYMBOLS = ["==", "!=", "<>", "<=", ">=", "||", "::", "<<", ">>"];
const SINGLE = "()[],.;=<>+-*/%";
/** Operators of other languages that programmers try. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ["&", "AND"],
  ["|", "OR"],
  ["!", "NOT"],
]);
// Functions, because an engine compiles such a pattern when it first meets it, and few texts need one.
const wordPattern = (): RegExp => /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{M}_$@#]*/uy;
const restOfWord = (): RegExp => /[\p{L}\p{Nl}\p{Nd}\p{M}_$@#]*/uy;

export class Lexer {
  kind: TokenKind = "end";
  /** Offsets of the token. */
  start = 0;
  end = 0;
  /** The content of the token: of a word or text without its quotes. */
  text = "";
  /** For an unquoted word, the word in upper case. Empty for other tokens. */
  keyword = "";

  readonly #longTexts: LongTexts;

  constructor(
    readonly source: ExpressionSource & { readonly text: string },
    longTexts: LongTexts,
  ) {
    this.#longTexts = longTexts;
    this.next();
  }

  /** Goes back to the token that began at `start`. */
  rewind(start: number): void {
    this.end = start;
    this.next();
  }

  next(): void {
    const { text } = this.source;
    const start = this.#skipBlanks(this.end);
    this.start = start;
    this.keyword = "";
    if (start >= text.length) {
      this.kind = "end";
      this.text = "";
      this.end = text.length;
      return;
    }
    const unit = text.charCodeAt(start);
    if (isDigit(unit) || (unit === DOT && isDigit(text.charCodeAt(start + 1)))) {
      this.#number(start);
    } else if (unit === COMMA || unit === OPENING || unit === CLOSING) {
      this.kind = "symbol";
      this.text = unit === COMMA ? "," : unit === OPENING ? "(" : ")";
      this.end = start + 1;
    } else if (unit === QUOTE) {
      this.kind = "text";
      this.text = this.#quotedText(start, QUOTE);
    } else if (unit === BACKTICK || unit === DOUBLE_QUOTE) {
      this.kind = "quoted";
      this.text = this.#quotedText(start, unit);
      // Two double quotes may be meant as the empty text. As a name, they are no column.
      if (this.text === "" && unit === BACKTICK) throw problem(this.source, start, "an empty name");
    } else if (unit === DOLLAR) {
      const end = this.#wordEnd(start + 1, false);
      if (end === start + 1) throw problem(this.source, start, "expected a name behind $");
      this.kind = "parameter";
      this.text = text.slice(start + 1, end);
      this.end = end;
    } else {
      const end = this.#wordEnd(start, true);
      if (end > start) this.#word(start, end);
      else this.#symbol(start);
    }
  }

  isSymbol(text: string): boolean {
    return this.kind === "symbol" && this.text === text;
  }

  #skipBlanks(from: number): number {
    const { text } = this.source;
    let position = from;
    for (; position < text.length; position++) {
      const unit = text.charCodeAt(position);
      if (unit === SPACE || (unit >= TAB && unit <= 0x0d)) continue;
      if (unit === MINUS && text.charCodeAt(position + 1) === MINUS) {
        while (position < text.length && text.charCodeAt(position) !== LINE_FEED) position++;
      } else if (unit === SLASH && text.charCodeAt(position + 1) === STAR) {
        position = this.#commentEnd(position) - 1;
      } else if (unit < LATIN_BLANK || !/\s|\u0085/u.test(text[position])) {
        break;
      }
    }
    return position;
  }

  #commentEnd(start: number): number {
    const { text } = this.source;
    let depth = 1;
    let position = start + 2;
    for (; position < text.length; position++) {
      const unit = text.charCodeAt(position);
      if (unit === STAR && text.charCodeAt(position + 1) === SLASH) {
        position++;
        if (--depth === 0) return position + 1;
      } else if (unit === SLASH && text.charCodeAt(position + 1) === STAR) {
        position++;
        depth++;
      }
    }
    throw problem(this.source, start, "unclosed comment");
  }

  #number(start: number): void {
    const { text } = this.source;
    if (text[start] === "0" && (text[start + 1] === "x" || text[start + 1] === "X")) {
      let end = start + 2;
      while (hexDigit(text.charCodeAt(end)) >= 0) end++;
      this.kind = "hex";
      this.text = text.slice(start + 2, end);
      this.end = end;
      return;
    }
    let end = start;
    while (isDigit(text.charCodeAt(end))) end++;
    if (text.charCodeAt(end) === DOT) {
      end++;
      while (isDigit(text.charCodeAt(end))) end++;
    }
    const unit = text.charCodeAt(end);
    if (unit === 0x65 || unit === 0x45) {
      let digits = end + 1;
      if (text.charCodeAt(digits) === PLUS || text.charCodeAt(digits) === MINUS) digits++;
      if (isDigit(text.charCodeAt(digits))) {
        end = digits;
        while (isDigit(text.charCodeAt(end))) end++;
      }
    }
    this.kind = "number";
    this.text = text.slice(start, end);
    this.end = end;
  }

  #quotedText(start: number, quote: number): string {
    const { text } = this.source;
    const end = text.indexOf(text[start], start + 1);
    if (end >= 0 && text.charCodeAt(end + 1) !== quote) {
      this.end = end + 1;
      return text.slice(start + 1, end);
    }
    const long = end < 0 ? null : this.#longTexts.get(start);
    const quoted = long === undefined ? runSync(readQuoted(text, start + 1, quote)) : long;
    if (quoted === null) throw problem(this.source, start, "unclosed quote");
    this.end = quoted.end + 1;
    return quoted.text;
  }

  #wordEnd(start: number, fromStart: boolean): number {
    const { text } = this.source;
    let position = start;
    for (; position < text.length; position++) {
      const unit = text.charCodeAt(position);
      const isFirst = fromStart && position === start;
      if (unit >= 0x80) return endOfMatch(isFirst ? wordPattern() : restOfWord(), text, position);
      const isLetter = (unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a;
      if (!isLetter && unit !== UNDERSCORE && (isFirst || !isWordPart(unit))) break;
    }
    return position;
  }

  #word(start: number, end: number): void {
    const { text } = this.source;
    if (end === start + 1 && (text[start] === "x" || text[start] === "X") && text.charCodeAt(end) === QUOTE) {
      this.kind = "hex";
      this.text = this.#quotedText(end, QUOTE);
      return;
    }
    this.kind = "word";
    this.text = text.slice(start, end);
    this.keyword = this.text.toUpperCase();
    this.end = end;
  }

  #symbol(start: number): void {
    const { text } = this.source;
    const pair = text.slice(start, start + 2);
    this.kind = "symbol";
    if (SYMBOLS.includes(pair)) this.text = pair;
    else if (SINGLE.includes(text[start])) this.text = text[start];
    else {
      const character = String.fromCodePoint(text.codePointAt(start) as number);
      const word = WORDS.get(character);
      const hint = word === undefined ? "" : `; in SQL, it is ${word}`;
      throw problem(this.source, start, `unexpected character ${JSON.stringify(character)}${hint}`);
    }
    this.end = start + this.text.length;
  }
}

/** Returns the end of the match of a sticky pattern; `start` without a match. */
function endOfMatch(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}

const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39;

/** Returns the value of a hexadecimal digit; -1 for other characters. */
export function hexDigit(unit: number): number {
  if (isDigit(unit)) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** ASCII only. */
const isWordPart = (unit: number): boolean =>
  isDigit(unit) || unit === DOLLAR || unit === 0x40 || unit === 0x23;
