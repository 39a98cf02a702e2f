/** Patterns as programs, which automata and searches run. */

import { InvalidInputError } from "../../errors.js";
import { type CharacterSet, holdsPoint, wordSet } from "./characterSets.js";
import type { Pattern, Position } from "./pattern.js";

/** Maximum number of instructions of an automaton: repetitions are copied. */
const MAX_INSTRUCTIONS = 20_000;
export type Instruction =
  | { readonly kind: "set"; readonly set: CharacterSet }
  /** Goes on at several instructions, the preferred ones first. */
  | { readonly kind: "split"; readonly to: number[] }
  | { readonly kind: "position"; readonly position: Position }
  /** Records the position: the start of group `slot / 2`, or its end if the slot is odd. */
  | { readonly kind: "save"; readonly slot: number }
  | { readonly kind: "match" };

/** The kind of a character for positions. */
export const OTHER = 0;
const WORD = 1;
const NEW_LINE = 2;
/** Before the first character, or after the last. */
export const EDGE = 3;
export type Kind = 0 | 1 | 2 | 3;

/** @throws InvalidInputError for a pattern that is too large */
export function compilePattern(pattern: Pattern): Instruction[] {
  const program: Instruction[] = [];
  compile(pattern, program, { steps: 0 });
  program.push({ kind: "match" });
  return program;
}

/** True if a program distinguishes characters of words from others. */
export const asksForWords = (program: readonly Instruction[]): boolean =>
  program.some(
    (instruction) =>
      instruction.kind === "position" &&
      (instruction.position === "boundary" || instruction.position === "noBoundary"),
  );

/** True if a position lies between two characters of these kinds. */
export function isAt(position: Position, before: Kind, after: Kind): boolean {
  switch (position) {
    case "start":
      return before === EDGE;
    case "end":
      return after === EDGE;
    case "lineStart":
      return before === EDGE || before === NEW_LINE;
    case "lineEnd":
      return after === EDGE || after === NEW_LINE;
    case "boundary":
      return (before === WORD) !== (after === WORD);
    case "noBoundary":
      return (before === WORD) === (after === WORD);
  }
}

/** @param asksWords true if characters of words must be distinguished */
export function kindOf(point: number, asksWords: boolean): Kind {
  if (point === 0x0a) return NEW_LINE;
  return asksWords && holdsPoint(wordSet(), point) ? WORD : OTHER;
}

/** @param written counts copies: repetitions of nothing make no instruction, but take time too */
function compile(pattern: Pattern, program: Instruction[], written: { steps: number }): void {
  if (++written.steps > 2 * MAX_INSTRUCTIONS || program.length > MAX_INSTRUCTIONS) {
    throw new InvalidInputError(`regular expression: longer than ${MAX_INSTRUCTIONS} steps when written out`);
  }
  switch (pattern.kind) {
    case "set":
    case "position":
      program.push(pattern);
      return;
    case "sequence":
      for (const part of pattern.parts) compile(part, program, written);
      return;
    case "group":
      program.push({ kind: "save", slot: 2 * pattern.index });
      compile(pattern.part, program, written);
      program.push({ kind: "save", slot: 2 * pattern.index + 1 });
      return;
    case "choice": {
      const to: number[] = [];
      program.push({ kind: "split", to });
      const ends: number[][] = [];
      for (const part of pattern.parts) {
        to.push(program.length);
        compile(part, program, written);
        const end: number[] = [];
        ends.push(end);
        program.push({ kind: "split", to: end });
      }
      for (const end of ends) end.push(program.length);
      return;
    }
    case "repeat": {
      for (let count = 0; count < pattern.min; count++) compile(pattern.part, program, written);
      if (pattern.max === Number.POSITIVE_INFINITY) {
        const index = program.length;
        const to: number[] = [index + 1];
        program.push({ kind: "split", to });
        compile(pattern.part, program, written);
        program.push({ kind: "split", to: [index] });
        to.push(program.length);
        if (pattern.isLazy) to.reverse();
        return;
      }
      const exits: number[][] = [];
      for (let count = pattern.min; count < pattern.max; count++) {
        const to: number[] = [program.length + 1];
        exits.push(to);
        program.push({ kind: "split", to });
        compile(pattern.part, program, written);
      }
      for (const exit of exits) {
        exit.push(program.length);
        if (pattern.isLazy) exit.reverse();
      }
    }
  }
}
