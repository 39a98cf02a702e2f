/**
 * LIKE, ILIKE and regular expressions over UTF-8. Patterns whose only wildcards stand at the ends are found by comparing
 * bytes; all others are matched by an automaton in linear time.
 */

import { isValid } from "../../arrow/columns/validity.js";
import { InvalidInputError } from "../../errors.js";
import { Automaton } from "../regex/automaton.js";
import { ANY_CHARACTER, anyCase, single } from "../regex/characterSets.js";
import type { Pattern } from "../regex/pattern.js";
import { bitsColumn, byteLane, decodeText, type ValueKernel } from "../values/operands.js";
import { piecesAutomaton, relationAutomaton, type TextAutomaton } from "./textAutomaton.js";
import { type Fits, TextQuestion } from "./textQuestion.js";

/** @param escaping the character that makes a wildcard mean itself */
export function likeKernel(
  pattern: string,
  escaping: string,
  ignoresCase: boolean,
  isNegated: boolean,
): ValueKernel {
  const pieces = piecesOf(pattern, escaping);
  return textTest(piecesTest(pieces, ignoresCase), isNegated, ignoresCase ? null : pieces);
}

/** Null for a pattern that is more than texts with anything between them. */
function automatonOf(pieces: readonly Piece[]): TextAutomaton | null {
  const texts: Uint8Array[] = [];
  for (const piece of pieces) {
    if (piece.kind === "one") return null;
    if (piece.kind === "any") continue;
    if (piece.text === "") return null;
    texts.push(encoder.encode(piece.text));
  }
  if (pieces.length <= 1 && pieces[0]?.kind !== "any") {
    return relationAutomaton("equal", texts[0] ?? new Uint8Array(0));
  }
  if (texts.length === 0) return null;
  const isFromStart = pieces[0].kind === "text";
  return piecesAutomaton({ pieces: texts, isFromStart, isToEnd: pieces.at(-1)?.kind === "text" });
}

const encoder = new TextEncoder();

/** Patterns of rows that are kept ready at once. */
const MAX_PATTERNS = 256;

/** LIKE with a pattern of each row's own. */
export function likeEachKernel(escaping: string, ignoresCase: boolean, isNegated: boolean): ValueKernel {
  const tests = new Map<string, Fits>();
  const testOf = (pattern: string): Fits => {
    let test = tests.get(pattern);
    if (test === undefined) {
      if (tests.size >= MAX_PATTERNS) tests.clear();
      test = piecesTest(piecesOf(pattern, escaping), ignoresCase);
      tests.set(pattern, test);
    }
    return test;
  };
  return ([operand, patterns], length, valid) => {
    const { bytes, offsets } = byteLane(operand);
    const own = byteLane(patterns);
    const bits = new Uint8Array((length + 7) >>> 3);
    for (let row = 0; row < length; row++) {
      if (!isValid(valid, row)) continue;
      const at = row * operand.step;
      const pattern = row * patterns.step;
      const fits = testOf(decodeText(own.bytes, own.offsets[pattern], own.offsets[pattern + 1]));
      if (fits(bytes, offsets[at], offsets[at + 1]) !== isNegated) bits[row >>> 3] |= 1 << (row & 7);
    }
    return bitsColumn(bits, length, valid);
  };
}

/** Whether some part of a text matches a regular expression. */
export function regexKernel(pattern: Pattern): ValueKernel {
  const automaton = new Automaton(pattern, false);
  return textTest((bytes, start, end) => automaton.matches(bytes, start, end), false);
}

/**
 * The rows whose text a test takes.
 * @param pieces what such texts are made of; null where that is not known
 */
function textTest(fits: Fits, isNegated: boolean, pieces: readonly Piece[] | null = null): ValueKernel {
  const automaton = pieces === null ? null : automatonOf(pieces);
  const question = automaton === null ? null : new TextQuestion(automaton, fits);
  return ([operand], length, valid) => {
    const asked = operand.step === 0 ? null : (question?.ask(operand.column, length, valid) ?? null);
    if (asked !== null) {
      if (isNegated) for (let byte = 0; byte < asked.length; byte++) asked[byte] = ~asked[byte];
      return bitsColumn(asked, length, valid);
    }
    const { bytes, offsets } = byteLane(operand);
    const bits = new Uint8Array((length + 7) >>> 3);
    for (let row = 0, at = 0; row < length; row++, at += operand.step) {
      if (fits(bytes, offsets[at], offsets[at + 1]) !== isNegated) bits[row >>> 3] |= 1 << (row & 7);
    }
    return bitsColumn(bits, length, valid);
  };
}

type Piece = { readonly kind: "text"; text: string } | { readonly kind: "one" } | { readonly kind: "any" };

