/** Columns with full-text indexes, in a file of its own because plans load nothing else. */

import { formatFieldPath, parseFieldPath } from "../../ident.js";
import type { TableField } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import {
  indexesOf,
  type UnreadSegment,
  type UsableIndex,
  unreadSegmentsOf,
} from "../indexes/tableIndexes.js";

/** Returns the paths of columns with a full-text index, including unreadable ones. */
export function wordIndexedColumns(
  { file }: Pick<OpenVersion, "file">,
  fields: readonly TableField[],
): string[] {
  const paths = [...indexesOf(file, fields)].flatMap(([path, indexes]) =>
    indexes.some(isOfWords) ? [path] : [],
  );
  const unread = [...unreadSegmentsOf(file, fields)].flatMap(([path, segments]) =>
    segments.some(({ family }) => family === "words") ? [path] : [],
  );
  return [...new Set([...paths, ...unread])];
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
  const unread = unreadSegmentsOf(file, fields).get(path) ?? [];
  return {
    path,
    index: indexesOf(file, fields).get(path)?.find(isOfWords),
    unread: unread.filter(({ family }) => family !== "values"),
  };
}

const isOfWords = ({ kind }: UsableIndex): boolean => kind.name === "FTS";
