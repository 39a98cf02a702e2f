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
    for (let end = shared + step; end <= length; shared = end, end += step) {
      if (!isSameBytes(a.subarray(shared, end), b.subarray(shared, end))) break;
    }
  }
  while (shared < length && a[shared] === b[shared]) shared++;
  return shared;
}

/** Number of equal bytes at the end. */
export function sharedSuffix(a: Uint8Array, b: Uint8Array): number {
  let endA = a.length;
  let endB = b.length;
  for (let step = CHUNK_BYTES; step >= 1; step >>>= 1) {
    while (step <= endA && step <= endB) {
      if (!isSameBytes(a.subarray(endA - step, endA), b.subarray(endB - step, endB))) break;
      endA -= step;
      endB -= step;
    }
  }
  return a.length - endA;
}
