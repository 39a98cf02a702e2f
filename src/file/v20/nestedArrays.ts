/**
 * Lists and structs of 2.0 files. Every node of a schema has a column of its own there:
 *
 *     list      one page value per list: its end among the items (endOffsets.ts); `itemCount` is the number
 *               of items of the lists of a page. The items are the values of the next column, page after
 *               page: those of a page of lists begin where the ones of the page before end
 *     struct    nothing but its length; the members are columns of the same length. A struct is never null
 *
 *     text      in files of Lance before 0.14: as a list of bytes. The next column, which no field names, has
 *               the bytes
 *
 *     list<struct<a>>   [{a: 1}, {a: 2}], null, [], [{a: 3}]
 *                       list 2, 6, 2, 3 (adjustment 4)    struct, 3 values    a 1, 2, 3
 *
 * The column of a leaf is read together with those of the lists around it: {@link NestedArrays} are the pages
 * of all of them that make up some rows. Page boundaries differ from column to column.
 */

import type {
  Column,
  Layout,
  LeafLayout,
  ListColumn,
  ListLayout,
  VariableLayout,
} from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { isNested } from "../../arrow/columns/spine.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { TableSchemaValidationError, UnsupportedError } from "../../errors.js";
import type { ArrayEncoding } from "../../format/encodings20.js";
import { arrayCompression } from "../compression/compressionOptions.js";
import { refuseNullItems, refuseNullMembers } from "../compression/packedStruct.js";
import { widenOffsets } from "../compression/variable.js";
import {
  corruptPage,
  type EncodedPage,
  type FileColumn,
  type NestedArrays,
  type PageOrigin,
  unsupportedPage,
} from "../container/page.js";
import { slotLevels } from "../structural/slots.js";
import { decodeArrayPage } from "./decodeArray.js";
import { encodeArrayPage } from "./encodeArray.js";
import { decodeEnds, encodeEnds } from "./endOffsets.js";
import { decodeFixedWidth, encodeFlatArray, noNulls } from "./fixedWidth.js";
import { PageBufferList } from "./pageBuffers.js";

// ------------------------------------------------------------------------------------------------ decode

/**
 * Decodes the pages of a leaf and of the lists around it.
 * @param layout a spine: one leaf and the nodes around it
 * @param buffers those of all pages, outermost lists first
 */
export function decodeNestedArrays(
  layout: Layout,
  arrays: NestedArrays,
  buffers: readonly Uint8Array[],
  origin: PageOrigin,
): Column {
  return new NestedDecoder(buffers, origin).decode(layout, arrays);
}

const BYTE: LeafLayout = { kind: "fixed", byteWidth: 1 };

class NestedDecoder {
  #nextBuffer = 0;

  constructor(
    private readonly buffers: readonly Uint8Array[],
    private readonly origin: PageOrigin,
  ) {}

  decode(layout: Layout, arrays: NestedArrays): Column {
    if (layout.kind === "struct") {
      const child = this.decode(layout.children[0].layout, arrays);
      return { kind: "struct", length: child.length, validity: null, children: [child] };
    }
    if (layout.kind === "sizedList") throw unsupportedPage(this.origin, "fixed-size lists of structs");
    const column = this.#values(layout, arrays);
    const { skip, count } = arrays;
    return column.length === count ? column : sliceColumn(column, skip, count);
  }

  #values(layout: ListLayout | LeafLayout, arrays: NestedArrays): Column {
    if (layout.kind === "list") return this.#lists(layout, arrays);
    if (layout.kind === "variable" && arrays.items !== null) return this.#texts(layout, arrays);
    return this.#leaf(layout, arrays);
  }

  #texts({ offsetBits }: VariableLayout, arrays: NestedArrays): Column {
    const bytes: ListLayout = { kind: "list", isMap: false, offsetBits, item: BYTE, itemNullable: false };
    const lists = this.#lists(bytes, arrays);
    if (lists.kind !== "list" || lists.items.kind !== "fixed") {
      throw corruptPage(this.origin, "texts without bytes");
    }
    const { length, validity, offsets, items } = lists;
    return { kind: "variable", length, validity, offsets, bytes: items.values };
  }

  #pageBuffers(count: number): readonly Uint8Array[] {
    const start = this.#nextBuffer;
    this.#nextBuffer += count;
    return this.buffers.slice(start, this.#nextBuffer);
  }

  #leaf(layout: LeafLayout, { pages }: NestedArrays): Column {
    if (pages.length === 0) return nullColumn(layout, 0);
    return concatColumns(
      pages.map(({ encoding, valueCount, bufferCount }) =>
        decodeArrayPage(layout, encoding, valueCount, this.#pageBuffers(bufferCount), this.origin),
      ),
    );
  }

  #lists(layout: ListLayout, { pages, items: itemArrays }: NestedArrays): Column {
    if (pages.length === 0 || itemArrays === null) return nullColumn(layout, 0);
    const { origin } = this;
    const parts = pages.map(({ encoding, valueCount, bufferCount }) => {
      const { offsets: endsEncoding, nullOffsetAdjustment, itemCount } = listOf(encoding, origin);
      const page = { buffers: this.#pageBuffers(bufferCount), origin };
      const ends = decodeFixedWidth(endsEncoding, 64, valueCount, page);
      const decoded = decodeEnds(ends, valueCount, nullOffsetAdjustment, itemCount, origin);
      if (decoded.offsets[valueCount] !== itemCount) {
        throw corruptPage(origin, `lists of ${decoded.offsets[valueCount]} items, not ${itemCount}`);
      }
      return { ...decoded, valueCount, itemCount };
    });
    const items = this.decode(layout.item, itemArrays);
    let firstItem = 0;
    const lists = parts.map(({ offsets, validity, valueCount, itemCount }): ListColumn => {
      const whole = firstItem === 0 && itemCount === items.length;
      const part = whole ? items : sliceColumn(items, firstItem, itemCount);
      firstItem += itemCount;
      return {
        kind: "list",
        length: valueCount,
        validity,
        offsets: layout.offsetBits === 32 ? offsets : widenOffsets(offsets),
        items: part,
      };
    });
    return concatColumns(lists);
  }
}

