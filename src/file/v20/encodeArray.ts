/**
 * Encodes the rows of a leaf column as a page of a 2.0 data file, in the forms that the reference writes
 * itself:
 *
 *     fixed width, bits    nullable(flat)
 *     fixed-size lists     nullable(fixedSizeList(nullable(flat)))
 *     strings, binaries    binary; text of few distinct values as a dictionary of u8 indices; LZ4, ZSTD or
 *                          FSST if the column's metadata asks for it
 *     dictionary-typed     dictionary; null rows point at a null item after the others
 *     packed structs       packedStruct(nullable(flat)…) over one buffer; struct, with none, if they have no
 *                          members
 *     nothing but nulls    nullable(allNulls), for strings and binaries as `binary` with no bytes
 *
 * Slots of null rows are written as zeros or empty values. Equal rows then make equal pages, and no data gets
 * to disk that readers cannot see.
 */

import type {
  BitsColumn,
  Column,
  DictionaryColumn,
  FixedColumn,
  FixedSizeListColumn,
  FixedSizeListLayout,
  Layout,
  PackedMember,
  PackedStructColumn,
  PackedStructLayout,
  VariableColumn,
  VariableLayout,
} from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { runSync } from "../../async/eventLoop.js";
import { InternalError, InvalidInputError, UnsupportedError } from "../../errors.js";
import type { ArrayEncoding, BufferReference } from "../../format/encodings20.js";
import type { arrayCompression } from "../compression/compressionOptions.js";
import { compressor } from "../compression/compressors.js";
import { largestIndex } from "../compression/dictionaryIndices.js";
import { valuesOfColumns } from "../compression/fixed.js";
import { encodeFsst } from "../compression/fsstEncoder.js";
import { joinRows } from "../compression/packedStruct.js";
import { plainValues } from "../compression/plainValues.js";
import type { EncodedPage } from "../container/page.js";
import { findDictionary } from "../structural/findDictionary.js";
import { sliceBits, slotLevels } from "../structural/slots.js";
import { encodeBinary } from "./binary.js";
import { MAXIMUM_BYTE_ITEMS } from "./dictionary.js";
import { encodeFlatArray, noNulls } from "./fixedWidth.js";
import { PageBufferList } from "./pageBuffers.js";

const ALL_NULLS: ArrayEncoding = { nullable: { allNulls: {} } };

type ArrayCompression = ReturnType<typeof arrayCompression>;
const NO_COMPRESSION: ArrayCompression = { compression: null, level: null };

/**
 * Encodes `rowCount` rows of a leaf, which come in one or more columns of the given layout.
 * @throws UnsupportedError for values that no page can hold
 */
export function encodeArrayPage(
  layout: Layout,
  columns: readonly Column[],
  rowCount: number,
  compression: ArrayCompression = NO_COMPRESSION,
): EncodedPage {
  const page = new PageBufferList();
  const array = encodeArray(layout, columns, rowCount, page, compression);
  return { encoding: { array }, buffers: page.buffers, rowCount };
}

function encodeArray(
  layout: Layout,
  columns: readonly Column[],
  rowCount: number,
  page: PageBufferList,
  compression: ArrayCompression,
): ArrayEncoding {
  // The reference reads packed structs only in their own encoding, even where there are no rows.
  if (layout.kind === "null" || (rowCount === 0 && layout.kind !== "packedStruct")) return ALL_NULLS;
  let nullCount = 0;
  for (const { validity } of columns) nullCount += validity?.nullCount ?? 0;
  if (rowCount > 0 && nullCount === rowCount && layout.kind !== "variable" && layout.kind !== "dictionary")
    return ALL_NULLS;
  if (layout.kind === "fixed" && nullCount === 0) {
    return noNulls(
      encodeFlatArray(layout.byteWidth * 8, valuesOfColumns(columns as readonly FixedColumn[]), page),
    );
  }
  const column = concatColumns(columns);
  switch (column.kind) {
    case "fixed":
    case "bits":
    case "fixedSizeList":
      return encodeFixedShape(column, null, page);
    case "variable":
      return encodeVariable(layout as VariableLayout, column, page, compression);
    case "dictionary":
      return encodeDictionaryColumn(column, page);
    case "packedStruct":
      if (column.children.length === 0) return { struct: {} };
      return encodePacked(layout as PackedStructLayout, column, page);
    case "null":
    case "list":
    case "sizedList":
    case "struct":
      throw new InternalError(`a leaf of layout ${layout.kind} got a column of kind ${column.kind}`);
  }
}

