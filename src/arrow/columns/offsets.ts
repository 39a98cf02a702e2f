/** Offsets of lists and of values of variable width. */

import { UnsupportedError } from "../../errors.js";

/** Whether offsets are of 32 bits. Asked of their width, which holds for arrays that another realm made, too. */
export const areNarrow = (offsets: Int32Array | BigInt64Array): offsets is Int32Array =>
  offsets.BYTES_PER_ELEMENT === 4;

/** Pairs of words of 64-bit integers that are not negative: low, high. */
export function wordsOf(array: BigInt64Array): Uint32Array {
  return new Uint32Array(array.buffer, array.byteOffset, array.length * 2);
}

/** @throws UnsupportedError for an end that 32-bit offsets cannot say */
export function checkOffsetRange(byteLength: number): void {
  if (byteLength > 0x7fffffff) {
    throw new UnsupportedError(`${byteLength} bytes of text or items of lists do not fit 32-bit offsets`);
  }
}
