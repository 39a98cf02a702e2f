/**
 * Matches patterns over UTF-8 in linear time. A pattern becomes a nondeterministic automaton. A set of its
 * states becomes a state of a deterministic automaton when a text first reaches it. Characters that the
 * pattern does not distinguish share a class. The memory of the states is bounded: when it is full, all
 * states are dropped and made again.
 *
 * A state depends on the kind of the character before it, if positions such as `\b` ask for it.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { upperBound } from "../../bytes/search.js";
import { endOfCharacter, pointAt } from "../values/characters.js";
import { type CharacterSet, holdsPoint, withSets, wordSet } from "./characterSets.js";
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

/** Maximum count of numbers in all states: instructions, and next states. */
const MAX_KEPT = 2 ** 20;
const STEP_WORK = 2 ** 15;
/** Maximum number of instructions of a program, or characters of a text, that are processed in one step. */
const QUICK_WORK = 2 ** 14;
const UNKNOWN = -1;

interface State {
  /** Instructions reached before positions are tested, ascending. */
  readonly reached: Int32Array;
  readonly before: Kind;
  /** Index of the next state by class of character, and last for the end; or `UNKNOWN`. */
  readonly next: Int32Array;
}

/** Index of the state from which every text matches. */
const MATCHED = 0;
/** Index of the state from which no text matches. */
const DEAD = 1;

export class Automaton {
  readonly #program: readonly Instruction[];
  readonly #isAnchored: boolean;
  /** First code point of each class, ascending. */
  readonly #starts: Int32Array;
  readonly #ascii = new Uint16Array(128);
  /** The kind of the characters of each class, for positions. */
  readonly #kinds: readonly Kind[];
  readonly #states: State[] = [];
  readonly #byHash = new Map<number, number[]>();
  #kept = 0;
  readonly #mark: Uint32Array;
  readonly #isReached: Uint32Array;
  #generation = 0;
  /** The state at the start of a text; `UNKNOWN` before it is made. */
  #edge = UNKNOWN;
  /** Number of instructions since the counter was last read. */
  #work = 0;

  /**
   * @param isAnchored true if the pattern must match the whole text, false if some part of it
   * @throws InvalidInputError for a pattern that is too large
   */
  static *of(pattern: Pattern, isAnchored: boolean): Steps<Automaton> {
    const anchored: Pattern = isAnchored
      ? { kind: "sequence", parts: [pattern, { kind: "position", position: "end" }] }
      : pattern;
    const program = compilePattern(anchored);
    const asksWords = asksForWords(program);
    if (program.length > STEP_INSTRUCTIONS) yield;
    const starts = yield* withSets(() => classStarts(program, asksWords));
    if (program.length > STEP_INSTRUCTIONS) yield;
    const kinds = Array.from(starts, (point) => kindOf(point, asksWords));
    return new Automaton(program, isAnchored, starts, kinds);
  }

  private constructor(
    program: readonly Instruction[],
    isAnchored: boolean,
    starts: Int32Array,
    kinds: readonly Kind[],
  ) {
    this.#program = program;
    this.#isAnchored = isAnchored;
    this.#starts = starts;
    this.#kinds = kinds;
    this.#mark = new Uint32Array(program.length);
    this.#isReached = new Uint32Array((program.length + 31) >>> 5);
    for (let point = 0; point < 128; point++) this.#ascii[point] = this.#classOf(point);
    this.#forget();
  }

  /** True if the UTF-8 text from `start` to `end` matches; null if the test must run in steps. */
  matches(bytes: Uint8Array, start: number, end: number): boolean | null {
    if (end - start > QUICK_WORK) return null;
    this.#work = 0;
    if (this.#edge === UNKNOWN) this.#edge = this.#first(EDGE);
    const states = this.#states;
    const ascii = this.#ascii;
    let state = this.#edge;
    for (let offset = start; offset < end; ) {
      if (state <= DEAD) return state === MATCHED;
      const { next } = states[state];
      const byte = bytes[offset];
      let characterClass: number;
      if (byte < 0x80) {
        characterClass = ascii[byte];
        offset++;
      } else {
        characterClass = this.#classOf(pointAt(bytes, offset, end));
        offset = endOfCharacter(bytes, offset, end);
      }
      const target = next[characterClass];
      if (target !== UNKNOWN) state = target;
      else {
        state = this.#follow(state, characterClass);
        if (this.#work > QUICK_WORK) return null;
      }
    }
    return this.#isMatchAtEnd(state);
  }

  /**
   * Tests if a text of any length matches.
   * @param before kind of the character before the text, for positions such as `\\b`. Default: no character
   */
  *matchesInSteps(bytes: Uint8Array, start: number, end: number, before: Kind = EDGE): Steps<boolean> {
    const pace = new Pace(STEP_WORK);
    let state = this.#first(before);
    for (let offset = start; offset < end; offset = endOfCharacter(bytes, offset, end)) {
      if (state <= DEAD) return state === MATCHED;
      const { next } = this.#states[state];
      const characterClass = this.#classAt(bytes, offset, end);
      const target = next[characterClass];
      let work = 1;
      if (target !== UNKNOWN) state = target;
      else {
        this.#work = 0;
        state = this.#follow(state, characterClass);
        work += this.#work;
      }
      if (!pace.isStep(work)) continue;
      // During the step, another query may use the automaton and drop the states.
      const { reached, before: kind } = this.#states[state];
      yield;
      if (state !== MATCHED) state = this.#state(reached, kind);
    }
    return this.#isMatchAtEnd(state);
  }

  /** Returns the kind of a character for the positions of the pattern. */
  kindOf(bytes: Uint8Array, offset: number, end: number): Kind {
    return this.#kinds[this.#classAt(bytes, offset, end)];
  }

  /** Returns the class of the character that begins at `offset`. */
  #classAt(bytes: Uint8Array, offset: number, end: number): number {
    const byte = bytes[offset];
    return byte < 0x80 ? this.#ascii[byte] : this.#classOf(pointAt(bytes, offset, end));
  }

  #isMatchAtEnd(state: number): boolean {
    if (state <= DEAD) return state === MATCHED;
    const last = this.#starts.length;
    const target = this.#states[state].next[last];
    return (target === UNKNOWN ? this.#follow(state, last) : target) === MATCHED;
  }

  #first(before: Kind): number {
    return this.#state(FIRST, before);
  }

