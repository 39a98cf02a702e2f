/** Decodes and encodes the set of fragments that an index covers. */

import { decodeRoaring, encodeRoaring } from "../../bytes/roaring.js";
import type { IndexMetadata } from "../../format/table.js";

/** Upper limit for fragment ids, far above the number of fragments of a table. */
const MAX_FRAGMENTS = 2 ** 26;

/**
 * Returns the ids of the fragments that an index covers; null if the index has no bitmap and may cover any.
 * @throws CorruptFileError
 */
export function coverageOf(index: IndexMetadata): Set<number> | null {
  if (index.fragmentBitmap.length === 0) return null;
  return new Set(
    decodeRoaring(index.fragmentBitmap, MAX_FRAGMENTS, { path: `index ${index.name}`, byteOffset: 0 }),
  );
}

/**
 * Returns the ids of the fragments that at least one of the indexes covers; null if one may cover any.
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

/** Returns the index with another coverage. */
export const withCoverage = (index: IndexMetadata, ids: Iterable<number>): IndexMetadata => ({
  ...index,
  fragmentBitmap: encodeRoaring(Uint32Array.from(ids).sort()),
});

/**
 * Highest version of indexes that identify rows by their ids, by the message type of their details. Lance 14
 * makes BTREE indexes of version 1 on tables with stable row ids, which identify rows by their addresses.
 * Queries ignore them, because Lance 12 and 13 claim coverage of moved rows as if these indexes used ids.
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
 * Returns true if an index identifies its rows by fragments and offsets even on a table with stable row ids,
 * and so knows nothing about moved rows. Also true for an unknown type or version.
 */
export function usesRowAddresses({ indexDetails, indexVersion = 0 }: IndexMetadata): boolean {
  const typeUrl = indexDetails?.typeUrl ?? "";
  const version = OF_IDS.get(typeUrl.slice(typeUrl.lastIndexOf(".") + 1));
  return version === undefined || indexVersion > version;
}
