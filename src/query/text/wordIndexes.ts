/** Columns with full-text indexes, in a file of its own because plans load nothing else. */

import { formatFieldPath, parseFieldPath } from "../../ident.js";
import type { TableField } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { indexesOf, type UnreadSegment, type UsableIndex } from "../indexes/tableIndexes.js";

/** Returns the paths of columns with a full-text index, including unreadable ones. */
export function wordIndexedColumns(
  { file }: Pick<OpenVersion, "file">,
  fields: readonly TableField[],
): string[] {
  const { usable, unread } = indexesOf(file, fields);
  const paths = [...usable].filter(([, indexes]) => indexes.some(isOfWords));
  const others = [...unread].filter(([, segments]) => segments.some(({ family }) => family === "words"));
  return [...new Set([...paths, ...others].map(([path]) => path))];
}

/** Returns a column's path as in indexes, its full-text index if it has one, and unreadable segments. */
export function wordIndexOn(
  column: string,
  { file }: Pick<OpenVersion, "file">,
  fields: readonly TableField[],
): {
  readonly path: string;
  readonly index: UsableIndex | undefined;
  readonly unread: readonly UnreadSegment[];
} {
  const path = formatFieldPath(parseFieldPath(column));
  const { usable, unread } = indexesOf(file, fields);
  const segments = unread.get(path)?.filter(({ family }) => family !== "values") ?? [];
  return { path, index: usable.get(path)?.find(isOfWords), unread: segments };
}

const isOfWords = ({ kind }: UsableIndex): boolean => kind.name === "FTS";
