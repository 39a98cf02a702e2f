/** All kinds of scalar and full-text indexes. */

import type { IndexKind, IndexKindName } from "../kind.js";
import { messageName } from "../messageName.js";
import { FTS } from "../text/fts.js";
import { BITMAP, BLOOMFILTER, BTREE, FM, LABEL_LIST, NGRAM, ZONEMAP } from "./scalarKinds.js";

/** Returns the kind of this name; null if this release does not know it. */
export const kindOfName = (name: string): IndexKind | null => KINDS.get(name as IndexKindName) ?? null;

/** True if the details of two indexes have the same type. */
export const isSameTypeUrl = (a: string, b: string): boolean => messageName(a) === messageName(b);

/** Returns the kind whose details have this type; null if this release does not know it. */
export function kindOfTypeUrl(typeUrl: string): IndexKind | null {
  const name = messageName(typeUrl);
  return [...KINDS.values()].find((kind) => messageName(kind.typeUrl) === name) ?? null;
}

/** True if this is the details type of a vector index. */
export const isVectorTypeUrl = (typeUrl: string): boolean => messageName(typeUrl) === "VectorIndexDetails";

const KINDS: ReadonlyMap<IndexKindName, IndexKind> = new Map(
  [BTREE, BITMAP, LABEL_LIST, ZONEMAP, BLOOMFILTER, NGRAM, FTS, FM].map((kind) => [kind.name, kind]),
);
