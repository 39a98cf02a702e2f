/**
 * Decoding of one page of a leaf column of a 2.0 data file: a tree of arrays over the page's buffers.
 *
 *     nullable     noNulls: an array; someNulls: a validity bitmap (an array of bits, 1 = valid) and an
 *                  array; allNulls: nothing
 *     leaves       fixedWidth.ts, binary.ts, dictionary.ts
 *     fixedSizeList  `dimension` items to a value, an array of their own
 *     packedStruct   the members of a row side by side (../compression/packedStruct.ts), none of them null
 *     struct         nothing: structs without members
 *
 * Everything in a page is checked before use, as in later versions. The page and `rowCount` bound memory.
 */

import type {
  Column,
  FixedSizeListColumn,
  Layout,
  PackedStructColumn,
  PackedStructLayout,
} from "../../arrow/columns/column.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { bothValid, validityFrom } from "../../arrow/columns/validity.js";
import type { ArrayEncoding, PackedStruct } from "../../format/encodings20.js";
import { memberBytes, splitRows } from "../compression/packedStruct.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import { decodeVariable } from "./binary.js";
import { decodeDescriptors } from "./blobs.js";
import { decodeDictionaryColumn, decodeIndexedValues } from "./dictionary.js";
import { arrayName, decodeFixedWidth, plainRowBytes } from "./fixedWidth.js";
import { bufferAt, type PageBuffers } from "./pageBuffers.js";

/**
 * Decodes a page of a leaf. The column may be a view over `buffers`, which must not be changed afterwards.
 * @param rowCount number of values of the page; sizes the result
 * @throws CorruptFileError if the buffers contradict `encoding`
 * @throws UnsupportedError for an encoding that is not supported
 */
export function decodeArrayPage(
  layout: Layout,
  encoding: ArrayEncoding,
  rowCount: number,
  buffers: readonly Uint8Array[],
  origin: PageOrigin,
): Column {
  return decodeArray(layout, encoding, rowCount, { buffers, origin });
}

function decodeArray(
  layout: Layout,
  encoding: ArrayEncoding | undefined,
  count: number,
  page: PageBuffers,
): Column {
  if (encoding === undefined) throw corruptPage(page.origin, "missing array");
  if (layout.kind === "struct") {
    // A spine: each member of a struct has a column of its own, and only one of them is decoded here.
    const child = decodeArray(layout.children[0].layout, encoding, count, page);
    return { kind: "struct", length: count, validity: null, children: [child] };
  }
  const { nullable } = encoding;
  if (nullable === undefined) return decodeValues(layout, encoding, count, page);
  if (nullable.allNulls !== undefined) return nullColumn(layout, count);
  const { someNulls } = nullable;
  const values = someNulls === undefined ? nullable.noNulls?.values : someNulls.values;
  if (values === undefined) throw corruptPage(page.origin, "nullable array without values");
  if (values.nullable !== undefined) throw unsupportedPage(page.origin, "a nullable array in another");
  const column = decodeValues(layout, values, count, page);
  if (someNulls === undefined) return column;
  const bits = decodeFixedWidth(someNulls.validity, 1, count, page);
  return { ...column, validity: bothValid(validityFrom(bits, 0, count), column.validity, count) };
}

function decodeValues(layout: Layout, encoding: ArrayEncoding, count: number, page: PageBuffers): Column {
  const { dictionary } = encoding;
  switch (layout.kind) {
    case "dictionary":
      if (dictionary !== undefined) {
        return decodeDictionaryColumn(layout, dictionary, count, page, decodeArray);
      }
      break;
    case "variable":
      if (dictionary !== undefined) return decodeIndexedValues(layout, dictionary, count, page, decodeItems);
      return decodeVariable(layout, encoding, count, page);
    case "fixed": {
      if (dictionary !== undefined) return decodeIndexedValues(layout, dictionary, count, page, decodeItems);
      if (encoding.packedStruct !== undefined) {
        return decodeDescriptors(layout, encoding.packedStruct, count, page);
      }
      const { byteWidth } = layout;
      const values = decodeFixedWidth(encoding, byteWidth * 8, count, page);
      return { kind: "fixed", byteWidth, length: count, validity: null, values };
    }
    case "bits": {
      const bits = decodeFixedWidth(encoding, 1, count, page);
      return { kind: "bits", length: count, validity: null, bits, bitOffset: 0 };
    }
    case "fixedSizeList": {
      const { dimension, item } = layout;
      const list = encoding.fixedSizeList;
      if (list === undefined) break;
      if (list.dimension !== dimension) {
        throw corruptPage(
          page.origin,
          `lists of ${list.dimension} items in a column of lists of ${dimension}`,
        );
      }
      const items = decodeArray(item, list.items, count * dimension, page) as FixedSizeListColumn["items"];
      return { kind: "fixedSizeList", length: count, validity: null, dimension, items };
    }
    case "packedStruct":
      if (layout.children.length === 0 && encoding.struct !== undefined)
        return { kind: "packedStruct", length: count, validity: null, children: [] };
      if (encoding.packedStruct !== undefined)
        return decodePacked(layout, encoding.packedStruct, count, page);
      break;
    case "null":
    case "list":
    case "sizedList":
    case "struct":
      break;
  }
  throw unsupportedPage(page.origin, `${arrayName(encoding)} for a column of layout ${layout.kind}`);
}

/** Decodes rows of members side by side in one buffer, each described as if it had the buffer to itself. */
function decodePacked(
  layout: PackedStructLayout,
  { inner, buffer }: PackedStruct,
  count: number,
  page: PageBuffers,
): PackedStructColumn {
  const { children: members } = layout;
  const fits = members.every((member, index) => {
    const bytes = index < inner.length ? plainRowBytes(inner[index]) : null;
    return bytes !== null && bytes === memberBytes(member.layout);
  });
  if (!fits || inner.length !== members.length) {
    throw corruptPage(
      page.origin,
      `packed structs of ${inner.length} members, which the column does not have`,
    );
  }
  const rowBytes = members.reduce((sum, member) => sum + (memberBytes(member.layout) ?? 0), 0);
  const rows = bufferAt(page, buffer);
  if (rows.length < count * rowBytes) {
    throw corruptPage(page.origin, `${count} packed structs of ${rowBytes} bytes in ${rows.length}`);
  }
  return splitRows(layout, rows, count);
}

/** Decodes the items of an optimisation dictionary, which cannot be in a dictionary themselves. */
function decodeItems(
  layout: Layout,
  encoding: ArrayEncoding | undefined,
  count: number,
  page: PageBuffers,
): Column {
  const inner = encoding?.nullable?.noNulls?.values ?? encoding?.nullable?.someNulls?.values ?? encoding;
  if (inner?.dictionary !== undefined) throw unsupportedPage(page.origin, "a dictionary of a dictionary");
  return decodeArray(layout, encoding, count, page);
}
