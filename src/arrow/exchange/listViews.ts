/**
 * Converts Arrow's list views, which Lance does not have, to lists: ListView to list, LargeListView to large
 * list.
 *
 *     list view   i32 or i64 offsets, one for each row; one size of the same width for each row; items
 *
 * The lists of a list view lie among its items in any order, and may share items or leave gaps. Many lists
 * may share the same items, so a short message can hold very long lists.
 */

import type { Steps } from "../../async/eventLoop.js";
import { Pace } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { InvalidInputError } from "../../errors.js";
import type { Column, ListColumn, ListLayout, Validity } from "../columns/column.js";
import { wordsOf } from "../columns/offsets.js";
import { sliceColumn } from "../columns/sliceColumn.js";
import { bytesOfRanges, takeRanges } from "../columns/takeRanges.js";
import { isValid } from "../columns/validity.js";
import { tooLargeIpc } from "./malformedIpc.js";
import { checkAllOffsets } from "./validate.js";
import type { ViewBounds } from "./viewBounds.js";

/** Maximum items of a column of one batch, and maximum bytes of these items: offsets have 32 bits. */
const MAX_ITEMS = 2 ** 31 - 1;
const MAX_ITEM_BYTES = 2 ** 31 - 1;
/** Rows per step. */
const STEP_ROWS = 2 ** 15;
/** Maximum bytes that a row takes while its items are picked, besides the items: an offset and a range. */
export const LIST_VIEW_BYTES = 24;

export interface ListViews {
  readonly length: number;
  readonly validity: Validity | null;
  /** Integers of the width of the layout's offsets. Null lists may lack theirs, or have any values. */
  readonly offsets: Uint8Array;
  readonly sizes: Uint8Array;
}

/**
 * Returns lists for list views. They share `items` if they are consecutive; otherwise they copy the items.
 * @param bounds on the bytes of the copies
 * @throws InvalidInputError for lists outside the items, and for more items than one batch may have
 */
export function* listsOfViews(
  { length, validity, offsets: viewOffsets, sizes }: ListViews,
  { offsetBits }: ListLayout,
  items: Column,
  bounds: ViewBounds,
): Steps<ListColumn> {
  const offsetAt = integersOf(viewOffsets, offsetBits);
  const sizeAt = integersOf(sizes, offsetBits);
  const waitingForOffsets = bounds.take(length * LIST_VIEW_BYTES);
  if (waitingForOffsets !== undefined) yield waitingForOffsets;
  const isNarrow = offsetBits === 32;
  const narrow = new Int32Array(isNarrow ? length + 1 : 0);
  const wide = new BigInt64Array(isNarrow ? 0 : length + 1);
  const offsets = isNarrow ? narrow : wide;
  const starts = new Float64Array(length);
  const ends = new Float64Array(length);
  const pace = new Pace(STEP_ROWS);
  let rangeCount = 0;
  let rowCount = 0;
  /** True if each list starts at the end of the one before it. */
  let isInOrder = true;
  for (let row = 0; row < length; row++) {
    if (pace.isStep()) yield;
    if (isValid(validity, row)) {
      const offset = offsetAt(row);
      const size = sizeAt(row);
      if (!(offset >= 0 && size >= 0 && offset + size <= items.length)) {
        throw new InvalidInputError(
          `row ${row}: a list view of ${size} items at offset ${offset} is outside its ${items.length} items`,
        );
      }
      rowCount += size;
      if (rowCount > MAX_ITEMS) throw tooManyItems(MAX_ITEMS);
      if (size > 0) {
        isInOrder &&= rangeCount === 0 || ends[rangeCount - 1] === offset;
        starts[rangeCount] = offset;
        ends[rangeCount++] = offset + size;
      }
    }
    if (isNarrow) narrow[row + 1] = rowCount;
    else wide[row + 1] = BigInt(rowCount);
  }
  if (isInOrder) {
    const inOrder = sliceColumn(items, rangeCount === 0 ? 0 : starts[0], rowCount);
    return { kind: "list", length, validity, offsets, items: inOrder };
  }
  const ranges = { starts: starts.subarray(0, rangeCount), ends: ends.subarray(0, rangeCount), rowCount };
  // The caller also made the offsets inside the items, so they need the same check.
  yield* checkAllOffsets(items, "items of list views");
  const byteLength = yield* bytesOfRanges(items, ranges);
  if (byteLength > MAX_ITEM_BYTES) throw tooLargeIpc(byteLength, MAX_ITEM_BYTES);
  const waiting = bounds.take(byteLength);
  if (waiting !== undefined) yield waiting;
  return { kind: "list", length, validity, offsets, items: yield* takeRanges(items, ranges) };
}

function tooManyItems(most: number): InvalidInputError {
  return new InvalidInputError(`list views have more than ${most} items, the maximum of one batch`);
}

/** Returns a function that reads integers by index. It returns NaN after the end of the buffer. */
function integersOf(buffer: Uint8Array, bits: 32 | 64): (index: number) => number {
  const bytes = alignedBytes(buffer, bits / 8);
  if (bits === 32) {
    const integers = new Int32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4));
    return (index) => (index < integers.length ? integers[index] : Number.NaN);
  }
  const words = wordsOf(new BigInt64Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 8)));
  return (index) =>
    index * 2 < words.length ? words[index * 2] + (words[index * 2 + 1] | 0) * 0x1_0000_0000 : Number.NaN;
}
