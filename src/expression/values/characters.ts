/** Characters, which are code points, of UTF-8 texts. Other bytes count as some character, and are kept. */

import type { Steps } from "../../async/eventLoop.js";
import { STEP_BYTES } from "./work.js";

/** True if a byte continues a character. */
const isWithin = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** Returns the end of the character that has a byte at `offset`. */
export function endOfCharacter(bytes: Uint8Array, offset: number, end: number): number {
  let next = offset + 1;
  while (next < end && isWithin(bytes[next])) next++;
  return next;
}

/** Returns the start of the character that has a byte at `offset`. */
export function startOfCharacter(bytes: Uint8Array, offset: number, start: number): number {
  let first = offset;
  while (first > start && isWithin(bytes[first])) first--;
  return first;
}

/** Returns the code point of the character that begins at `offset`. */
export function pointAt(bytes: Uint8Array, offset: number, end: number): number {
  const byte = bytes[offset];
  if (byte < 0x80) return byte;
  const rest = (index: number) => (offset + index < end ? bytes[offset + index] & 0x3f : 0);
  if (byte < 0xe0) return ((byte & 0x1f) << 6) | rest(1);
  if (byte < 0xf0) return ((byte & 0x0f) << 12) | (rest(1) << 6) | rest(2);
  return ((byte & 0x07) << 18) | (rest(1) << 12) | (rest(2) << 6) | rest(3);
}

export function countCharacters(bytes: Uint8Array, start: number, end: number): number {
  let count = 0;
  for (let offset = start; offset < end; offset++) if (!isWithin(bytes[offset])) count++;
  return count;
}

export function* countCharactersInSteps(bytes: Uint8Array, start: number, end: number): Steps<number> {
  let count = 0;
  for (let offset = start; offset < end; offset += STEP_BYTES) {
    count += countCharacters(bytes, offset, Math.min(end, offset + STEP_BYTES));
    if (offset + STEP_BYTES < end) yield;
  }
  return count;
}

/** Returns the end of the first `count` characters. */
export function* afterCharacters(
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
): Steps<number> {
  let offset = start;
  for (let left = count; left > 0 && offset < end; ) {
    const stop = Math.min(end, offset + STEP_BYTES);
    for (; offset < stop && left > 0; left--) offset = endOfCharacter(bytes, offset, end);
    if (left > 0 && offset < end) yield;
  }
  return offset;
}

/** Returns the start of the last `count` characters. */
export function* beforeCharacters(
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
): Steps<number> {
  let offset = end;
  for (let left = count; left > 0 && offset > start; ) {
    const stop = Math.max(start, offset - STEP_BYTES);
    for (; offset > stop && left > 0; left--) offset = startOfCharacter(bytes, offset - 1, start);
    if (left > 0 && offset > start) yield;
  }
  return offset;
}

export function pointsOf(bytes: Uint8Array, start: number, end: number): Uint32Array {
  const points = new Uint32Array(countCharacters(bytes, start, end));
  for (let offset = start, index = 0; offset < end; offset = endOfCharacter(bytes, offset, end)) {
    points[index++] = pointAt(bytes, offset, end);
  }
  return points;
}
