/** Finds an index of a version by its name. */

import { TableIndexNotFoundError, UnsupportedError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { type NamedIndex, namedIndexes } from "../../table/commit/namedIndexes.js";
import { isSystemIndex } from "../../table/fragments/statistics.js";
import { indicesOf, type VersionContent } from "../../table/versions/versionContent.js";

/**
 * Returns the index of a name.
 * @throws TableIndexNotFoundError; UnsupportedError for an index that the format uses internally
 */
export function requireIndex(content: VersionContent, name: string, tableId: readonly string[]): NamedIndex {
  const index = namedIndexes(content).find((each) => each.name === name);
  if (index !== undefined) return index;
  if (isSystemIndex(name) && indicesOf(content).some((each) => each.name === name)) {
    throw new UnsupportedError(`${name} is an internal index of the format, and not an index of a column`);
  }
  throw new TableIndexNotFoundError(`table ${formatIdentifier(tableId)} has no index ${name}`);
}
