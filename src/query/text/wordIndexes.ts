/** Which columns of a version have an index of words. What plans say of searches needs no more, and loads no more. */

import { formatFieldPath, parseFieldPath } from "../../ident.js";
import type { TableField } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { indexesOf, type UsableIndex } from "../indexes/tableIndexes.js";

/** Paths of the columns with an index of words. */
export const wordIndexedColumns = (
  { file }: Pick<OpenVersion, "file">,
  fields: readonly TableField[],
): string[] =>
  [...indexesOf(file, fields)].flatMap(([path, indexes]) => (indexes.some(isOfWords) ? [path] : []));

/** A column under its path as indexes have it, and the index of its words, if there is one. */
export function wordIndexOn(
  column: string,
  indexes: ReturnType<typeof indexesOf>,
): { readonly path: string; readonly index: UsableIndex | undefined } {
  const path = formatFieldPath(parseFieldPath(column));
  return { path, index: indexes.get(path)?.find(isOfWords) };
}

const isOfWords = ({ kind }: UsableIndex): boolean => kind.name === "FTS";
