/**
 * Numbers of 4 and 8 bytes as unsigned words that sort like them, and back. Columns store the low word of a
 * number first; sort keys begin with the high one.
 *
 *     unsigned integers        as they are
 *     other integers, times    with the sign bit flipped
 *     floats                   with the sign bit set if positive, else with every bit flipped: the total
 *                              order of IEEE 754
 */

import type { FixedColumn } from "../../arrow/columns/column.js";
import { alignedBytes } from "../../bytes/aligned.js";
import type { ValueType } from "../../expression/values/types.js";

const SIGN = 0x8000_0000;

/** True if the values of a column are numbers of one or two words. */
export const areWordNumbers = ({ byteWidth }: FixedColumn, type: ValueType): boolean =>
  (byteWidth === 4 || byteWidth === 8) && type.kind !== "fixedSizeBinary";

/** Returns the words of such a column as stored. */
export function storedWords({ values }: FixedColumn): Uint32Array {
  const { buffer, byteOffset } = alignedBytes(values, 4);
  return new Uint32Array(buffer, byteOffset, values.byteLength / 4);
}

/**
 * Writes the key words of numbers. A key of more words than the number has ends in zeros.
 * @param stored words of the numbers
 * @param wordCount words of a number
 * @param stride words of a key
 */
export function fillKeyWords(
  keys: Uint32Array,
  stride: number,
  stored: Uint32Array,
  wordCount: number,
  type: ValueType,
): void {
  const isFloat = type.kind === "float";
  const flipped = type.kind === "int" && !type.signed ? 0 : SIGN;
  const highWord = wordCount - 1;
  for (let slot = 0, key = 0; slot < stored.length; slot += wordCount, key += stride) {
    const high = stored[slot + highWord];
    const inverted = isFloat ? (high | 0) >> 31 : 0;
    keys[key] = high ^ (inverted | flipped);
    if (stride > 1) keys[key + 1] = highWord === 0 ? 0 : stored[slot] ^ inverted;
  }
}

/**
 * Returns the words of numbers as stored.
 * @param entries each of which begins with a key of two words
 * @param stride words of an entry
 * @param wordCount words of a number
 */
export function wordsOfKeys(
  entries: Uint32Array,
  stride: number,
  wordCount: number,
  type: ValueType,
): Uint32Array {
  const stored = new Uint32Array((entries.length / stride) * wordCount);
  const isFloat = type.kind === "float";
  const flipped = type.kind === "int" && !type.signed ? 0 : SIGN;
  const highWord = wordCount - 1;
  for (let slot = 0, key = 0; slot < stored.length; slot += wordCount, key += stride) {
    const high = entries[key];
    const inverted = isFloat ? ~((high | 0) >> 31) : 0;
    stored[slot + highWord] = high ^ (inverted | flipped);
    if (highWord > 0) stored[slot] = entries[key + 1] ^ inverted;
  }
  return stored;
}
