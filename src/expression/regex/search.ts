/**
 * Finds where a pattern matches, and what its groups match, in time linear in the text: all ways to match are followed
 * at once, in the order in which they are preferred. The first place counts, and of the matches there the one that is
 * preferred.
 *
 * Searching for all matches may look at the rest of the text again for each of them. How often is bounded.
 */

import { InvalidInputError } from "../../errors.js";
import { holdsPoint } from "./characterSets.js";
import type { Pattern } from "./pattern.js";
import { asksForWords, compilePattern, EDGE, type Instruction, isAt, type Kind, kindOf } from "./program.js";

/** Starts and ends of the whole match and of each group, counted in characters; -1 for a group without a match. */
export type Match = readonly number[];

/** A way to match so far. */
interface Thread {
  readonly at: number;
  readonly slots: readonly number[];
}

/** How often characters may be looked at, on average, for all matches of one text, and how many looks are always allowed. */
const MAX_LOOKS = 16;
const FREE_LOOKS = 2 ** 20;

export class Search {
  readonly #program: readonly Instruction[];
  readonly #asksWords: boolean;
  readonly #slotCount: number;
  readonly #mark: Uint32Array;
  /** Of the groups that have one: the number. */
  readonly names = new Map<string, number>();
  #generation = 0;
  /** Characters that were looked at so far. */
  #looks = 0;

  /** @throws InvalidInputError for a pattern that is too large */
  constructor(pattern: Pattern) {
    this.#program = compilePattern({ kind: "group", index: 0, name: null, part: pattern });
    this.#asksWords = asksForWords(this.#program);
    this.#mark = new Uint32Array(this.#program.length);
    const slots = this.#program.flatMap((instruction) =>
      instruction.kind === "save" ? [instruction.slot] : [],
    );
    this.#slotCount = Math.max(...slots) + 1;
    this.#collectNames(pattern);
  }

  /** Number of groups, without the whole match. */
  get groupCount(): number {
    return this.#slotCount / 2 - 1;
  }

  /** The first match that begins at `from` or behind it; null for none. */
  find(points: readonly number[], from: number): Match | null {
    let threads: Thread[] = [];
    let found: Match | null = null;
    for (let place = from; place <= points.length; place++) {
      const before: Kind = place === 0 ? EDGE : kindOf(points[place - 1], this.#asksWords);
      const after: Kind = place === points.length ? EDGE : kindOf(points[place], this.#asksWords);
      const generation = ++this.#generation;
      this.#looks++;
      const reached: Thread[] = [];
      for (const thread of threads) this.#reach(thread, place, before, after, generation, reached);
      if (found === null) {
        const slots = new Array<number>(this.#slotCount).fill(-1);
        this.#reach({ at: 0, slots }, place, before, after, generation, reached);
      }
      threads = [];
      for (const { at, slots } of reached) {
        const instruction = this.#program[at];
        if (instruction.kind === "match") {
          found = slots;
          // What comes behind is less preferred.
          break;
        }
        if (
          place < points.length &&
          instruction.kind === "set" &&
          holdsPoint(instruction.set, points[place])
        ) {
          threads.push({ at: at + 1, slots });
        }
      }
      if (found !== null && threads.length === 0) return found;
    }
    return found;
  }

  /**
   * All matches one behind the other; an empty one does not touch the one before.
   * @throws InvalidInputError where too much of the text is looked at again and again
   */
  *findAll(points: readonly number[], from = 0): Generator<Match, void, undefined> {
    let start = from;
    let lastEnd = -1;
    let looks = 0;
    while (start <= points.length) {
      const before = this.#looks;
      const match = this.find(points, start);
      looks += this.#looks - before;
      if (looks > MAX_LOOKS * points.length + FREE_LOOKS) {
        throw new InvalidInputError(
          "regular expression: too long a search for all its matches, most of which need the rest of the text",
        );
      }
      if (match === null) return;
      if (match[0] === match[1] && match[1] === lastEnd) {
        start++;
        continue;
      }
      yield match;
      [, lastEnd] = match;
      start = lastEnd;
    }
  }

  /** Adds the instructions for characters, and the end, that a way leads to without a character. */
  #reach(
    thread: Thread,
    place: number,
    before: Kind,
    after: Kind,
    generation: number,
    reached: Thread[],
  ): void {
    const stack: Thread[] = [thread];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { at, slots } = next;
      if (this.#mark[at] === generation) continue;
      this.#mark[at] = generation;
      const instruction = this.#program[at];
      switch (instruction.kind) {
        case "split":
          for (let index = instruction.to.length - 1; index >= 0; index--) {
            stack.push({ at: instruction.to[index], slots });
          }
          break;
        case "position":
          if (isAt(instruction.position, before, after)) stack.push({ at: at + 1, slots });
          break;
        case "save": {
          const saved = slots.slice();
          saved[instruction.slot] = place;
          stack.push({ at: at + 1, slots: saved });
          break;
        }
        default:
          reached.push(next);
      }
    }
  }

  #collectNames(pattern: Pattern): void {
    switch (pattern.kind) {
      case "group":
        if (pattern.name !== null) this.names.set(pattern.name, pattern.index);
        this.#collectNames(pattern.part);
        break;
      case "repeat":
        this.#collectNames(pattern.part);
        break;
      case "sequence":
      case "choice":
        for (const part of pattern.parts) this.#collectNames(part);
    }
  }
}
