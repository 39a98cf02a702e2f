/** Sorts numbered entries by their groups, in steps. */

import type { Steps } from "../../async/eventLoop.js";

/** Entries of a step. */
const STEP = 2 ** 16;

/** Entries in the order of their groups. */
export interface EntriesByGroup {
  /** Start of each group in the order, and the end of the last one. */
  readonly starts: Uint32Array;
  /** Returns the place of each entry in the order. */
  readonly places: Uint32Array;
}

/** @param groups group of each entry, below `groupCount` */
export function* entriesByGroup(
  groups: ArrayLike<number>,
  count: number,
  groupCount: number,
): Steps<EntriesByGroup> {
  const starts = new Uint32Array(groupCount + 1);
  for (let first = 0; first < count; first += STEP) {
    countGroups(groups, starts, first, Math.min(first + STEP, count));
    yield;
  }
  let total = 0;
  for (let group = 0; group <= groupCount; group++) {
    const size = starts[group];
    starts[group] = total;
    total += size;
    if (group % STEP === STEP - 1) yield;
  }
  const places = new Uint32Array(count);
  const next = starts.slice();
  for (let first = 0; first < count; first += STEP) {
    placeEntries(groups, next, places, first, Math.min(first + STEP, count));
    yield;
  }
  return { starts, places };
}

function countGroups(groups: ArrayLike<number>, counts: Uint32Array, first: number, end: number): void {
  for (let entry = first; entry < end; entry++) counts[groups[entry]]++;
}

function placeEntries(
  groups: ArrayLike<number>,
  next: Uint32Array,
  places: Uint32Array,
  first: number,
  end: number,
): void {
  for (let entry = first; entry < end; entry++) places[entry] = next[groups[entry]]++;
}
