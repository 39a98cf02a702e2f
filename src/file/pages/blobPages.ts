/**
 * Encodes pages of a blob column, and finds the values to store for them. Pages hold descriptors
 * (blobDescriptors.ts); the file version decides their layout.
 */

import type { Column, LeafColumn } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { InternalError } from "../../errors.js";
import { DESCRIPTOR_BYTES, setDescriptor } from "../blobs/blobDescriptors.js";
import type { EncodedPage, FileColumn, FileVersion } from "../container/page.js";
import { leafLevels } from "../events/levels.js";
import { shredColumn } from "../events/shredColumn.js";
import { encodeBlobPage, markOfLevel } from "../structural/blobEncoder.js";
import { slotLevels } from "../structural/slots.js";
import { encodeDescriptorPage } from "../v20/blobs.js";
import { encodeNestedPage } from "../v20/nestedArrays.js";

/**
 * Returns the leaf of a spine, and which of its values are neither null nor in a null list or struct.
 */
export function visibleLeaf(spine: Column): {
  readonly leaf: LeafColumn;
  isVisible(index: number): boolean;
} {
  let node = spine;
  let visible: Uint8Array | null = null;
  for (;;) {
    visible = hideNulls(visible, node);
    if (node.kind === "list") {
      visible = visibleItems(visible, node);
      node = node.items;
    } else if (node.kind === "struct") {
      node = node.children[0];
    } else {
      break;
    }
  }
  if (node.kind === "sizedList") throw new InternalError("lists of a fixed size cannot hold blobs");
  const flags = visible;
  return { leaf: node, isVisible: (index) => flags === null || flags[index] === 1 };
}

/** @returns for each value 1 if it is visible; null if all are */
function hideNulls(visible: Uint8Array | null, { validity, length }: Column): Uint8Array | null {
  if (validity === null) return visible;
  const flags = visible ?? new Uint8Array(length).fill(1);
  for (let index = 0; index < length; index++) {
    const bit = validity.bitOffset + index;
    flags[index] &= validity.bytes[bit >>> 3] >>> (bit & 7);
  }
  return flags;
}

function visibleItems(
  visible: Uint8Array | null,
  { offsets, items, length }: Extract<Column, { kind: "list" }>,
): Uint8Array {
  const flags = new Uint8Array(items.length);
  for (let list = 0; list < length; list++) {
    if (visible !== null && visible[list] === 0) continue;
    flags.fill(1, Number(offsets[list]), Number(offsets[list + 1]));
  }
  return flags;
}

/**
 * Encodes a page of a column whose leaf holds descriptors.
 * @param columns the rows of the page; the descriptors of nulls describe empty values
 */
export function encodeBlobs(
  column: FileColumn,
  columns: readonly Column[],
  rowCount: number,
  version: FileVersion,
): EncodedPage {
  if (version === "2.0") return encodeNestedPage(column, columns, rowCount, encodeDescriptorPage);
  const { layout } = column;
  const joined = concatColumns(columns);
  const { values, levels } =
    layout.kind === "list" || layout.kind === "struct"
      ? shredColumn(layout, joined, column)
      : { values: joined, levels: leafLevels(slotLevels(joined), rowCount) };
  if (values.kind !== "fixed")
    throw new InternalError(`descriptors of blobs have the unknown kind ${values.kind}`);
  const descriptors = values.values.slice(0, values.length * DESCRIPTOR_BYTES);
  const { definition } = levels;
  for (let event = 0; definition !== null && event < definition.length; event++) {
    if (definition[event] !== 0) setDescriptor(descriptors, event, markOfLevel(definition[event]), 0);
  }
  return encodeBlobPage(descriptors, levels);
}
