/**
 * Finds the columns that must stay out of a rewrite: no fragment has values of them, and their nulls can't be
 * written. Such columns read as null before and after. Files of 2.0 can't store null structs. No file can
 * store null structs that have no members. Pure.
 */

import type { DataFragment } from "../format/table.js";
import type { TableField } from "../schema/schema.js";

/** Returns columns without values in the fragments whose nulls files of the version can't store. */
export function absentColumns(
  fields: readonly TableField[],
  fragments: readonly DataFragment[],
  version: string,
): TableField[] {
  const unstorable = fields.filter((field) => field.nullable && !storesNulls(field, version));
  if (unstorable.length === 0) return [];
  const stored = new Set(fragments.flatMap(({ files }) => files.flatMap((file) => file.fields)));
  const isStored = (field: TableField): boolean => stored.has(field.id) || field.children.some(isStored);
  return unstorable.filter((field) => !isStored(field));
}

const storesNulls = (field: TableField, version: string): boolean =>
  field.type.kind !== "struct" || (version !== "2.0" && !holdsEmptyStruct(field));

const holdsEmptyStruct = ({ type, children }: TableField): boolean =>
  type.kind === "struct" && (children.length === 0 || children.some(holdsEmptyStruct));
