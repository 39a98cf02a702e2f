/**
 * Finds matches of a pattern and its groups, in time linear in the text. It follows all ways to match at
 * once, in the order of preference. The first offset counts and, at that offset, the preferred match. An
 * automaton first decides if there is a match at all.
 *
 * A search for all matches may read the rest of the text again after each match. The number of such reads is
 * bounded.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { endOfCharacter, pointAt } from "../values/characters.js";
import { Automaton } from "./automaton.js";
import { holdsPoint } from "./characterSets.js";
import type { Pattern } from "./pattern.js";
import { compilePattern, EDGE, type Instruction, isAt, type Kind } from "./program.js";

/** Starts and ends of the whole match and of each group, counted in bytes; -1 for a group without a match. */
export type Match = Int32Array;

/**
 * Maximum average number of looks at a character over all matches of a text; the first looks do not count.
 */
const MAX_LOOKS = 16;
const FREE_LOOKS = 2 ** 20;
/** Maximum number of positions that all ways to match record together. */
const MAX_REMEMBERED = 2 ** 22;
const STEP_WORK = 2 ** 15;

/** The ways to match so far, the preferred ones first. */
class Threads {
  readonly starts: Int32Array;
  /** The positions that each of them records. */
  readonly slots: Int32Array;
  readonly #slotCount: number;
  count = 0;

  constructor(max: number, slotCount: number) {
    this.starts = new Int32Array(max);
    this.slots = new Int32Array(max * slotCount);
    this.#slotCount = slotCount;
  }

