/**
 * LIKE, ILIKE and regular expressions over UTF-8. Patterns with wildcards at the ends only are found by
 * comparing bytes; an automaton matches the others in linear time.
 */

import { isValid } from "../../arrow/columns/validity.js";
import type { Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { Automaton } from "../regex/automaton.js";
import { ANY_CHARACTER, anyCase, single, withSets } from "../regex/characterSets.js";
import type { Pattern } from "../regex/pattern.js";
import { bitsColumn, byteLane, type ValueKernel } from "../values/operands.js";
import { loopInSteps, ROW_WORK, STEP_BYTES, STEP_SCANNED } from "../values/work.js";
import { ByteSearch } from "./byteSearch.js";
import { piecesAutomaton, relationAutomaton, type TextAutomaton } from "./textAutomaton.js";
import { TextQuestion, type TextTest } from "./textQuestion.js";

/** @param escaping a character that makes the wildcard after it literal */
export function* likeKernel(
  pattern: string,
  escaping: string,
  ignoresCase: boolean,
  isNegated: boolean,
): Steps<ValueKernel> {
  const pieces = piecesOf(pattern, escaping);
  const test = yield* piecesTest(pieces, ignoresCase);
  return textTest(test, isNegated, ignoresCase ? null : automatonOf(pieces));
}

/** Returns null for a pattern that has anything but texts and `%`. */
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

/** Tests if some part of a text matches a regular expression. */
export const automatonTest = (automaton: Automaton): TextTest => ({
  fits: (bytes, start, end) => automaton.matches(bytes, start, end),
  inSteps: (bytes, start, end) => automaton.matchesInSteps(bytes, start, end),
});

/** Returns the rows whose text passes a test. @param automaton for the same question; null without one */
export function textTest(
  test: TextTest,
  isNegated: boolean,
  automaton: TextAutomaton | null = null,
): ValueKernel {
  const question = automaton === null ? null : new TextQuestion(automaton, test);
  return function* run([operand], length, valid) {
    const asked =
      operand.step === 0 || question === null ? null : yield* question.ask(operand.column, length, valid);
    if (asked !== null) {
      if (isNegated) for (let byte = 0; byte < asked.length; byte++) asked[byte] = ~asked[byte];
      return bitsColumn(asked, length, valid);
    }
    const { bytes, offsets } = byteLane(operand);
    const { step } = operand;
    const bits = new Uint8Array((length + 7) >>> 3);
    const testRows = (first: number): number => {
      let budget = STEP_SCANNED;
      for (let row = first; row < length; row++) {
        const start = offsets[row * step];
        const end = offsets[row * step + 1];
        budget -= ROW_WORK + end - start;
        const isFit = budget < 0 ? null : test.fits(bytes, start, end);
        if (isFit === null) return row;
        if (isFit !== isNegated) bits[row >>> 3] |= 1 << (row & 7);
      }
      return length;
    };
    yield* loopInSteps(length, testRows, function* testRow(row) {
      const isFit =
        isValid(valid, row) && (yield* test.inSteps(bytes, offsets[row * step], offsets[row * step + 1]));
      if (isFit !== isNegated) bits[row >>> 3] |= 1 << (row & 7);
    });
    return bitsColumn(bits, length, valid);
  };
}

type Piece = { readonly kind: "text"; text: string } | { readonly kind: "one" } | { readonly kind: "any" };

export function* piecesTest(pieces: readonly Piece[], ignoresCase: boolean): Steps<TextTest> {
  const part = ignoresCase ? null : solePart(pieces);
  if (part !== null) return textsTest(part.where, encoder.encode(part.text));
  const parts = yield* withSets(() => patternOf(pieces, ignoresCase));
  return automatonTest(yield* Automaton.of({ kind: "sequence", parts }, true));
}

/** @throws InvalidInputError for a pattern that is too long; MissingSet */
function patternOf(pieces: readonly Piece[], ignoresCase: boolean): Pattern[] {
  const parts: Pattern[] = [];
  for (const piece of pieces) {
    if (parts.length > MAX_PIECES || (piece.kind === "text" && piece.text.length > 2 * MAX_PIECES)) {
      throw new InvalidInputError(`a pattern of LIKE is longer than ${MAX_PIECES} characters`);
    }
    const any: Pattern = { kind: "set", set: ANY_CHARACTER };
    if (piece.kind === "one") parts.push(any);
    else if (piece.kind === "any") {
      parts.push({ kind: "repeat", part: any, min: 0, max: Number.POSITIVE_INFINITY, isLazy: false });
    } else {
      for (const character of piece.text) {
        const set = single(character);
        parts.push({ kind: "set", set: ignoresCase ? anyCase(set) : set });
      }
    }
  }
  return parts;
}

const MAX_PIECES = 20_000;

/**
 * Returns the parts of a LIKE pattern: texts, and wildcards for one character and for any number of them.
 * @throws InvalidInputError for too many parts
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
  for (let offset = nextMark(0); offset < pattern.length; offset = nextMark(offset)) {
    const behind = offset + escaping.length;
    if (escaping !== "" && behind < pattern.length && pattern.startsWith(escaping, offset)) {
      addText(pattern.slice(from, offset));
      // An escaped character is literal: both units, if it has two.
      from = behind;
      offset = behind + ((pattern.codePointAt(behind) as number) > 0xffff ? 2 : 1);
    } else {
      const unit = pattern[offset];
      if (unit === "_" || unit === "%") {
        addText(pattern.slice(from, offset));
        if (unit === "_") pieces.push({ kind: "one" });
        else if (pieces.at(-1)?.kind !== "any") pieces.push({ kind: "any" });
        from = offset + 1;
      }
      offset++;
    }
    if (pieces.length > MAX_PIECES) {
      throw new InvalidInputError(`a pattern of LIKE has more than ${MAX_PIECES} parts`);
    }
  }
  addText(pattern.slice(from));
  return pieces;
}

/** Finds the first wildcard or escape, or the end of the pattern. The positions of calls must ascend. */
function marksOf(pattern: string, escaping: string): (from: number) => number {
  const marks = ["_", "%", ...(escaping === "" ? [] : [escaping])].map((text) => ({ text, offset: -1 }));
  return (from) => {
    let nearest = pattern.length;
    for (const mark of marks) {
      if (mark.offset < from) mark.offset = indexFrom(pattern, mark.text, from);
      if (mark.offset < nearest) nearest = mark.offset;
    }
    return nearest;
  };
}

function indexFrom(text: string, part: string, from: number): number {
  const index = text.indexOf(part, from);
  return index < 0 ? text.length : index;
}

/** The place of a text in another. */
type Where = "whole" | "start" | "end" | "any";

/** Returns the only text of a pattern and its place; null for other patterns, and for `%` alone. */
export function solePart(pieces: readonly Piece[]): { readonly where: Where; readonly text: string } | null {
  const [text = "", ...others] = pieces.flatMap((piece) => (piece.kind === "text" ? [piece.text] : []));
  const hasOne = pieces.some(({ kind }) => kind === "one");
  if (hasOne || others.length > 0 || (text === "" && pieces.length > 0)) return null;
  const isOpen = [pieces[0], pieces.at(-1)].map((piece) => piece?.kind === "any");
  const where = isOpen[0] ? (isOpen[1] ? "any" : "end") : isOpen[1] ? "start" : "whole";
  return { where, text };
}

/** Returns the rows whose text begins or ends with another, or contains it. */
export function partTest(where: Where, text: Uint8Array): ValueKernel {
  const pieces = { pieces: [text], isFromStart: where === "start", isToEnd: where === "end" };
  return textTest(textsTest(where, text), false, text.length === 0 ? null : piecesAutomaton(pieces));
}

/** Tests if a text equals another, begins or ends with it, or contains it. */
export function textsTest(where: Where, needle: Uint8Array): TextTest {
  const size = needle.length;
  if (where === "any") {
    const search = new ByteSearch(needle);
    return {
      fits: (bytes, start, end) => {
        if (end - start < size) return false;
        return end - start > STEP_BYTES ? null : search.find(bytes, start, end) >= 0;
      },
      *inSteps(bytes, start, end) {
        return (yield* search.findInSteps(bytes, start, end)) >= 0;
      },
    };
  }
  const mayFit = (start: number, end: number) =>
    where === "whole" ? end - start === size : end - start >= size;
  const placeIn = (start: number, end: number) => (where === "end" ? end - size : start);
  return {
    fits: (bytes, start, end) => {
      if (!mayFit(start, end)) return false;
      return size > STEP_BYTES ? null : isAt(bytes, placeIn(start, end), needle, 0, size);
    },
    *inSteps(bytes, start, end) {
      if (!mayFit(start, end)) return false;
      const position = placeIn(start, end);
      for (let first = 0; first < size; first += STEP_BYTES) {
        if (!isAt(bytes, position, needle, first, Math.min(size, first + STEP_BYTES))) return false;
        yield;
      }
      return true;
    },
  };
}

function isAt(bytes: Uint8Array, offset: number, needle: Uint8Array, first: number, end: number): boolean {
  for (let byte = first; byte < end; byte++) if (bytes[offset + byte] !== needle[byte]) return false;
  return true;
}
