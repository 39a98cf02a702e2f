/**
 * Ends of strings, binaries and lists of a 2.0 page. One u64 per value is the value's end among the bytes or
 * items, counted from the first one of the page. A null has the end of the value before it plus an adjustment
 * that is larger than any end.
 *
 *     "a", null, "bb", ""   adjustment 4   →   1, 5, 3, 3
 */

import type { Validity } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { validityFrom } from "../../arrow/columns/validity.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { corruptPage, type PageOrigin } from "../container/page.js";

/**
 * @param ends `count` u64
 * @param limit number of bytes or items, below 2^31
 * @returns offsets from 0 on, one more than there are values
 */
export function decodeEnds(
  ends: Uint8Array,
  count: number,
  adjustment: number,
  limit: number,
  origin: PageOrigin,
): { readonly offsets: Int32Array; readonly validity: Validity | null } {
  const aligned = alignedBytes(ends, 4);
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, count * 2);
  const offsets = new Int32Array(count + 1);
  const valid = new Uint8Array(Math.ceil(count / 8));
  let misplaced = 0;
  let previous = 0;
  for (let index = 0; index < count; index++) {
    let end = words[2 * index] + words[2 * index + 1] * 2 ** 32;
    if (end >= adjustment) end -= adjustment;
    else valid[index >>> 3] |= 1 << (index & 7);
    if (end < previous || end > limit) misplaced++;
    offsets[index + 1] = end;
    previous = end;
  }
  if (misplaced > 0) throw corruptPage(origin, `ends of values do not ascend to at most ${limit}`);
  return { offsets, validity: validityFrom(valid, 0, count) };
}

/**
 * @param offsets one more than there are values; counted from the first one
 * @param isNull for each value, 1 or 0; null if none is null
 */
export function encodeEnds(
  offsets: Int32Array | BigInt64Array,
  count: number,
  isNull: Uint16Array | null,
  adjustment: number,
): Uint8Array {
  const words = new Uint32Array(count * 2);
  const narrow = areNarrow(offsets);
  const first = Number(offsets[0]);
  for (let index = 0; index < count; index++) {
    let end = (narrow ? offsets[index + 1] : Number(offsets[index + 1])) - first;
    if (isNull !== null && isNull[index] === 1) end += adjustment;
    words[2 * index] = end;
    if (end >= 2 ** 32) words[2 * index + 1] = Math.floor(end / 2 ** 32);
  }
  return new Uint8Array(words.buffer);
}
