/** Compares both ends of two byte strings. The platform's comparison is many times as fast as a loop. */

import { isSameBytes } from "../platform/native.js";

/** Bytes that one comparison takes. */
const CHUNK_BYTES = 1 << 16;
/** For fewer bytes, a loop is as fast. */
const LOOP_BYTES = 32;

/** Number of equal bytes at the beginning. */
export function sharedPrefix(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  let shared = 0;
  for (let step = CHUNK_BYTES; step >= LOOP_BYTES; step >>>= 1) {
    while (shared + step <= length && isSame(a, shared, b, shared, step)) shared += step;
  }
  while (shared < length && a[shared] === b[shared]) shared++;
  return shared;
}

/** Number of equal bytes at the end. */
export function sharedSuffix(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  let shared = 0;
  for (let step = CHUNK_BYTES; step >= LOOP_BYTES; step >>>= 1) {
    while (
      shared + step <= length &&
      isSame(a, a.length - shared - step, b, b.length - shared - step, step)
    ) {
      shared += step;
    }
  }
  while (shared < length && a[a.length - 1 - shared] === b[b.length - 1 - shared]) shared++;
  return shared;
}

const isSame = (a: Uint8Array, startA: number, b: Uint8Array, startB: number, length: number): boolean =>
  isSameBytes(a.subarray(startA, startA + length), b.subarray(startB, startB + length));
