/**
 * Converts Arrow's view types, which Lance does not have, to the types of a table: Utf8View to utf8,
 * BinaryView to binary. Any `Data` may hold them, at any depth. `listViews.ts` converts list views.
 *
 *     view     i32 length; up to 12 bytes: the value, padded with zeros
 *                          more bytes: its first 4 bytes, i32 index of a buffer, i32 offset in it
 *
 * Many views may point to the same bytes, so a short message can hold very long values.
 */

import { Type } from "apache-arrow";
import type { Steps } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { InvalidInputError } from "../../errors.js";
import { isValid } from "../columns/validity.js";
import { bytesOrNone, changedData, type ForeignData, fixedBytes, validityOf } from "./data.js";
import { tooLargeIpc } from "./malformedIpc.js";
import type { ViewBounds } from "./viewBounds.js";

const VIEW_BYTES = 16;
const MAX_INLINE_BYTES = 12;
/** Maximum bytes of a column's values in one batch: their offsets have 32 bits. */
const MAX_VALUE_BYTES = 2 ** 31 - 1;
/** Values of at least this length are copied by a call, shorter ones byte by byte. */
const LONG_VALUE_BYTES = 48;
/** Bytes copied, or views checked, per step. */
const STEP = 2 ** 18;
/** Dictionaries converted from views, by their vector. Batches share them. */
export type PlainDictionaries = WeakMap<object, { readonly data: readonly ForeignData[] }>;

/**
 * Returns the `Data` with values in place of views, as utf8 and binary; unchanged if it has no views.
 * @throws InvalidInputError for views that point outside their buffers, or to more bytes than one batch may
 *   have
 */
export function* withoutViews(
  data: ForeignData,
  bounds: ViewBounds,
  dictionaries: PlainDictionaries,
): Steps<ForeignData> {
  if (isView(data)) return yield* valuesOfViews(data, bounds);
  const { children, dictionary } = data;
  let isPlain = true;
  const plainChildren: ForeignData[] = [];
  for (const child of children ?? []) {
    // apache-arrow omits the children of empty nested columns.
    const plain =
      child === undefined || child === null ? child : yield* withoutViews(child, bounds, dictionaries);
    isPlain &&= plain === child;
    plainChildren.push(plain);
  }
  let plainDictionary = dictionary;
  if (dictionary?.data.some(isView)) {
    plainDictionary = dictionaries.get(dictionary);
    if (plainDictionary === undefined) {
      const parts: ForeignData[] = [];
      for (const part of dictionary.data) parts.push(yield* withoutViews(part, bounds, dictionaries));
      plainDictionary = { data: parts };
      dictionaries.set(dictionary, plainDictionary);
    }
    isPlain = false;
  }
  return isPlain ? data : changedData(data, { children: plainChildren, dictionary: plainDictionary });
}

const isView = ({ type }: ForeignData): boolean =>
  type?.typeId === Type.Utf8View || type?.typeId === Type.BinaryView;

function* valuesOfViews(data: ForeignData, bounds: ViewBounds): Steps<ForeignData> {
  const { length } = data;
  // Such a `Data` has no values to convert, or its column fails later.
  if (!Number.isSafeInteger(length) || length <= 0) return data;
  const validity = validityOf(data);
  const bytes = alignedBytes(fixedBytes(data, length, VIEW_BYTES, validity), 4);
  const views = new Int32Array(bytes.buffer, bytes.byteOffset, length * 4);
  const buffers = Array.from(data.variadicBuffers ?? [], bytesOrNone);
  const offsets = new Int32Array(length + 1);
  let total = 0;
  for (let row = 0; row < length; row++) {
    if (row % STEP === STEP - 1) yield;
    if (isValid(validity, row)) {
      const byteLength = views[row * 4];
      if (byteLength < 0) throw new InvalidInputError(`row ${row}: a view has ${byteLength} bytes`);
      if (byteLength > MAX_INLINE_BYTES) checkView(views, bytes, buffers, row);
      total += byteLength;
      if (total > MAX_VALUE_BYTES) throw tooLargeIpc(total, MAX_VALUE_BYTES);
    }
    offsets[row + 1] = total;
  }
  const waiting = bounds.take(total + offsets.byteLength);
  if (waiting !== undefined) yield waiting;
  const values = new Uint8Array(total);
  let left = STEP;
  for (let row = 0; row < length; row++) {
    let target = offsets[row];
    const end = offsets[row + 1];
    left -= 1 + end - target;
    if (left <= 0) {
      yield;
      left = STEP;
    }
    if (end === target) continue;
    const isInline = end - target <= MAX_INLINE_BYTES;
    const source = isInline ? bytes : buffers[views[row * 4 + 2]];
    let position = isInline ? row * VIEW_BYTES + 4 : views[row * 4 + 3];
    if (end - target > LONG_VALUE_BYTES) {
      values.set(source.subarray(position, position + end - target), target);
    } else {
      while (target < end) values[target++] = source[position++];
    }
  }
  return changedData(data, { values, valueOffsets: offsets });
}

/** Checks a view that points into a buffer: its range, and its first bytes against those in the buffer. */
function checkView(views: Int32Array, bytes: Uint8Array, buffers: readonly Uint8Array[], row: number): void {
  const byteLength = views[row * 4];
  const index = views[row * 4 + 2];
  const offset = views[row * 4 + 3];
  const buffer = buffers[index];
  if (buffer === undefined) {
    throw new InvalidInputError(`row ${row}: a view names buffer ${index} of ${buffers.length} buffers`);
  }
  if (offset < 0 || offset + byteLength > buffer.length) {
    throw new InvalidInputError(
      `row ${row}: a view of ${byteLength} bytes at offset ${offset} is outside its buffer of ${buffer.length} bytes`,
    );
  }
  const prefix = row * VIEW_BYTES + 4;
  for (let byte = 0; byte < 4; byte++) {
    if (bytes[prefix + byte] !== buffer[offset + byte]) {
      throw new InvalidInputError(`row ${row}: the prefix in a view differs from its value`);
    }
  }
}
