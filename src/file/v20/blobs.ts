/**
 * Blobs of 2.0: a packed struct of two 64-bit numbers per value, position and size
 * (../blobs/blobDescriptors.ts). A null has position 1; nothing else marks nulls.
 */

import type { Column, FixedColumn, FixedLayout, Layout } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { InternalError } from "../../errors.js";
import type { ArrayEncoding, PackedStruct } from "../../format/encodings20.js";
import { marksOf, setDescriptor } from "../blobs/blobDescriptors.js";
import { DESCRIPTOR_BYTES } from "../blobs/descriptorLayouts.js";
import { corruptPage, type EncodedPage, unsupportedPage } from "../container/page.js";
import { descriptorBytes, noNulls } from "./fixedWidth.js";
import { bufferAt, PageBufferList, type PageBuffers } from "./pageBuffers.js";

const NULL_POSITION = 1;

export function decodeDescriptors(
  { byteWidth }: FixedLayout,
  packed: PackedStruct,
  count: number,
  page: PageBuffers,
): FixedColumn {
  const { origin } = page;
  if (byteWidth !== DESCRIPTOR_BYTES || descriptorBytes(packed) === null) {
    throw unsupportedPage(origin, `a packed struct for values of ${byteWidth} bytes`);
  }
  const buffer = bufferAt(page, packed.buffer);
  if (buffer.length < count * DESCRIPTOR_BYTES) {
    throw corruptPage(origin, `${count} descriptors of blobs in ${buffer.length} bytes`);
  }
  const values = buffer.subarray(0, count * DESCRIPTOR_BYTES);
  const marks = marksOf(values, count, origin);
  const bits = new Uint8Array(Math.ceil(count / 8));
  for (let index = 0; index < count; index++) {
    if (marks[index] !== NULL_POSITION) bits[index >>> 3] |= 1 << (index & 7);
  }
  return { kind: "fixed", byteWidth, length: count, validity: validityFrom(bits, 0, count), values };
}

export function encodeDescriptorPage(
  layout: Layout,
  columns: readonly Column[],
  rowCount: number,
): EncodedPage {
  const column = concatColumns(columns);
  if (column.kind !== "fixed")
    throw new InternalError(`descriptors of blobs have the unknown layout ${layout.kind}`);
  const descriptors = column.values.slice(0, rowCount * DESCRIPTOR_BYTES);
  for (let row = 0; row < rowCount; row++) {
    if (!isValid(column.validity, row)) setDescriptor(descriptors, row, NULL_POSITION, 0);
  }
  const page = new PageBufferList();
  const buffer = page.add(descriptors);
  const word: ArrayEncoding = noNulls({ flat: { bitsPerValue: 64, buffer, compression: undefined } });
  const packedStruct: PackedStruct = { inner: [word, word], buffer };
  return { encoding: { array: { packedStruct } }, buffers: page.buffers, rowCount };
}
