/** Characters, which are code points, of texts of UTF-8. Bytes that are no UTF-8 count as some character, and pass through. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { STEP_BYTES } from "./work.js";

/** Whether a byte goes on with a character that began before it. */
const isWithin = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** Where the character that begins at a place ends. */
export function endOfCharacter(bytes: Uint8Array, start: number, end: number): number {
  let at = start + 1;
  while (at < end && isWithin(bytes[at])) at++;
  return at;
}

/** The code point of the character that begins at a place. */
export function pointAt(bytes: Uint8Array, at: number, end: number): number {
  const byte = bytes[at];
  if (byte < 0x80) return byte;
  const rest = (place: number) => (at + place < end ? bytes[at + place] & 0x3f : 0);
  if (byte < 0xe0) return ((byte & 0x1f) << 6) | rest(1);
  if (byte < 0xf0) return ((byte & 0x0f) << 12) | (rest(1) << 6) | rest(2);
  return ((byte & 0x07) << 18) | (rest(1) << 12) | (rest(2) << 6) | rest(3);
}

export function countCharacters(bytes: Uint8Array, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at++) if ((bytes[at] & 0xc0) !== 0x80) count++;
  return count;
}

export function* countCharactersInSteps(bytes: Uint8Array, start: number, end: number): Steps<number> {
  let count = 0;
  for (let at = start; at < end; at += STEP_BYTES) {
    count += countCharacters(bytes, at, Math.min(end, at + STEP_BYTES));
    if (at + STEP_BYTES < end) yield;
  }
  return count;
}

/** Where the first `count` characters end. */
export function* afterCharacters(
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
): Steps<number> {
  let at = start;
  for (let left = count; left > 0 && at < end; ) {
    const stop = Math.min(end, at + STEP_BYTES);
    for (; at < stop && left > 0; left--) at = endOfCharacter(bytes, at, end);
    if (left > 0 && at < end) yield;
  }
  return at;
}

/** Where the last `count` characters begin. */
export function* beforeCharacters(
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
): Steps<number> {
  let at = end;
  for (let left = count; left > 0 && at > start; ) {
    const stop = Math.max(start, at - STEP_BYTES);
    for (; at > stop && left > 0; left--) {
      at--;
      while (at > start && isWithin(bytes[at])) at--;
    }
    if (left > 0 && at > start) yield;
  }
  return at;
}

/** The code points of a text. */
export function* pointsInSteps(bytes: Uint8Array, start: number, end: number): Steps<Uint32Array> {
  const points = new Uint32Array(yield* countCharactersInSteps(bytes, start, end));
  const pace = new Pace(STEP_BYTES);
  for (let at = start, place = 0; at < end; at = endOfCharacter(bytes, at, end)) {
    points[place++] = pointAt(bytes, at, end);
    if (pace.isStep()) yield;
  }
  return points;
}
