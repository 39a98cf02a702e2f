/**
 * Encodes pages of a blob column. They hold descriptors (blobDescriptors.ts), in a layout that the file
 * version decides.
 */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { InternalError } from "../../errors.js";
import { setDescriptor } from "../blobs/blobDescriptors.js";
import { DESCRIPTOR_BYTES } from "../blobs/descriptorLayouts.js";
import type { EncodedPage, FileColumn, FileVersion } from "../container/page.js";
import { leafLevels } from "../events/levels.js";
import { shredColumn } from "../events/shredColumn.js";
import { encodeBlobPage, markOfLevel } from "../structural/blobEncoder.js";
import { slotLevels } from "../structural/slots.js";
import { encodeDescriptorPage } from "../v20/blobs.js";
import { encodeNestedPage } from "../v20/nestedArrays.js";

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