function piecesTest(pieces: readonly Piece[], ignoresCase: boolean): Fits {
  const [first, second, third] = pieces;
  if (!ignoresCase) {
    if (pieces.length === 0) return (_, start, end) => start === end;
    if (pieces.length === 1 && first.kind === "text") return equals(first.text);
    if (pieces.length === 2 && first.kind === "text" && second.kind === "any") return startsWith(first.text);
    if (pieces.length === 2 && first.kind === "any" && second.kind === "text") return endsWith(second.text);
    if (pieces.length === 3 && first.kind === "any" && second.kind === "text" && third.kind === "any") {
      return contains(second.text);
    }
  }
  const parts: Pattern[] = [];
  for (const piece of pieces) {
    if (parts.length > MAX_PIECES || (piece.kind === "text" && piece.text.length > 2 * MAX_PIECES)) {
      throw new InvalidInputError(`a pattern of LIKE is longer than ${MAX_PIECES} characters`);
    }
    const any: Pattern = { kind: "set", set: ANY_CHARACTER };
    if (piece.kind === "one") parts.push(any);
    else if (piece.kind === "any") {
      parts.push({ kind: "repeat", part: any, least: 0, most: Number.POSITIVE_INFINITY, isLazy: false });
    } else {
      for (const character of piece.text) {
        const set = single(character);
        parts.push({ kind: "set", set: ignoresCase ? anyCase(set) : set });
      }
    }
  }
  const automaton = new Automaton({ kind: "sequence", parts }, true);
  return (bytes, start, end) => automaton.matches(bytes, start, end);
}

/** Maximum parts of a pattern of LIKE. */
const MAX_PIECES = 20_000;

/**
 * The parts of a pattern of LIKE: texts, and wildcards for one character and for any number of them.
 * @throws InvalidInputError for one of too many parts
 */
export function piecesOf(pattern: string, escaping: string): Piece[] {
  const pieces: Piece[] = [];
  const addText = (text: string) => {
    const last = pieces.at(-1);
    if (last?.kind === "text") last.text += text;
    else if (text !== "") pieces.push({ kind: "text", text });
  };
  const nextMark = marksOf(pattern, escaping);
  let from = 0;
  for (let at = nextMark(0); at < pattern.length; at = nextMark(at)) {
    const behind = at + escaping.length;
    if (escaping !== "" && behind < pattern.length && pattern.startsWith(escaping, at)) {
      addText(pattern.slice(from, at));
      // What is escaped means itself: all of it, where it takes two units.
      from = behind;
      at = behind + ((pattern.codePointAt(behind) as number) > 0xffff ? 2 : 1);
    } else {
      const unit = pattern[at];
      if (unit === "_" || unit === "%") {
        addText(pattern.slice(from, at));
        if (unit === "_") pieces.push({ kind: "one" });
        else if (pieces.at(-1)?.kind !== "any") pieces.push({ kind: "any" });
        from = at + 1;
      }
      at++;
    }
    if (pieces.length > MAX_PIECES) {
      throw new InvalidInputError(`a pattern of LIKE has more than ${MAX_PIECES} parts`);
    }
  }
  addText(pattern.slice(from));
  return pieces;
}

/** Finds the first wildcard or escaping from a position on, the pattern's length if there is none; positions only rise. */
function marksOf(pattern: string, escaping: string): (from: number) => number {
  const marks = ["_", "%", ...(escaping === "" ? [] : [escaping])].map((text) => ({ text, at: -1 }));
  return (from) => {
    let nearest = pattern.length;
    for (const mark of marks) {
      if (mark.at < from) mark.at = indexFrom(pattern, mark.text, from);
      if (mark.at < nearest) nearest = mark.at;
    }
    return nearest;
  };
}

function indexFrom(text: string, part: string, from: number): number {
  const at = text.indexOf(part, from);
  return at < 0 ? text.length : at;
}

function equals(text: string): Fits {
  const wanted = new TextEncoder().encode(text);
  return (bytes, start, end) => end - start === wanted.length && isAt(bytes, start, wanted);
}

/** Texts that begin with another. */
export const startsWithTest = (text: string): ValueKernel =>
  textTest(startsWith(text), false, [{ kind: "text", text }, { kind: "any" }]);

/** Texts that end with another. */
export const endsWithTest = (text: string): ValueKernel =>
  textTest(endsWith(text), false, [{ kind: "any" }, { kind: "text", text }]);

/** Texts that hold another. */
export const containsTest = (text: string): ValueKernel =>
  textTest(contains(text), false, [{ kind: "any" }, { kind: "text", text }, { kind: "any" }]);

function startsWith(text: string): Fits {
  const wanted = new TextEncoder().encode(text);
  return (bytes, start, end) => end - start >= wanted.length && isAt(bytes, start, wanted);
}

function endsWith(text: string): Fits {
  const wanted = new TextEncoder().encode(text);
  return (bytes, start, end) => end - start >= wanted.length && isAt(bytes, end - wanted.length, wanted);
}

function contains(text: string): Fits {
  const wanted = new TextEncoder().encode(text);
  if (wanted.length === 0) return () => true;
  const [first] = wanted;
  return (bytes, start, end) => {
    const last = end - wanted.length;
    for (let at = start; at <= last; at++) {
      if (bytes[at] === first && isAt(bytes, at, wanted)) return true;
    }
    return false;
  };
}

function isAt(bytes: Uint8Array, start: number, wanted: Uint8Array): boolean {
  for (let byte = 0; byte < wanted.length; byte++) if (bytes[start + byte] !== wanted[byte]) return false;
  return true;
}
