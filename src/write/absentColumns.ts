/**
 * Finds columns that fragments have no values of, so they are null there, and whose nulls cannot be written:
 * files of 2.0 store no null structs, and no files store structs without members that are null or in null
 * structs. Where rows are rewritten, such columns are left out again and so stay null. Pure.
 */

import type { DataFragment } from "../format/table.js";
import type { TableField } from "../schema/schema.js";

/**
 * The columns of which none of the fragments has values and files of the version cannot store nulls.
 * @param version data format of the table
 */
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
