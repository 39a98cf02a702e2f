/** Cuts rows into pieces, each of which is one step of work: the event loop turns between them. */

import type { Steps } from "../async/eventLoop.js";

/** Maximum rows of a piece. */
const MAX_ROWS = 2048;
/** Maximum weight of a piece of several rows. A number weighs 1, and so do 8 characters or 4 bytes. */
const MAX_WEIGHT = 2 ** 17;
/** Nesting below which values are not weighed. */
const MAX_DEPTH = 8;

/** Returns where the pieces of rows end, in ascending order. */
export function* endsOfPieces(rows: readonly unknown[]): Steps<number[]> {
  const ends: number[] = [];
  let weight = 0;
  let start = 0;
  for (let row = 0; row < rows.length; row++) {
    weight += weightOf(rows[row], 0);
    if (weight < MAX_WEIGHT && row + 1 - start < MAX_ROWS) continue;
    start = row + 1;
    weight = 0;
    ends.push(start);
    yield;
  }
  if (start < rows.length) ends.push(rows.length);
  return ends;
}

function weightOf(value: unknown, depth: number): number {
  if (typeof value === "string") return 1 + (value.length >>> 3);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return 1;
  if (ArrayBuffer.isView(value)) return 1 + (value.byteLength >>> 2);
  const isArray = Array.isArray(value);
  // The items of a list have one type.
  if (isArray && typeof value[0] === "number") return 1 + value.length;
  let weight = 1;
  if (isArray) {
    for (let index = 0; index < value.length; index++) weight += weightOf(value[index], depth + 1);
  } else {
    for (const name of Object.keys(value)) {
      weight += weightOf((value as Record<string, unknown>)[name], depth + 1);
    }
  }
  return weight;
}
