/**
 * Structs without members. A file stores only their number:
 *
 *     2.0    a page of the array `struct`, without buffers, as for any struct; in lists too
 *     2.1 …  a constant page without buffers and with the one layer NULLABLE_ITEM, also for structs inside
 *            structs. A column of nulls has the same page, but here no struct is null: the format has no
 *            levels for them, so they cannot be in lists or in null structs either
 *
 * From 2.1 on, the reference miscounts a file's columns after such a page if it reads them together with it.
 * It counts correctly if a fragment names the file twice: for these columns and for all others
 * (write/dataFiles).
 */

import type { Column, Layout } from "../../arrow/columns/column.js";
import { isEmptyStruct } from "../../arrow/columns/column.js";
import { TableSchemaValidationError, UnsupportedError } from "../../errors.js";
import { ConstantLayout, RepDefLayer } from "../../format/encodings.js";
import { type EncodedPage, type PageEncoding, type PageOrigin, unsupportedPage } from "../container/page.js";

/**
 * @param layout a spine that ends in a struct without members
 * @throws UnsupportedError for nulls and for structs in lists, TableSchemaValidationError for nulls that the
 *   layout forbids
 */
export function encodeEmptyStructs(
  layout: Layout,
  columns: readonly Column[],
  rowCount: number,
  { nullable, path }: { readonly nullable: boolean; readonly path: string },
): EncodedPage {
  for (const column of columns) checkValid(layout, column, nullable, path);
  const constant = ConstantLayout.create({ layers: [RepDefLayer.NULLABLE_ITEM] });
  return { encoding: { constant }, buffers: [], rowCount };
}

function checkValid(layout: Layout, column: Column, nullable: boolean, path: string): void {
  if (column.validity !== null) {
    if (!nullable) {
      throw new TableSchemaValidationError(`column ${path} is not nullable and the rows hold nulls`);
    }
    throw new UnsupportedError(
      `column ${path} holds null structs that have no members, which no version of data files can store`,
    );
  }
  if (isEmptyStruct(layout)) return;
  if (layout.kind !== "struct" || column.kind !== "struct") throw inLists(path);
  const [child] = layout.children;
  checkValid(child.layout, column.children[0], child.nullable, path);
}

/** Makes the error for structs without members in lists. */
export const inLists = (path: string): UnsupportedError =>
  new UnsupportedError(
    `column ${path}: only data files of version 2.0 hold structs without members in lists`,
  );

/**
 * @param layout a spine that ends in a struct without members
 * @throws UnsupportedError for a page that stores more than the number of structs, and for structs in lists
 */
export function decodeEmptyStructs(
  layout: Layout,
  { constant }: PageEncoding,
  rowCount: number,
  buffers: readonly Uint8Array[],
  origin: PageOrigin,
): Column {
  const [layer, ...outer] = constant?.layers ?? [];
  if (layer !== RepDefLayer.NULLABLE_ITEM || outer.length > 0 || buffers.length > 0) {
    throw unsupportedPage(origin, "levels for structs without members");
  }
  return validStructs(layout, rowCount, origin);
}

function validStructs(layout: Layout, length: number, origin: PageOrigin): Column {
  if (isEmptyStruct(layout)) return { kind: "packedStruct", length, validity: null, children: [] };
  if (layout.kind !== "struct") throw unsupportedPage(origin, "structs without members in lists");
  const children = [validStructs(layout.children[0].layout, length, origin)];
  return { kind: "struct", length, validity: null, children };
}
