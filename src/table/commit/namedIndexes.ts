/** Groups the indexes of a version by name. Segments of an index share no fragment. */

import type { IndexMetadata, Manifest } from "../../format/table.js";
import { isSystemIndex, liveRowCount } from "../fragments/tableStatistics.js";
import { indicesOf, type VersionContent } from "../versions/versionContent.js";
import { coverageOf } from "./indexCoverage.js";

export interface NamedIndex {
  readonly name: string;
  /** Segments of the index, at least one. */
  readonly segments: readonly IndexMetadata[];
}

/**
 * Lists all indexes by name, without those of the format's own bookkeeping.
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

/** Returns the ids of the fragments that any segment covers. A segment without a bitmap counts as empty. */
function coveredFragments({ segments }: NamedIndex): Set<number> {
  return new Set(segments.flatMap((segment) => [...(coverageOf(segment) ?? [])]));
}

/** Counts the live rows of a version in covered fragments, and those in all others. */
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
