/** Rewrites the indexes whose rows a compaction moves. */

import type { IndexMetadata, RewrittenIndex } from "../../format/table.js";
import type { MergeableKind } from "../../indexes/kind.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { coverageOf } from "../../table/commit/indexCoverage.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { indicesOf } from "../../table/versions/versionContent.js";
import { indexColumn } from "./indexColumn.js";
import { indexRows } from "./indexRows.js";
import { openIfReadable, writableKind } from "./openSegment.js";
import { compactedRows, type MergedFragments } from "./rowMoves.js";
import { rewrittenIndex, type WrittenSegment, writeSegment } from "./segment.js";

export interface RemappedIndexes {
  readonly rewritten: readonly RewrittenIndex[];
  readonly segments: readonly WrittenSegment[];
}

/** Returns the kind that rewrites a segment after a merge; null if it can't, or has valid stable ids. */
function remappedKind(segment: IndexMetadata, hasStableIds: boolean): MergeableKind | null {
  const kind = writableKind(segment);
  return kind === null || (hasStableIds && !kind.storesAddresses) ? null : kind;
}

/**
 * @param groups with the ids of the new fragments, whose files are complete
 * @throws CorruptFileError for an index that can't be read; all written files are removed first
 */
export async function remapIndexes(
  base: OpenVersion<ReaderEnvironment>,
  groups: readonly MergedFragments[],
  signal?: AbortSignal,
): Promise<RemappedIndexes> {
  const isStable = hasStableRowIds(base.file.manifest);
  const rewritten: RewrittenIndex[] = [];
  const segments: WrittenSegment[] = [];
  try {
    for (const index of indicesOf(base.file)) {
      const covered = coverageOf(index);
      const kind = remappedKind(index, isStable);
      if (covered === null || kind === null) continue;
      const touched = groups.filter(({ oldFragments }) => oldFragments.some(({ id }) => covered.has(id)));
      if (touched.length === 0) continue;
      const segment = await writeRemapped(base, { index, kind, covered }, touched, signal);
      // The commit then removes the merged fragments from the index's coverage.
      if (segment === null) continue;
      segments.push(segment);
      rewritten.push(rewrittenIndex(index.uuid, segment));
    }
    return { rewritten, segments };
  } catch (error) {
    // The caller gets the first error; files that can't be removed are only orphans.
    for (const segment of segments) await segment.discard().catch(() => undefined);
    throw error;
  }
}

/** @returns null for an index whose files this release can't read */
async function writeRemapped(
  base: OpenVersion<ReaderEnvironment>,
  { index, kind, covered }: { index: IndexMetadata; kind: MergeableKind; covered: ReadonlySet<number> },
  groups: readonly MergedFragments[],
  signal: AbortSignal | undefined,
): Promise<WrittenSegment | null> {
  const column = indexColumn(base.file, index.fields[0]);
  const old = await openIfReadable(base, index, kind, column.field);
  if (old === null) return null;
  const present = base.file.manifest.fragments.filter(({ id }) => covered.has(id));
  const moves = await compactedRows(versionSource(base), present, groups);
  // Kinds that hold addresses get the rows at their new addresses.
  const fragments = kind.storesAddresses ? groups.flatMap(({ newFragments }) => newFragments) : [];
  const rows = () => indexRows(base, { column, fragments, byPlace: true, signal });
  const { parameters } = old;
  const { workers } = base.table.environment;
  return writeSegment(base, { kind, field: column.field, parameters, workers, signal }, (target) =>
    kind.merge([{ index: old, moves }], rows(), target),
  );
}