// ------------------------------------------------------------------------- fixed width, fixed-size lists

type FixedShape = FixedColumn | BitsColumn | FixedSizeListColumn;

/** @param hidden for each value, 1 if it lies in a null list and is written as zero; null if none does */
function encodeFixedShape(
  column: FixedShape,
  hidden: Uint16Array | null,
  page: PageBufferList,
): ArrayEncoding {
  const { length, validity } = column;
  const unseen = eitherFlag(slotLevels(column), hidden);
  // The validity comes before the values among the buffers.
  const validityArray =
    validity === null
      ? null
      : encodeFlatArray(1, [sliceBits(validity.bytes, validity.bitOffset, length)], page);
  const values = encodeShapeValues(column, unseen, page);
  return validityArray === null
    ? noNulls(values)
    : { nullable: { someNulls: { validity: validityArray, values } } };
}

function eitherFlag(left: Uint16Array | null, right: Uint16Array | null): Uint16Array | null {
  if (left === null || right === null) return left ?? right;
  const flags = left.slice();
  for (let index = 0; index < flags.length; index++) flags[index] |= right[index];
  return flags;
}

function encodeShapeValues(
  column: FixedShape,
  unseen: Uint16Array | null,
  page: PageBufferList,
): ArrayEncoding {
  const { length } = column;
  switch (column.kind) {
    case "fixed": {
      const { byteWidth } = column;
      const exact = column.values.subarray(0, length * byteWidth);
      const values = unseen === null ? exact : cleared(exact, byteWidth, unseen);
      return encodeFlatArray(byteWidth * 8, [values], page);
    }
    case "bits": {
      const bits = sliceBits(column.bits, column.bitOffset, length);
      if (unseen !== null) {
        for (let index = 0; index < length; index++) bits[index >>> 3] &= ~(unseen[index] << (index & 7));
      }
      return encodeFlatArray(1, [bits], page);
    }
    case "fixedSizeList": {
      const { dimension, items } = column;
      const hiddenItems = unseen === null ? null : repeated(unseen, dimension);
      const encoded = encodeFixedShape(items, hiddenItems, page);
      return { fixedSizeList: { dimension, items: encoded, hasValidity: false } };
    }
  }
}

/** A copy with zeros in the flagged slots. */
function cleared(values: Uint8Array, byteWidth: number, flags: Uint16Array): Uint8Array {
  const copy = values.slice();
  for (let index = flags.indexOf(1); index >= 0; index = flags.indexOf(1, index + 1)) {
    copy.fill(0, index * byteWidth, (index + 1) * byteWidth);
  }
  return copy;
}

function repeated(flags: Uint16Array, times: number): Uint16Array {
  const out = new Uint16Array(flags.length * times);
  for (let index = 0; index < flags.length; index++) {
    if (flags[index] === 1) out.fill(1, index * times, (index + 1) * times);
  }
  return out;
}

// ----------------------------------------------------------------------------------------- packed structs

function encodePacked(
  layout: PackedStructLayout,
  column: PackedStructColumn,
  page: PageBufferList,
): ArrayEncoding {
  const buffer = page.add(joinRows(layout, column));
  return {
    packedStruct: { inner: layout.children.map((member) => describeMember(member.layout, buffer)), buffer },
  };
}

function describeMember(
  layout: FixedSizeListLayout["item"] | PackedMember["layout"],
  buffer: BufferReference,
): ArrayEncoding {
  switch (layout.kind) {
    case "fixed":
      return noNulls({ flat: { bitsPerValue: layout.byteWidth * 8, buffer, compression: undefined } });
    case "fixedSizeList": {
      const { dimension, item } = layout;
      const items = describeMember(item, buffer);
      return noNulls({ fixedSizeList: { dimension, items, hasValidity: false } });
    }
    case "bits":
    case "variable":
      throw new InternalError(`a packed struct of version 2.0 cannot have a member of layout ${layout.kind}`);
  }
}

// ------------------------------------------------------------------------------------ strings, binaries