/** @throws CorruptFileError for an array other than one of lists */
export function listOf(encoding: ArrayEncoding | undefined, origin: PageOrigin) {
  if (encoding?.list === undefined) throw corruptPage(origin, "no lists in a column of lists");
  return encoding.list;
}

// ------------------------------------------------------------------------------------------------ encode

/**
 * Encodes the values that `rowCount` rows have in one column.
 * @param encodeLeaf makes a page of the values of a leaf
 * @throws UnsupportedError for null structs, which 2.0 cannot store, TableSchemaValidationError for nulls
 *   that the layout forbids
 */
export function encodeNestedPage(
  { layout, isHeader, path, metadata, nullable: topNullable }: FileColumn,
  columns: readonly Column[],
  rowCount: number,
  encodeLeaf = (leaf: Layout, values: readonly Column[], count: number) =>
    encodeArrayPage(leaf, values, count, arrayCompression(metadata)),
): EncodedPage {
  if (!isNested(layout) && layout.kind !== "packedStruct") return encodeLeaf(layout, columns, rowCount);
  let node: Layout = layout;
  let column: Column = concatColumns(columns);
  for (let nullable = topNullable; ; ) {
    if (node.kind === "list" && column.kind === "list") {
      if (isHeader === true && isLeaf(node.item)) return encodeLists(column);
      checkNulls(column, nullable, path);
      column = visibleItems(column);
      nullable = node.itemNullable;
      node = node.item;
    } else if (node.kind === "struct" && column.kind === "struct") {
      refuseNullStructs(column, path);
      const [child]: typeof node.children = node.children;
      if (isHeader === true && isLeaf(child.layout)) {
        return { encoding: { array: { struct: {} } }, buffers: [], rowCount: column.length };
      }
      column = column.children[0];
      nullable = child.nullable;
      node = child.layout;
    } else {
      if (node.kind === "packedStruct" && column.kind === "packedStruct") {
        refuseNullStructs(column, path);
        refuseNullMembers(node, column, path);
        refuseNullItems(node, column, path);
      }
      checkNulls(column, nullable, path);
      return encodeLeaf(node, [column], column.length);
    }
  }
}

function refuseNullStructs({ validity }: Column, path: string): void {
  if (validity === null) return;
  throw new UnsupportedError(
    `column ${path} holds null structs, which data format version 2.0 cannot store; use 2.1 or later`,
  );
}

const isLeaf = (layout: Layout): boolean => !isNested(layout);

function checkNulls(column: Column, nullable: boolean, path: string): void {
  const anyNull = column.validity !== null || (column.kind === "null" && column.length > 0);
  if (anyNull && !nullable) {
    throw new TableSchemaValidationError(`column ${path} is not nullable and the rows hold nulls`);
  }
}

function encodeLists(column: ListColumn): EncodedPage {
  const { length } = column;
  const page = new PageBufferList();
  const { offsets, isNull } = visibleOffsets(column);
  const itemCount = offsets[length];
  const nullOffsetAdjustment = itemCount + 1;
  const ends = encodeEnds(offsets, length, isNull, nullOffsetAdjustment);
  const list = { offsets: noNulls(encodeFlatArray(64, [ends], page)), nullOffsetAdjustment, itemCount };
  return { encoding: { array: { list } }, buffers: page.buffers, rowCount: length };
}

/** Ends of lists, counted from 0 with null lists empty, and the null lists. */
function visibleOffsets(column: ListColumn): {
  offsets: Int32Array;
  isNull: Uint16Array | null;
} {
  const { offsets, length } = column;
  const visible = new Int32Array(length + 1);
  const isNull = slotLevels(column);
  let start = Number(offsets[0]);
  let total = 0;
  for (let row = 0; row < length; row++) {
    const end = Number(offsets[row + 1]);
    if (isNull === null || isNull[row] === 0) total += end - start;
    visible[row + 1] = total;
    start = end;
  }
  return { offsets: visible, isNull };
}

/** Takes the items of all lists but the null ones. */
function visibleItems(column: ListColumn): Column {
  const { offsets, length, items } = column;
  const first = Number(offsets[0]);
  const span = Number(offsets[length]) - first;
  const { offsets: visible, isNull } = visibleOffsets(column);
  if (isNull === null || visible[length] === span) return sliceColumn(items, first, span);
  const positions = new Uint32Array(visible[length]);
  for (let row = 0, write = 0; row < length; row++) {
    if (isNull[row] === 1) continue;
    for (let item = Number(offsets[row]), end = Number(offsets[row + 1]); item < end; item++) {
      positions[write++] = item;
    }
  }
  return takeColumn(items, positions);
}