  add(index: number, slots: Int32Array): void {
    this.slots.set(slots, this.count * this.#slotCount);
    this.starts[this.count++] = index;
  }

  slotsOf(thread: number): Int32Array {
    return this.slots.subarray(thread * this.#slotCount, (thread + 1) * this.#slotCount);
  }
}

export class Search {
  readonly #program: readonly Instruction[];
  readonly #automaton: Automaton;
  readonly #slotCount: number;
  readonly #threadCount: number;
  readonly names = new Map<string, number>();
  /** Number of groups, without the whole match. */
  readonly groupCount: number;
  /** A spare run for the next search; null during a search. */
  #spare: Run | null = null;

  /**
   * @param remembersGroups true if the matches of groups are needed
   * @throws InvalidInputError for a pattern that is too large
   */
  static *of(pattern: Pattern, remembersGroups: boolean): Steps<Search> {
    const automaton = yield* Automaton.of(pattern, false);
    return new Search(pattern, automaton, remembersGroups);
  }

  private constructor(pattern: Pattern, automaton: Automaton, remembersGroups: boolean) {
    this.#program = compilePattern({ kind: "group", index: 0, name: null, part: pattern });
    this.#automaton = automaton;
    let [max, sets] = [1, 1];
    for (const instruction of this.#program) {
      if (instruction.kind === "save") max = Math.max(max, instruction.slot);
      else if (instruction.kind === "set") sets++;
    }
    this.groupCount = (max - 1) / 2;
    this.#slotCount = remembersGroups ? max + 1 : 2;
    this.#threadCount = sets;
    if (this.#slotCount * sets > MAX_REMEMBERED) {
      throw new InvalidInputError(
        `regular expression: ${this.groupCount} groups are too many for ${sets} states`,
      );
    }
    this.#collectNames(pattern);
  }

  /**
   * Returns the first match that begins at `from` or later; null for none.
   * @param start of the text
   * @param counter counts looks at characters
   */
  *find(
    bytes: Uint8Array,
    start: number,
    end: number,
    from: number,
    counter: { looks: number } = { looks: 0 },
  ): Steps<Match | null> {
    const quick = this.#findNow(bytes, start, end, from, counter);
    if (quick !== undefined) return quick;
    const edge = from === start ? EDGE : this.#kindBefore(bytes, start, end, from);
    if (!(yield* this.#isMatchBehind(bytes, from, end, edge))) return null;
    const run = this.#takeRun(from, edge);
    for (;;) {
      const match = this.#goOn(run, bytes, end, counter);
      if (match !== undefined) return match;
      yield;
    }
  }

  /** Finds a match in a short text like {@link find}, in one step. Undefined for a longer text. */
  #findNow(
    bytes: Uint8Array,
    start: number,
    end: number,
    from: number,
    counter: { looks: number },
  ): Match | null | undefined {
    if ((end - from + 1) * this.#program.length * this.#slotCount > STEP_WORK) return undefined;
    const edge = from === start ? EDGE : this.#kindBefore(bytes, start, end, from);
    if (edge === EDGE && this.#automaton.matches(bytes, from, end) === false) return null;
    const run = this.#takeRun(from, edge);
    for (;;) {
      const match = this.#goOn(run, bytes, end, counter);
      if (match !== undefined) return match;
    }
  }

  /** Runs a step of a search. Undefined if the search goes on. */
  #goOn(run: Run, bytes: Uint8Array, end: number, counter: { looks: number }): Match | null | undefined {
    for (let work = 0; work < STEP_WORK; ) {
      const { offset } = run;
      const isEnd = offset >= end;
      const after: Kind = isEnd ? EDGE : this.#automaton.kindOf(bytes, offset, end);
      counter.looks++;
      work += run.reach(after);
      run.follow(isEnd ? -1 : pointAt(bytes, offset, end));
      if (isEnd || (run.match !== null && run.isEnded)) {
        this.#spare = run;
        return run.match;
      }
      run.before = after;
      run.offset = endOfCharacter(bytes, offset, end);
    }
    return undefined;
  }

  #takeRun(from: number, before: Kind): Run {
    const run = this.#spare ?? new Run(this.#program, this.#slotCount, this.#threadCount);
    this.#spare = null;
    run.start(from, before);
    return run;
  }

  /**
   * Yields all matches in order; an empty match does not touch the match before it.
   * @param use gets each match, and returns true to go on
   * @throws InvalidInputError if parts of the text are read too often
   */
  *findAll(
    bytes: Uint8Array,
    start: number,
    end: number,
    use: (match: Match) => boolean | Steps<boolean>,
  ): Steps<void> {
    let from = start;
    let lastEnd = -1;
    const pace = new Pace(STEP_WORK);
    const counter = { looks: 0 };
    while (from <= end) {
      let match = this.#findNow(bytes, start, end, from, counter);
      if (match === undefined) match = yield* this.find(bytes, start, end, from, counter);
      if (counter.looks > MAX_LOOKS * (end - start) + FREE_LOOKS) {
        throw new InvalidInputError(
          "regular expression: the search for all matches takes too long, because most of them read the rest of the text",
        );
      }
      if (match === null) return;
      if (pace.isStep(256)) yield;
      if (match[0] === match[1] && match[1] === lastEnd) {
        from = from >= end ? end + 1 : endOfCharacter(bytes, from, end);
        continue;
      }
      const goesOn = use(match);
      if (!(typeof goesOn === "boolean" ? goesOn : yield* goesOn)) return;
      lastEnd = match[1];
      from = lastEnd;
    }
  }

  *#isMatchBehind(bytes: Uint8Array, from: number, end: number, before: Kind): Steps<boolean> {
    if (before === EDGE) {
      const quick = this.#automaton.matches(bytes, from, end);
      if (quick !== null) return quick;
    }
    return yield* this.#automaton.matchesInSteps(bytes, from, end, before);
  }

  #kindBefore(bytes: Uint8Array, start: number, end: number, from: number): Kind {
    let offset = from - 1;
    while (offset > start && (bytes[offset] & 0xc0) === 0x80) offset--;
    return this.#automaton.kindOf(bytes, offset, end);
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

class Run {
  readonly #program: readonly Instruction[];
  readonly #mark: Uint32Array;
  #generation = 0;
  #threads: Threads;
  /** The ways to match that wait for the next character. */
  #reached: Threads;
  readonly #slots: Int32Array;
  /** Instructions to follow; below 0, an earlier value of a slot. */
  readonly #stack: number[] = [];
  #hasMatch = false;
  /** Offset of the next character, and the kind of the character before it. */
  offset = 0;
  before: Kind = EDGE;
  /** The preferred match so far. */
  match: Match | null = null;

  constructor(program: readonly Instruction[], slotCount: number, threadCount: number) {
    this.#program = program;
    this.#mark = new Uint32Array(program.length);
    this.#threads = new Threads(threadCount + 1, slotCount);
    this.#reached = new Threads(threadCount + 1, slotCount);
    this.#slots = new Int32Array(slotCount);
  }

  get isEnded(): boolean {
    return this.#threads.count === 0;
  }

  start(offset: number, before: Kind): void {
    this.offset = offset;
    this.before = before;
    this.match = null;
    this.#threads.count = 0;
  }

  /**
   * Follows the instructions that need no character.
   * @param after kind of the next character
   * @returns the work done
   */
  reach(after: Kind): number {
    this.#generation++;
    this.#reached.count = 0;
    this.#hasMatch = false;
    let work = 8;
    for (let thread = 0; thread < this.#threads.count && !this.#hasMatch; thread++) {
      this.#slots.set(this.#threads.slotsOf(thread));
      work += this.#from(this.#threads.starts[thread], after);
    }
    // A later match is less preferred than one that was found.
    if (this.match === null && !this.#hasMatch) {
      this.#slots.fill(-1);
      work += this.#from(0, after);
    }
    return work;
  }

  /** Goes on with a character; -1 for the end. Keeps the match that ends before it, if any. */
  follow(point: number): void {
    const { starts, count } = this.#reached;
    const threads = this.#threads;
    threads.count = 0;
    for (let thread = 0; thread < count; thread++) {
      const position = starts[thread];
      const instruction = this.#program[position];
      // Later ways to match are less preferred.
      if (instruction.kind === "match") {
        this.match = this.#reached.slotsOf(thread).slice();
        return;
      }
      if (point >= 0 && instruction.kind === "set" && holdsPoint(instruction.set, point)) {
        threads.add(position + 1, this.#reached.slotsOf(thread));
      }
    }
  }

  #from(first: number, after: Kind): number {
    const { offset, before } = this;
    const stack = this.#stack;
    const slots = this.#slots;
    stack.push(first);
    let work = 0;
    for (let slot = stack.pop(); slot !== undefined; slot = stack.pop()) {
      work++;
      if (slot < 0) {
        slots[-1 - slot] = stack.pop() as number;
        continue;
      }
      if (this.#mark[slot] === this.#generation) continue;
      this.#mark[slot] = this.#generation;
      const instruction = this.#program[slot];
      switch (instruction.kind) {
        case "split":
          for (let index = instruction.to.length - 1; index >= 0; index--) stack.push(instruction.to[index]);
          break;
        case "position":
          if (isAt(instruction.position, before, after)) stack.push(slot + 1);
          break;
        case "save":
          if (instruction.slot < slots.length) {
            stack.push(slots[instruction.slot], -1 - instruction.slot);
            slots[instruction.slot] = offset;
          }
          stack.push(slot + 1);
          break;
        default:
          this.#reached.add(slot, slots);
          work += 2 * slots.length;
          if (instruction.kind === "match") {
            this.#hasMatch = true;
            stack.length = 0;
            return work;
          }
      }
    }
    return work;
  }
}
