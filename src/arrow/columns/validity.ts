/** Combines, counts, picks and moves bitmaps of nulls. */

import { copyBits, countOnes } from "../../bytes/bits.js";
import type { Validity } from "./column.js";

/** Sets `count` bits from `start` on. */
export function setBits(bytes: Uint8Array, start: number, count: number): void {
  const end = start + count;
  let position = start;
  for (; position < end && (position & 7) !== 0; position++) bytes[position >>> 3] |= 1 << (position & 7);
  const whole = (end - position) >>> 3;
  if (whole > 0) bytes.fill(0xff, position >>> 3, (position >>> 3) + whole);
  for (position += whole * 8; position < end; position++) bytes[position >>> 3] |= 1 << (position & 7);
}

/** Returns the bits at `indices`, in that order. */
export function takeBits(bits: Uint8Array, bitOffset: number, indices: Uint32Array): Uint8Array {
  const { length } = indices;
  const taken = new Uint8Array((length + 7) >>> 3);
  // Eight rows at a time, as long as bit numbers have at most 31 bits.
  const whole = bits.length < 2 ** 28 ? length & ~7 : 0;
  for (let row = 0; row < whole; row += 8) {
    let packed = 0;
    for (let position = 0; position < 8; position++) {
      const bit = (bitOffset + indices[row + position]) | 0;
      packed |= ((bits[bit >>> 3] >>> (bit & 7)) & 1) << position;
    }
    taken[row >>> 3] = packed;
  }
  for (let row = whole; row < length; row++) {
    const bit = bitOffset + indices[row];
    taken[row >>> 3] |= ((bits[Math.floor(bit / 8)] >>> (bit & 7)) & 1) << (row & 7);
  }
  return taken;
}

/** Returns the validity of the rows at `indices`, in that order; null if none of them is null. */
export function takeValidity(validity: Validity | null, indices: Uint32Array): Validity | null {
  if (validity === null) return null;
  return validityFrom(takeBits(validity.bytes, validity.bitOffset, indices), 0, indices.length);
}

/** True if a row is not null. */
export function isSet(bits: Validity, index: number): boolean {
  const bit = bits.bitOffset + index;
  return ((bits.bytes[Math.floor(bit / 8)] >>> (bit & 7)) & 1) === 1;
}

/** True if a row is not null; the column may be without nulls. */
export const isValid = (validity: Validity | null, index: number): boolean =>
  validity === null || isSet(validity, index);

/** Returns the validity of rows that are valid in both. */
export function bothValid(left: Validity | null, right: Validity | null, length: number): Validity | null {
  if (left === null || right === null) return left ?? right;
  const bytes = shiftBits(left.bytes, left.bitOffset, 0, length).slice(0, (length + 7) >>> 3);
  const rightBits = shiftBits(right.bytes, right.bitOffset, 0, length);
  for (let byte = 0; byte < bytes.length; byte++) bytes[byte] &= rightBits[byte];
  return validityFrom(bytes, 0, length);
}

/** Counts the nulls and makes a validity; null if no value is null. */
export function validityFrom(bytes: Uint8Array, bitOffset: number, length: number): Validity | null {
  const nullCount = length - countOnes(bytes, bitOffset, length);
  return nullCount === 0 ? null : { bytes, bitOffset, nullCount };
}

/**
 * Moves a bitmap's first bit to `target` < 8. Returns a view of the same memory if the bit is at `target`
 * already.
 */
export function shiftBits(bytes: Uint8Array, bitOffset: number, target: number, length: number): Uint8Array {
  if ((bitOffset & 7) === target) return bytes.subarray(bitOffset >>> 3);
  const shifted = new Uint8Array((target + length + 7) >>> 3);
  copyBits(bytes, bitOffset, shifted, target, length);
  return shifted;
}