function encodeVariable(
  layout: VariableLayout,
  column: VariableColumn,
  page: PageBufferList,
  { compression, level }: ArrayCompression,
): ArrayEncoding {
  const isNull = slotLevels(column);
  const { offsets, bytes } = plainValues(column, isNull);
  // The reference reads such dictionaries only for text with 32-bit offsets, and only with at least one item.
  if (layout.text && layout.offsetBits === 32) {
    const dictionary = runSync(findDictionary(offsets, bytes, isNull));
    const itemCount = dictionary === null ? 0 : dictionary.offsets.length - 1;
    if (dictionary !== null && itemCount > 0 && itemCount <= MAXIMUM_BYTE_ITEMS) {
      const indices = new Uint8Array(dictionary.indices.length);
      for (let row = 0; row < indices.length; row++) {
        if (isNull === null || isNull[row] === 0) indices[row] = dictionary.indices[row] + 1;
      }
      return {
        dictionary: {
          indices: noNulls(encodeFlatArray(8, [indices], page)),
          items: encodeBinary(dictionary.offsets, dictionary.bytes, null, page),
          itemCount,
        },
      };
    }
  }
  // The reference reads FSST codes with 32-bit offsets only.
  const codes = compression === "fsst" && layout.offsetBits === 32 ? encodeFsst(offsets, bytes, true) : null;
  if (codes !== null) {
    const { symbolTable } = codes;
    return { fsst: { binary: encodeBinary(codes.offsets, codes.bytes, isNull, page), symbolTable } };
  }
  const general = compression === "lz4" || compression === "zstd" ? compressor(compression, level) : null;
  return encodeBinary(offsets, bytes, isNull, page, general);
}

// --------------------------------------------------------------------------------------- dictionary-typed

function encodeDictionaryColumn(column: DictionaryColumn, page: PageBufferList): ArrayEncoding {
  const { length, indices, dictionary } = column;
  const { byteWidth } = indices;
  const isNull = slotLevels(column);
  let items: VariableColumn | FixedColumn = dictionary;
  let values = indices.values.subarray(0, length * byteWidth);
  if (isNull !== null) {
    const nullItem = nullItemOf(dictionary);
    if (nullItem === dictionary.length) items = withNullItem(dictionary);
    if (nullItem >= 2 ** (8 * byteWidth)) {
      throw new UnsupportedError(
        `a dictionary of ${dictionary.length} values uses all indices of ${byteWidth} bytes, and none is left for null`,
      );
    }
    values = values.slice();
    for (let row = isNull.indexOf(1); row >= 0; row = isNull.indexOf(1, row + 1)) {
      for (let byte = 0; byte < byteWidth; byte++) {
        values[row * byteWidth + byte] = byte < 4 ? (nullItem >>> (8 * byte)) & 0xff : 0;
      }
    }
  }
  const largest = largestIndex(values, byteWidth);
  if (largest >= items.length) {
    throw new InvalidInputError(`index ${largest} is outside a dictionary of ${dictionary.length} values`);
  }
  return {
    dictionary: {
      indices: noNulls(encodeFlatArray(8 * byteWidth, [values], page)),
      items: encodeItems(items, page),
      itemCount: items.length,
    },
  };
}

function encodeItems(items: VariableColumn | FixedColumn, page: PageBufferList): ArrayEncoding {
  if (items.kind === "fixed") return encodeFixedShape(items, null, page);
  const isNull = slotLevels(items);
  const { offsets, bytes } = plainValues(items, isNull);
  return encodeBinary(offsets, bytes, isNull, page);
}

/** Index of an item that is null, or one past the last item. */
function nullItemOf(dictionary: VariableColumn | FixedColumn): number {
  const index = slotLevels(dictionary)?.indexOf(1) ?? -1;
  return index < 0 ? dictionary.length : index;
}

function withNullItem(dictionary: VariableColumn | FixedColumn): VariableColumn | FixedColumn {
  const validity = { bytes: new Uint8Array(1), bitOffset: 0, nullCount: 1 };
  if (dictionary.kind === "fixed") {
    const { byteWidth } = dictionary;
    const nullItem = { ...dictionary, length: 1, validity, values: new Uint8Array(byteWidth) };
    return concatColumns<FixedColumn>([dictionary, nullItem]);
  }
  const offsets = areNarrow(dictionary.offsets) ? new Int32Array(2) : new BigInt64Array(2);
  const nullItem = { ...dictionary, length: 1, validity, offsets, bytes: new Uint8Array(0) };
  return concatColumns<VariableColumn>([dictionary, nullItem]);
}
