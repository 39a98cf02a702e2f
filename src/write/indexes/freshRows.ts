/**
 * Tells fragments whose rows are new to every index. Entries of old rows may still lie in a segment that no
 * longer covers them. Tiltyard passes over such entries, but LanceDB returns them once another segment of the
 * index covers the rows.
 */

import { type DataFragment, DROPPED_FIELD } from "../../format/table.js";
import { createdVersionsOf, updatedVersionsOf } from "../../table/fragments/rowOrigins.js";
import type { IndexColumn } from "./indexColumn.js";

/** True if no older segment can have entries of a fragment's rows. */
export function isFresh(
  fragment: DataFragment,
  { fieldIds }: Pick<IndexColumn, "fieldIds">,
  hasStableIds: boolean,
): boolean {
  // A column that was changed in place lies in a later file, or is dropped from the first.
  const hasColumn = ({ fields }: DataFragment["files"][number]) => fields.some((id) => fieldIds.has(id));
  const [first, ...later] = fragment.files;
  if (later.some(hasColumn)) return false;
  if (first !== undefined && !hasColumn(first) && first.fields.includes(DROPPED_FIELD)) return false;
  // An update keeps the id of a row, so its old entry would count for the new values.
  return !hasStableIds || neverChanged(fragment);
}

/** True if no row has changed since it was inserted. */
function neverChanged(fragment: DataFragment): boolean {
  const [created, updated] = [createdVersionsOf(fragment), updatedVersionsOf(fragment)];
  return created !== null && JSON.stringify(created) === JSON.stringify(updated);
}
