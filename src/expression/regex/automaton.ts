/**
 * Matches patterns over UTF-8 in linear time: a pattern becomes a nondeterministic automaton, whose sets of states
 * become states of a deterministic one when they are first met. Characters are told apart only as far as the pattern
 * does. The number of states kept is bounded; when it is reached, they are forgotten and found anew.
 *
 * The state before a character knows what the character before it was, in so far as positions such as `\b` ask for it.
 */

import { type CharacterSet, holdsPoint, wordSet } from "./characterSets.js";
import type { Pattern } from "./pattern.js";
import {
  asksForWords,
  compilePattern,
  EDGE,
  type Instruction,
  isAt,
  type Kind,
  kindOf,
  OTHER,
} from "./program.js";

/** Maximum states kept. */
const MAX_STATES = 2_000;

interface State {
  /** Instructions that are reached, before positions are asked. */
  readonly reached: readonly number[];
  readonly before: Kind;
  /** By class of character, and last for the end: the next state, or null where it is not known yet. */
  readonly next: (State | null)[];
  /** Whether the text matches whatever follows. */
  readonly isMatch: boolean;
}

export class Automaton {
  readonly #program: readonly Instruction[];
  readonly #isAnchored: boolean;
  /** First code point of each class, ascending. */
  readonly #starts: Int32Array;
  /** The class of each ASCII character. */
  readonly #ascii = new Uint16Array(128);
  /** What the characters of each class are to positions. */
  readonly #kinds: readonly Kind[];
  #states = new Map<string, State>();
  #first: State;
  readonly #mark: Uint32Array;
  #generation = 0;

  /**
   * @param isAnchored whether the pattern has to match the whole text, not some part of it
   * @throws InvalidInputError for a pattern that is too large
   */
  constructor(pattern: Pattern, isAnchored: boolean) {
    const anchored: Pattern = isAnchored
      ? { kind: "sequence", parts: [pattern, { kind: "position", position: "end" }] }
      : pattern;
    const program = compilePattern(anchored);
    this.#program = program;
    this.#isAnchored = isAnchored;
    this.#mark = new Uint32Array(program.length);
    const asksWords = asksForWords(program);
    this.#starts = classStarts(program, asksWords);
    this.#kinds = Array.from(this.#starts, (point) => kindOf(point, asksWords));
    for (let point = 0; point < 128; point++) this.#ascii[point] = this.#search(point);
    this.#first = this.#state([0], EDGE);
  }

  /** Whether the text of UTF-8 from `start` to `end` matches. */
  matches(bytes: Uint8Array, start: number, end: number): boolean {
    let state = this.#first;
    for (let at = start; at < end; ) {
      if (state.isMatch) return true;
      if (state.reached.length === 0) return false;
      const byte = bytes[at++];
      let characterClass: number;
      if (byte < 0x80) {
        characterClass = this.#ascii[byte];
      } else {
        let point: number;
        if (byte < 0xe0) {
          point = ((byte & 0x1f) << 6) | (bytes[at] & 0x3f);
          at += 1;
        } else if (byte < 0xf0) {
          point = ((byte & 0x0f) << 12) | ((bytes[at] & 0x3f) << 6) | (bytes[at + 1] & 0x3f);
          at += 2;
        } else {
          point =
            ((byte & 0x07) << 18) |
            ((bytes[at] & 0x3f) << 12) |
            ((bytes[at + 1] & 0x3f) << 6) |
            (bytes[at + 2] & 0x3f);
          at += 3;
        }
        characterClass = this.#search(point);
      }
      state = state.next[characterClass] ?? this.#follow(state, characterClass);
    }
    const last = this.#starts.length;
    return state.isMatch || (state.next[last] ?? this.#follow(state, last)).isMatch;
  }

  /** The class of a code point. */
  #search(point: number): number {
    const starts = this.#starts;
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (starts[middle] <= point) low = middle;
      else high = middle;
    }
    return low;
  }

  #follow(state: State, characterClass: number): State {
    const isEnd = characterClass === this.#starts.length;
    const after: Kind = isEnd ? EDGE : this.#kinds[characterClass];
    const closed = this.#close(state.reached, state.before, after);
    let next: State;
    if (closed === null) {
      next = this.#matched;
    } else {
      const reached: number[] = [];
      if (!isEnd) {
        const point = this.#starts[characterClass];
        for (const at of closed) {
          const instruction = this.#program[at];
          if (instruction.kind === "set" && holdsPoint(instruction.set, point)) reached.push(at + 1);
        }
        if (!this.#isAnchored) reached.push(0);
      }
      next = this.#state(reached, after);
    }
    state.next[characterClass] = next;
    return next;
  }

  readonly #matched: State = { reached: [0], before: OTHER, next: [], isMatch: true };

  #state(reached: number[], before: Kind): State {
    const distinct = [...new Set(reached)].sort((a, b) => a - b);
    const key = `${before}:${distinct.join()}`;
    let state = this.#states.get(key);
    if (state === undefined) {
      if (this.#states.size >= MAX_STATES) this.#forget();
      const next = new Array<State | null>(this.#starts.length + 1).fill(null);
      state = { reached: distinct, before, next, isMatch: false };
      this.#states.set(key, state);
    }
    return state;
  }

  #forget(): void {
    for (const state of this.#states.values()) state.next.fill(null);
    this.#states = new Map();
    this.#first = this.#state([0], EDGE);
  }

  /** All instructions for characters that are reached without one; null where the pattern has matched. */
  #close(reached: readonly number[], before: Kind, after: Kind): number[] | null {
    const generation = ++this.#generation;
    const mark = this.#mark;
    const stack = reached.slice();
    const found: number[] = [];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (mark[at] === generation) continue;
      mark[at] = generation;
      const instruction = this.#program[at];
      switch (instruction.kind) {
        case "match":
          return null;
        case "set":
          found.push(at);
          break;
        case "split":
          for (const to of instruction.to) stack.push(to);
          break;
        case "save":
          stack.push(at + 1);
          break;
        case "position":
          if (isAt(instruction.position, before, after)) stack.push(at + 1);
      }
    }
    return found;
  }
}

function classStarts(program: readonly Instruction[], asksWords: boolean): Int32Array {
  const starts = new Set([0, 0x0a, 0x0b]);
  const add = (set: CharacterSet) => {
    for (const [from, to] of set) starts.add(from).add(to + 1);
  };
  const seen = new Set<CharacterSet>();
  for (const instruction of program) {
    if (instruction.kind !== "set" || seen.has(instruction.set)) continue;
    seen.add(instruction.set);
    add(instruction.set);
  }
  if (asksWords) add(wordSet());
  return Int32Array.from(starts).sort();
}
