/**
 * Where blobs lie. A column of blobs keeps its values outside the pages, anywhere in the same file; its pages hold,
 * per value, 16 bytes:
 *
 *     0  u64  position in the file        8  u64  bytes
 *
 * A value of no bytes has position 0. Any other position of none is a null: 1 in version 2.0, its levels from 2.1
 * on (structural/blob.ts). In memory descriptors are a column of 16-byte values with a validity.
 */

import type { FixedColumn, FixedLayout, Validity } from "../arrow/column.js";
import { corruptPage, type PageOrigin } from "./page.js";

export const DESCRIPTOR_BYTES = 16;
/** What a leaf of blobs is as far as its pages go. */
export const DESCRIPTOR_LAYOUT: FixedLayout = { kind: "fixed", byteWidth: DESCRIPTOR_BYTES };

/** Descriptors of `count` values, all of them of no bytes. */
export const emptyDescriptors = (count: number): Uint8Array => new Uint8Array(count * DESCRIPTOR_BYTES);

export function setDescriptor(
  descriptors: Uint8Array,
  index: number,
  position: number,
  byteCount: number,
): void {
  const view = new DataView(descriptors.buffer, descriptors.byteOffset + index * DESCRIPTOR_BYTES);
  view.setUint32(0, position % 2 ** 32, true);
  view.setUint32(4, Math.floor(position / 2 ** 32), true);
  view.setUint32(8, byteCount % 2 ** 32, true);
  view.setUint32(12, Math.floor(byteCount / 2 ** 32), true);
}

/** Where a value lies; null for a null. @throws CorruptFileError for a number that no file is as long as */
export function descriptorAt(
  { values, validity }: FixedColumn,
  index: number,
  path: string,
): { readonly byteOffset: number; readonly length: number } | null {
  if (validity !== null && !isValid(validity, index)) return null;
  const view = new DataView(values.buffer, values.byteOffset + index * DESCRIPTOR_BYTES, DESCRIPTOR_BYTES);
  const byteOffset = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  const length = view.getUint32(8, true) + view.getUint32(12, true) * 2 ** 32;
  if (!Number.isSafeInteger(byteOffset + length)) {
    throw corruptPage({ path, byteOffset: 0 }, `a blob of ${length} bytes at ${byteOffset}`);
  }
  return { byteOffset, length };
}

function isValid({ bytes, bitOffset }: Validity, index: number): boolean {
  const bit = bitOffset + index;
  return ((bytes[bit >>> 3] >>> (bit & 7)) & 1) === 1;
}

/**
 * For each descriptor of no bytes what its position says, 0 for all others.
 * @throws CorruptFileError for a position that does not fit 32 bits
 */
export function marksOf(values: Uint8Array, count: number, origin: PageOrigin): Uint32Array {
  const view = new DataView(values.buffer, values.byteOffset, count * DESCRIPTOR_BYTES);
  const marks = new Uint32Array(count);
  for (let index = 0, at = 0; index < count; index++, at += DESCRIPTOR_BYTES) {
    if (view.getUint32(at + 8, true) !== 0 || view.getUint32(at + 12, true) !== 0) continue;
    if (view.getUint32(at + 4, true) !== 0) throw corruptPage(origin, "a blob of no bytes with a position");
    marks[index] = view.getUint32(at, true);
  }
  return marks;
}
