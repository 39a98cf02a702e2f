/** Sets of characters, from the brackets, escapes and flags of a regular expression. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { firstIndex, lowerBound } from "../../bytes/search.js";

/** Ranges of code points, both ends included, ascending and disjoint. */
export type CharacterSet = readonly (readonly [number, number])[];

export const MAX_CODE_POINT = 0x10ffff;
const LINE_FEED = 0x0a;

export const ANY_CHARACTER: CharacterSet = [[0, MAX_CODE_POINT]];
export const NO_LINE_FEED: CharacterSet = [
  [0, LINE_FEED - 1],
  [LINE_FEED + 1, MAX_CODE_POINT],
];

/** @param ends first and last characters of the ranges, in pairs */
const ranges = (ends: string): CharacterSet =>
  Array.from({ length: ends.length / 2 }, (_, index) => [
    ends.charCodeAt(2 * index),
    ends.charCodeAt(2 * index + 1),
  ]);

export const POSIX_CLASSES: Readonly<Record<string, CharacterSet>> = {
  alnum: ranges("09AZaz"),
  alpha: ranges("AZaz"),
  ascii: ranges("\0\x7f"),
  blank: ranges("\t\t  "),
  cntrl: ranges("\0\x1f\x7f\x7f"),
  digit: ranges("09"),
  graph: ranges("!~"),
  lower: ranges("az"),
  print: ranges(" ~"),
  punct: ranges("!/:@[`{~"),
  space: ranges("\t\r  "),
  upper: ranges("AZ"),
  word: ranges("09AZ__az"),
  xdigit: ranges("09AFaf"),
};

export const single = (character: string): CharacterSet => {
  const point = character.codePointAt(0) ?? 0;
  return [[point, point]];
};

export const isSingle = (set: CharacterSet): boolean => set.length === 1 && set[0][0] === set[0][1];

/** Only code points below this have other cases. */
const CASED_POINTS = 0x1e944;
/** Factor that packs a range into one number: its ends have 21 bits each. */
const RANGE = 2 ** 21;

export function union(sets: Iterable<CharacterSet>): CharacterSet {
  const packed: number[] = [];
  for (const set of new Set(sets)) for (const [from, to] of set) packed.push(from * RANGE + to);
  const merged: [number, number][] = [];
  for (const range of Float64Array.from(packed).sort()) {
    const from = Math.floor(range / RANGE);
    const to = range % RANGE;
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

const complements = new WeakMap<CharacterSet, CharacterSet>();

export function complement(set: CharacterSet): CharacterSet {
  const cached = complements.get(set);
  if (cached !== undefined) return cached;
  const rest: [number, number][] = [];
  let next = 0;
  for (const [from, to] of set) {
    if (from > next) rest.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= MAX_CODE_POINT) rest.push([next, MAX_CODE_POINT]);
  complements.set(set, rest);
  return rest;
}

/**
 * A set that is made once by asking the runtime about every code point, in steps. Code that needs a missing
 * set throws this, waits until it is loaded, and starts again.
 */
class MissingSet extends Error {
  readonly load: () => Steps<void>;

  constructor(load: () => Steps<void>) {
    super("a set of characters is not loaded yet");
    this.load = load;
  }
}

/** Calls `make` again after each missing set is loaded. */
export function* withSets<Result>(make: () => Result): Steps<Result> {
  for (;;) {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof MissingSet)) throw error;
      yield* error.load();
    }
  }
}

const properties = new Map<string, CharacterSet>();

/** @throws MissingSet; SyntaxError for an unknown property */
export function propertySet(name: string): CharacterSet {
  return properties.get(name) ?? missingSet(name, new RegExp(`^\\p{${name}}$`, "u"));
}

/** Returns the set of \w: letters, marks, digits, connectors and joiners. @throws MissingSet */
export function wordSet(): CharacterSet {
  return properties.get("\\w") ?? missingSet("\\w", WORD);
}

const WORD = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u;

function missingSet(name: string, pattern: RegExp): never {
  throw new MissingSet(function* load() {
    properties.set(name, yield* scan(pattern));
  });
}

function* scan(pattern: RegExp): Steps<CharacterSet> {
  const set: [number, number][] = [];
  const pace = new Pace(STEP_POINTS);
  let start = -1;
  for (let point = 0; point <= MAX_CODE_POINT + 1; point++) {
    if (pace.isStep()) yield;
    const holds = point <= MAX_CODE_POINT && pattern.test(String.fromCodePoint(point));
    if (holds && start < 0) start = point;
    if (!holds && start >= 0) {
      set.push([start, point - 1]);
      start = -1;
    }
  }
  return set;
}

const STEP_POINTS = 2 ** 12;

/** By character: the characters that differ from it in case only. */
let otherCases: ReadonlyMap<number, readonly number[]> | null = null;
let casedPoints = new Uint32Array(0);

const inAnyCase = new WeakMap<CharacterSet, CharacterSet>();

/** Returns the set with all cases of its characters. @throws MissingSet */
export function anyCase(set: CharacterSet): CharacterSet {
  const others = otherCases;
  if (others === null) throw new MissingSet(loadOtherCases);
  const cached = inAnyCase.get(set);
  if (cached !== undefined) return cached;
  const added: CharacterSet[] = [];
  for (const [from, to] of set) {
    for (let position = lowerBound(casedPoints, from); casedPoints[position] <= to; position++) {
      for (const variant of others.get(casedPoints[position]) ?? []) added.push([[variant, variant]]);
    }
  }
  const all = added.length === 0 ? set : union([set, ...added]);
  inAnyCase.set(set, all);
  return all;
}

export function holdsPoint(set: CharacterSet, point: number): boolean {
  const index = firstIndex(0, set.length, (range) => set[range][1] >= point);
  return index < set.length && set[index][0] <= point;
}

function* loadOtherCases(): Steps<void> {
  const folded = new Map<string, number[]>();
  const pace = new Pace(STEP_POINTS);
  for (let point = 0; point < CASED_POINTS; point++) {
    if (pace.isStep()) yield;
    const character = String.fromCodePoint(point);
    const upper = character.toUpperCase();
    const lower = character.toLowerCase();
    if (upper === character && lower === character) continue;
    const key = Array.from(upper).length === 1 ? upper.toLowerCase() : lower;
    const group = folded.get(key);
    if (group === undefined) folded.set(key, [point]);
    else group.push(point);
  }
  const others = new Map<number, number[]>();
  for (const group of folded.values()) {
    if (group.length < 2) continue;
    for (const point of group)
      others.set(
        point,
        group.filter((member) => member !== point),
      );
  }
  casedPoints = Uint32Array.from(others.keys()).sort();
  otherCases = others;
}
