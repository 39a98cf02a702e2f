/** Which fragments an index covers. */

import { decodeRoaring, encodeRoaring } from "../../bytes/roaring.js";
import type { IndexMetadata } from "../../format/table.js";

/** Far more fragments than a table has. */
const MAX_FRAGMENTS = 2 ** 26;

/**
 * Ids of the fragments that an index covers; null where the index does not tell, so that it may cover any.
 * @throws CorruptFileError
 */
export function coverageOf(index: IndexMetadata): Set<number> | null {
  if (index.fragmentBitmap.length === 0) return null;
  return new Set(
    decodeRoaring(index.fragmentBitmap, MAX_FRAGMENTS, { path: `index ${index.name}`, byteOffset: 0 }),
  );
}

/**
 * Ids of the fragments that at least one of the indexes covers; null where one may cover any.
 * @throws CorruptFileError
 */
export function jointCoverageOf(indexes: readonly IndexMetadata[]): Set<number> | null {
  const all = new Set<number>();
  for (const index of indexes) {
    const covered = coverageOf(index);
    if (covered === null) return null;
    for (const id of covered) all.add(id);
  }
  return all;
}

/** The same index, covering the fragments given. */
export const withCoverage = (index: IndexMetadata, ids: Iterable<number>): IndexMetadata => ({
  ...index,
  fragmentBitmap: encodeRoaring(Uint32Array.from(ids).sort()),
});

/**
 * Highest versions, by the messages of their details, of indexes that know rows by their ids. Lance 14 makes
 * B-trees of version 1 where row ids are stable, which know rows by their addresses. No query asks them:
 * Lance 12 and 13 cover rows that they moved, as if the index knew them by their ids.
 */
const OF_IDS: ReadonlyMap<string, number> = new Map([
  ["VectorIndexDetails", 2],
  ["InvertedIndexDetails", 3],
  ["BTreeIndexDetails", 0],
  ["BitmapIndexDetails", 0],
  ["LabelListIndexDetails", 1],
  ["NGramIndexDetails", 0],
]);

/**
 * Tells whether an index knows its rows by fragments and offsets even in a table with stable row ids: it says
 * nothing about rows that were moved. So may an index of a type or a version that is unknown here.
 */
export function knowsPlaces({ indexDetails, indexVersion = 0 }: IndexMetadata): boolean {
  const typeUrl = indexDetails?.typeUrl ?? "";
  const version = OF_IDS.get(typeUrl.slice(typeUrl.lastIndexOf(".") + 1));
  return version === undefined || indexVersion > version;
}
