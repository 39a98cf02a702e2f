/**
 * Dictionaries of a 2.0 page: an array of indices and an array of items. There are two kinds:
 *
 *     dictionary-typed columns   index k is item k; a null row points at an item that is null
 *     any other column           index 0 is null, index k is item k − 1; the reference knows u8 indices only
 */

import type {
  Column,
  DictionaryColumn,
  DictionaryLayout,
  FixedColumn,
  Layout,
} from "../../arrow/columns/column.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import type { ArrayEncoding, Dictionary } from "../../format/encodings20.js";
import { type IndexNumbers, indexNumbers } from "../compression/dictionaryIndices.js";
import { corruptPage, unsupportedPage } from "../container/page.js";
import { gatherVariable } from "../structural/dictionary.js";
import { slotLevels } from "../structural/slots.js";
import { decodeFixedWidth, nonNullArray } from "./fixedWidth.js";
import type { PageBuffers } from "./pageBuffers.js";

type DecodeItems = (
  layout: Layout,
  encoding: ArrayEncoding | undefined,
  count: number,
  page: PageBuffers,
) => Column;

/** Maximum items of an optimisation dictionary: its indices are bytes, and 0 is null. */
export const MAXIMUM_BYTE_ITEMS = 255;

/** Decodes an optimisation dictionary to its values. */
export function decodeIndexedValues(
  layout: Layout,
  { indices: indexEncoding, items: itemEncoding, itemCount }: Dictionary,
  count: number,
  page: PageBuffers,
  decodeItems: DecodeItems,
): Column {
  checkItemCount(itemCount, page);
  const indices = decodeIndices(indexEncoding, indexBits(indexEncoding, page), count, page);
  const items = decodeItems(layout, itemEncoding, itemCount, page);
  /** 1 for each index that is a null. */
  const isNull = new Uint8Array(itemCount + 1);
  isNull[0] = 1;
  isNull.set(slotLevels(items) ?? [], 1);
  const numbers = new Uint32Array(count);
  const valid = new Uint8Array(Math.ceil(count / 8));
  for (let row = 0; row < count; row++) {
    const index = indices[row];
    if (index > itemCount) throw misplacedIndex(index, itemCount + 1, page);
    if (isNull[index] === 0) valid[row >>> 3] |= 1 << (row & 7);
    // Index 0, a null, becomes the largest number, which is not an item.
    numbers[row] = index - 1;
  }
  const validity = validityFrom(valid, 0, count);
  if (count === 0 || validity?.nullCount === count) return nullColumn(layout, count);
  if (items.kind === "variable") return { ...gatherVariable(numbers, items, page.origin), validity };
  if (items.kind !== "fixed") throw unsupportedPage(page.origin, `a dictionary of ${items.kind} values`);
  for (let row = 0; row < count; row++) if (indices[row] === 0) numbers[row] = 0;
  return { ...takeColumn(items, numbers), validity };
}

/** Decodes the dictionary of a dictionary-typed column, which keeps that form. */
export function decodeDictionaryColumn(
  layout: DictionaryLayout,
  { indices: indexEncoding, items: itemEncoding, itemCount }: Dictionary,
  count: number,
  page: PageBuffers,
  decodeItems: DecodeItems,
): DictionaryColumn {
  checkItemCount(itemCount, page);
  const { byteWidth } = layout.index;
  const values = decodeFixedWidth(indexEncoding, byteWidth * 8, count, page);
  const numbers = indexNumbers(values, byteWidth, count);
  let dictionary = decodeItems(layout.value, itemEncoding, itemCount, page) as DictionaryColumn["dictionary"];
  const { validity: itemValidity } = dictionary;
  const valid = new Uint8Array(Math.ceil(count / 8));
  for (let row = 0; row < count; row++) {
    const index = numbers[row];
    if (index >= itemCount) throw misplacedIndex(index, itemCount, page);
    if (isValid(itemValidity, index)) valid[row >>> 3] |= 1 << (row & 7);
  }
  if (itemValidity?.nullCount === 1 && !isValid(itemValidity, itemCount - 1)) {
    // The writer put this item after the others for null rows; it is not part of the dictionary.
    dictionary = sliceColumn(dictionary, 0, itemCount - 1);
  }
  const indices: FixedColumn = { kind: "fixed", byteWidth, length: count, validity: null, values };
  const validity = validityFrom(valid, 0, count);
  return { kind: "dictionary", length: count, validity, indices, dictionary };
}

function checkItemCount(itemCount: number, page: PageBuffers): void {
  const byteCount = page.buffers.reduce((sum, buffer) => sum + buffer.length, 0);
  // An item takes at least a bit in all encodings, except those that store one value for all items.
  if (itemCount > (byteCount + 64) * 8) {
    throw corruptPage(page.origin, `dictionary of ${itemCount} items in a page of ${byteCount} bytes`);
  }
}

const misplacedIndex = (index: number, size: number, page: PageBuffers) =>
  corruptPage(page.origin, `index ${index} into a dictionary of ${size} values`);

/** Width of the indices, which no type states. */
function indexBits(encoding: ArrayEncoding | undefined, page: PageBuffers): number {
  const { flat, bitpacked, bitpackedForNonNeg } = nonNullArray(encoding, page);
  const bits = flat?.bitsPerValue ?? (bitpacked ?? bitpackedForNonNeg)?.uncompressedBitsPerValue ?? 0;
  if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64) {
    throw unsupportedPage(page.origin, `dictionary indices of ${bits} bits`);
  }
  return bits;
}

const decodeIndices = (
  encoding: ArrayEncoding | undefined,
  bits: number,
  count: number,
  page: PageBuffers,
): IndexNumbers => indexNumbers(decodeFixedWidth(encoding, bits, count, page), bits / 8, count);
