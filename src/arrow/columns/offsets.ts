/** Offsets of lists and of values of variable width. */

import { UnsupportedError } from "../../errors.js";

/** True if offsets have 32 bits. Checks their width, which also works for arrays of another realm. */
export const areNarrow = (offsets: Int32Array | BigInt64Array): offsets is Int32Array =>
  offsets.BYTES_PER_ELEMENT === 4;

/** Returns the words of non-negative 64-bit integers, in pairs: low, high. */
export function wordsOf(array: BigInt64Array): Uint32Array {
  return new Uint32Array(array.buffer, array.byteOffset, array.length * 2);
}

/** @throws UnsupportedError for a length that 32-bit offsets cannot express */
export function checkOffsetRange(byteLength: number): void {
  if (byteLength > 0x7fffffff) {
    throw new UnsupportedError(`${byteLength} bytes of text or items of lists do not fit 32-bit offsets`);
  }
}
