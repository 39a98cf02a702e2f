/** Which columns of a version have an index of words. What plans say of searches needs no more, and loads no more. */

import { formatFieldPath, parseFieldPath } from "../../ident.js";
import type { TableField } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import {
  indexesOf,
  type UnreadSegment,
  type UsableIndex,
  unreadSegmentsOf,
} from "../indexes/tableIndexes.js";

/** Paths of the columns with an index of words, also of those whose index this release can't read. */
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

/** A column under its path as indexes have it, the index of its words, if there is one, and those that can't be read. */
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
