/** Sets of characters, as the brackets, escapes and flags of a regular expression make them. */

/** Ranges of code points, both ends included: ascending and apart. */
export type CharacterSet = readonly (readonly [number, number])[];

export const MAX_CODE_POINT = 0x10ffff;
const LINE_FEED = 0x0a;

export const ANY_CHARACTER: CharacterSet = [[0, MAX_CODE_POINT]];
export const NO_LINE_FEED: CharacterSet = [
  [0, LINE_FEED - 1],
  [LINE_FEED + 1, MAX_CODE_POINT],
];

export const POSIX_CLASSES: Readonly<Record<string, CharacterSet>> = {
  alnum: [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x61, 0x7a],
  ],
  alpha: [
    [0x41, 0x5a],
    [0x61, 0x7a],
  ],
  ascii: [[0, 0x7f]],
  blank: [
    [0x09, 0x09],
    [0x20, 0x20],
  ],
  cntrl: [
    [0, 0x1f],
    [0x7f, 0x7f],
  ],
  digit: [[0x30, 0x39]],
  graph: [[0x21, 0x7e]],
  lower: [[0x61, 0x7a]],
  print: [[0x20, 0x7e]],
  punct: [
    [0x21, 0x2f],
    [0x3a, 0x40],
    [0x5b, 0x60],
    [0x7b, 0x7e],
  ],
  space: [
    [0x09, 0x0d],
    [0x20, 0x20],
  ],
  upper: [[0x41, 0x5a]],
  word: [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ],
  xdigit: [
    [0x30, 0x39],
    [0x41, 0x46],
    [0x61, 0x66],
  ],
};

export const single = (character: string): CharacterSet => {
  const point = character.codePointAt(0) ?? 0;
  return [[point, point]];
};

export const isSingle = (set: CharacterSet): boolean => set.length === 1 && set[0][0] === set[0][1];

export function union(one: CharacterSet, other: CharacterSet): CharacterSet {
  const ranges = [...one, ...other].sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [from, to] of ranges) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

export function complement(set: CharacterSet): CharacterSet {
  const rest: [number, number][] = [];
  let next = 0;
  for (const [from, to] of set) {
    if (from > next) rest.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= MAX_CODE_POINT) rest.push([next, MAX_CODE_POINT]);
  return rest;
}

const properties = new Map<string, CharacterSet>();

/** Found by asking the runtime of every code point, once. */
export function propertySet(name: string): CharacterSet {
  const found = properties.get(name);
  if (found !== undefined) return found;
  const set = scan(new RegExp(`^\\p{${name}}$`, "u"));
  properties.set(name, set);
  return set;
}

/** What \w matches: letters, marks, digits, connectors and joiners. */
export function wordSet(): CharacterSet {
  const found = properties.get("\\w");
  if (found !== undefined) return found;
  const set = scan(/^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u);
  properties.set("\\w", set);
  return set;
}

function scan(pattern: RegExp): CharacterSet {
  const set: [number, number][] = [];
  let start = -1;
  for (let point = 0; point <= MAX_CODE_POINT + 1; point++) {
    // There are none but private characters from here on, up to the last planes.
    const holds = point <= MAX_CODE_POINT && pattern.test(String.fromCodePoint(point));
    if (holds && start < 0) start = point;
    if (!holds && start >= 0) {
      set.push([start, point - 1]);
      start = -1;
    }
  }
  return set;
}

/** By character: the others that differ from it in case only. */
let otherCases: ReadonlyMap<number, readonly number[]> | null = null;

/** The set with its characters in the other case too. */
export function anyCase(set: CharacterSet): CharacterSet {
  otherCases ??= findOtherCases();
  const added: [number, number][] = [];
  if (isSingle(set)) {
    for (const other of otherCases.get(set[0][0]) ?? []) added.push([other, other]);
    return added.length === 0 ? set : union(set, added);
  }
  for (const [point, others] of otherCases) {
    if (!holdsPoint(set, point)) continue;
    for (const other of others) added.push([other, other]);
  }
  return added.length === 0 ? set : union(set, added);
}

export function holdsPoint(set: CharacterSet, point: number): boolean {
  let low = 0;
  let high = set.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (set[middle][1] < point) low = middle + 1;
    else high = middle;
  }
  return low < set.length && set[low][0] <= point;
}

function findOtherCases(): Map<number, number[]> {
  const folded = new Map<string, number[]>();
  for (let point = 0; point < 0x1e944; point++) {
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
        group.filter((other) => other !== point),
      );
  }
  return others;
}
