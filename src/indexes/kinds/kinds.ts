/** The kinds of indexes of values and of words. */

import type { IndexKind, IndexKindName } from "../kind.js";
import { messageName } from "../messageName.js";
import { BITMAP } from "../scalar/bitmap.js";
import { BLOOMFILTER } from "../scalar/bloomFilter.js";
import { BTREE } from "../scalar/btree.js";
import { LABEL_LIST } from "../scalar/labelList.js";
import { NGRAM } from "../scalar/ngram.js";
import { ZONEMAP } from "../scalar/zonemap.js";
import { FTS } from "../text/fts.js";

/** The kind of a name; null for one that this release does not know. */
export const kindOfName = (name: string): IndexKind | null => KINDS.get(name as IndexKindName) ?? null;

/** Whether the details of two indexes are of the same type. */
export const isSameTypeUrl = (one: string, other: string): boolean => messageName(one) === messageName(other);

/** The kind that a manifest means by the type of an index's details; null for one that this release does not know. */
export function kindOfTypeUrl(typeUrl: string): IndexKind | null {
  const name = messageName(typeUrl);
  return [...KINDS.values()].find((kind) => messageName(kind.typeUrl) === name) ?? null;
}

/** Whether a manifest means an index on vectors by the type of its details. */
export const isVectorTypeUrl = (typeUrl: string): boolean => messageName(typeUrl) === "VectorIndexDetails";

const KINDS: ReadonlyMap<IndexKindName, IndexKind> = new Map(
  [BTREE, BITMAP, LABEL_LIST, ZONEMAP, BLOOMFILTER, NGRAM, FTS].map((kind) => [kind.name, kind]),
);
