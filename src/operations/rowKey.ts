/** Reads the key by which a request matches the rows of several versions. */

import { InvalidInputError, TableColumnNotFoundError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import type { ObjectId } from "../namespace/request.js";
import type { ComparedColumns } from "../query/compare/comparedColumns.js";
import type { RowKey } from "../query/compare/sortedRows.js";
import { hasStableRowIds } from "../table/versions/flags.js";
import type { OpenVersion } from "../table/versions/tableAt.js";
import { isAbsent, requireTableId } from "./request.js";
import { requireStrings } from "./requestValues.js";

/** Returns the names of key columns; null without any. */
export function keyNames(on: unknown): RowKey {
  if (isAbsent(on)) return null;
  const names = requireStrings(typeof on === "string" ? [on] : on, "on");
  if (names.length === 0) throw new InvalidInputError("on: must name at least one column");
  if (new Set(names).size < names.length) throw new InvalidInputError("on: names a column twice");
  return names;
}

/**
 * Returns the key by which rows of several versions are matched.
 * @throws InvalidInputError without key columns, unless all versions have stable row ids
 */
export function requireKey(
  names: RowKey,
  versions: readonly OpenVersion[],
  { columns }: ComparedColumns,
  { id }: { readonly id: ObjectId },
): RowKey {
  if (names === null) {
    if (versions.every(({ file }) => hasStableRowIds(file.manifest))) return null;
    const name = formatIdentifier(requireTableId(id));
    throw new InvalidInputError(
      `on: table ${name} has no stable row ids, so name the key columns by which rows are matched, as in ` +
        'on: ["id"]; or create the table with stableRowIds: true',
    );
  }
  for (const name of names) {
    const column = columns.find(({ field }) => field.name === name);
    if (column === undefined) throw new TableColumnNotFoundError(`on: there is no column ${name}`);
    if (column.old === null) {
      throw new InvalidInputError(`on: both versions need column ${name}, with the same type`);
    }
  }
  return names;
}