  #classOf(point: number): number {
    return upperBound(this.#starts, point, 1) - 1;
  }

  #follow(state: number, characterClass: number): number {
    const { reached, before, next } = this.#states[state];
    const isEnd = characterClass === this.#starts.length;
    const after: Kind = isEnd ? EDGE : this.#kinds[characterClass];
    const closed = this.#close(reached, before, after);
    let following = MATCHED;
    if (closed !== null) {
      const bits = this.#isReached.fill(0);
      if (!isEnd) {
        const point = this.#starts[characterClass];
        for (const index of closed) {
          const instruction = this.#program[index];
          if (instruction.kind === "set" && holdsPoint(instruction.set, point)) {
            bits[(index + 1) >>> 5] |= 1 << ((index + 1) & 31);
          }
        }
        if (!this.#isAnchored) bits[0] |= 1;
      }
      this.#work += 2 * closed.length + bits.length;
      following = this.#state(placesOf(bits), after);
    }
    // If the states were dropped, this state is unreachable and the write has no effect.
    next[characterClass] = following;
    return following;
  }

  /** Returns the index of a state, and adds the state if it is missing. */
  #state(reached: Int32Array, before: Kind): number {
    if (reached.length === 0) return DEAD;
    let hash = before + 1;
    for (const index of reached) hash = Math.imul(hash ^ index, 0x01000193);
    this.#work += reached.length;
    for (const number of this.#byHash.get(hash) ?? []) {
      const state = this.#states[number];
      if (state.before === before && isSame(state.reached, reached)) return number;
    }
    const size = reached.length + this.#starts.length + STATE_SIZE;
    if (this.#kept + size > MAX_KEPT) this.#forget();
    this.#kept += size;
    const next = new Int32Array(this.#starts.length + 1).fill(UNKNOWN);
    this.#work += next.length;
    const number = this.#states.push({ reached, before, next }) - 1;
    const alike = this.#byHash.get(hash);
    if (alike === undefined) this.#byHash.set(hash, [number]);
    else alike.push(number);
    return number;
  }

  #forget(): void {
    this.#states.length = 0;
    this.#byHash.clear();
    this.#kept = 0;
    this.#edge = UNKNOWN;
    for (const reached of [FIRST, NONE]) this.#states.push({ reached, before: OTHER, next: NONE });
  }

  /** Returns all character instructions reached without a character; null if the pattern has matched. */
  #close(reached: Int32Array, before: Kind, after: Kind): number[] | null {
    const generation = ++this.#generation;
    const mark = this.#mark;
    const stack = Array.from(reached);
    const states: number[] = [];
    for (let index = stack.pop(); index !== undefined; index = stack.pop()) {
      this.#work++;
      if (mark[index] === generation) continue;
      mark[index] = generation;
      const instruction = this.#program[index];
      switch (instruction.kind) {
        case "match":
          return null;
        case "set":
          states.push(index);
          break;
        case "split":
          for (const to of instruction.to) stack.push(to);
          break;
        case "save":
          stack.push(index + 1);
          break;
        case "position":
          if (isAt(instruction.position, before, after)) stack.push(index + 1);
      }
    }
    return states;
  }
}

/** From this number of instructions on, a program is made in steps. */
const STEP_INSTRUCTIONS = 1024;
/** Size of a state besides its numbers. */
const STATE_SIZE = 32;
const FIRST = new Int32Array(1);
const NONE = new Int32Array(0);

/** Returns the indices of the bits that are set, ascending. */
function placesOf(bits: Uint32Array): Int32Array {
  const indices: number[] = [];
  for (const [word, value] of bits.entries()) {
    for (let left = value; left !== 0; left &= left - 1)
      indices.push(32 * word + 31 - Math.clz32(left & -left));
  }
  return Int32Array.from(indices);
}

function isSame(left: Int32Array, right: Int32Array): boolean {
  if (left.length !== right.length) return false;
  for (let position = 0; position < left.length; position++)
    if (left[position] !== right[position]) return false;
  return true;
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
