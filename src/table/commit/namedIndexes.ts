/**
 * The indexes of a version by name: an index is one segment or several, and a fragment is in at most one of
 * them.
 */

import type { IndexMetadata, Manifest } from "../../format/table.js";
import { isSystemIndex, liveRowCount } from "../fragments/statistics.js";
import { indicesOf, type VersionContent } from "../versions/versionContent.js";
import { coverageOf } from "./indexCoverage.js";

export interface NamedIndex {
  readonly name: string;
  /** At least one. */
  readonly segments: readonly IndexMetadata[];
}

/**
 * All indexes by name, without those that are the format's own bookkeeping.
 * @throws CorruptFileError
 */
export function namedIndexes(content: VersionContent): NamedIndex[] {
  const byName = new Map<string, IndexMetadata[]>();
  for (const index of indicesOf(content)) {
    if (isSystemIndex(index.name)) continue;
    const segments = byName.get(index.name);
    if (segments === undefined) byName.set(index.name, [index]);
    else segments.push(index);
  }
  return Array.from(byName, ([name, segments]) => ({ name, segments })).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
}

/** Ids of the fragments that any segment covers; one that does not tell which covers none for certain. */
export function coveredFragments({ segments }: NamedIndex): Set<number> {
  return new Set(segments.flatMap((segment) => [...(coverageOf(segment) ?? [])]));
}

/**
 * How many of a version's rows, deleted ones left out, lie in fragments that an index covers, and how many do
 * not.
 */
export function countIndexedRows(
  { fragments }: Pick<Manifest, "fragments">,
  index: NamedIndex,
): { readonly indexed: number; readonly unindexed: number } {
  const covered = coveredFragments(index);
  let indexed = 0;
  let unindexed = 0;
  for (const fragment of fragments) {
    if (covered.has(fragment.id)) indexed += liveRowCount(fragment);
    else unindexed += liveRowCount(fragment);
  }
  return { indexed, unindexed };
}
