/**
 * Plans the update of an index before it reads any row. Pure.
 *
 * Rows that no segment covers become a segment of their own, or merge with small segments of the index
 * (sizeTiers.ts). All other segments stay as they are.
 */

import type { DataFragment, IndexMetadata } from "../../format/table.js";
import { mergedParts } from "../../indexes/sizeTiers.js";
import { coverageOf } from "../../table/commit/indexCoverage.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";

/** A segment and the fragments of the version that it covers. */
export interface CoveringSegment {
  readonly entry: IndexMetadata;
  readonly fragments: readonly DataFragment[];
}

export interface FoldPlan {
  /** Segments that the new segment replaces, the largest first. */
  readonly merged: readonly CoveringSegment[];
  /** Segment whose settings the new segment takes; one of those that stay if none merges. */
  readonly model: IndexMetadata;
  /** Fragments that no segment covers. */
  readonly added: readonly DataFragment[];
  /** All fragments of the new segment, in table order. */
  readonly covered: readonly DataFragment[];
  /** True to build the index anew, because the old entries do not tell which of them are right. */
  readonly isRebuilt: boolean;
}

/** Properties of an index that decide whether it may have several segments. */
interface FoldRules {
  /** True for an index that has one segment only. */
  readonly isUndivided: boolean;
  /** True if no segment can have entries of a fragment's rows. */
  isFresh(fragment: DataFragment): boolean;
}

/**
 * @returns null if the index is up to date
 * @throws CorruptFileError for an invalid coverage
 */
export function planFold(
  segments: readonly IndexMetadata[],
  fragments: readonly DataFragment[],
  { isUndivided, isFresh }: FoldRules,
): FoldPlan | null {
  const coverages = segments.map(coverageOf);
  const covering = segments.map((entry, position): CoveringSegment => {
    const covered = coverages[position];
    return { entry, fragments: fragments.filter(({ id }) => covered?.has(id) === true) };
  });
  const all = new Set(covering.flatMap((segment) => segment.fragments));
  const added = fragments.filter((fragment) => !all.has(fragment));
  const isKnown = coverages.every((covered) => covered !== null && covered.size > 0);
  // Segments of another engine may share a fragment, of which only one has the current values.
  const isDisjoint = covering.reduce((sum, segment) => sum + segment.fragments.length, 0) === all.size;
  if (segments.length === 1 && added.length === 0) return null;
  const largestFirst = covering.toSorted((a, b) => rowsOf(b) - rowsOf(a));
  const [{ entry: model }] = largestFirst;
  if (!isKnown || !isDisjoint || isUndivided || !added.every(isFresh)) {
    return { merged: largestFirst, model, added, covered: fragments, isRebuilt: !isKnown || !isDisjoint };
  }
  const rowCount = added.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  // A segment of no more than deleted rows goes with the next merge.
  const merged = mergedParts(largestFirst, rowsOf, rowCount).reverse();
  if (merged.length === 0 && rowCount === 0) return null;
  const replaced = new Set([...added, ...merged.flatMap((segment) => segment.fragments)]);
  const covered = fragments.filter((fragment) => replaced.has(fragment));
  return { merged, model: merged[0]?.entry ?? model, added, covered, isRebuilt: false };
}

/** Counts the live rows that a segment covers. */
const rowsOf = ({ fragments }: CoveringSegment): number =>
  fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
