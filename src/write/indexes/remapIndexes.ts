/** Rewrites the indexes whose rows a compaction moves. */

import type { IndexMetadata, RewrittenIndex } from "../../format/table.js";
import type { MergeableKind } from "../../indexes/kind.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { coverageOf } from "../../table/commit/indexCoverage.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { indicesOf } from "../../table/versions/versionContent.js";
import type { PartOfWork, WorkMeter } from "../workProgress.js";
import { indexColumn } from "./indexColumn.js";
import { indexRows } from "./indexRows.js";
import { openIfReadable, writableKind } from "./openSegment.js";
import { compactedRows, type MergedFragments } from "./rowMoves.js";
import { rewrittenIndex, type SegmentOptions, type WrittenSegment, writeSegment } from "./segment.js";

export interface RemappedIndexes {
  readonly rewritten: readonly RewrittenIndex[];
  readonly segments: readonly WrittenSegment[];
}

/** A segment with rows that a compaction moves. */
interface TouchedSegment extends PartOfWork {
  readonly index: IndexMetadata;
  readonly kind: MergeableKind;
  readonly covered: ReadonlySet<number>;
  readonly groups: readonly MergedFragments[];
}

/** Returns the segments that must be rewritten. With stable row ids, most segments stay valid. */
export function touchedSegments<Group extends Pick<MergedFragments, "oldFragments">>(
  file: ManifestFile,
  groups: readonly Group[],
): (Omit<TouchedSegment, "groups"> & { readonly groups: readonly Group[] })[] {
  const isStable = hasStableRowIds(file.manifest);
  return indicesOf(file).flatMap((index) => {
    const covered = coverageOf(index);
    const kind = writableKind(index);
    if (covered === null || kind === null || (isStable && !kind.storesAddresses)) return [];
    const touched = groups.filter(({ oldFragments }) => oldFragments.some(({ id }) => covered.has(id)));
    if (touched.length === 0) return [];
    const present = file.manifest.fragments.filter(({ id }) => covered.has(id));
    const rows = present.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
    return [{ index, kind, covered, groups: touched, rows, rowTime: kind.rowTime ?? 1 }];
  });
}

/**
 * @param groups with the ids of the new fragments, whose files are complete
 * @param meter counts the rewritten segments
 * @throws CorruptFileError for an index that can't be read; all written files are removed first
 */
export async function remapIndexes(
  base: OpenVersion<ReaderEnvironment>,
  groups: readonly MergedFragments[],
  meter: WorkMeter,
  signal?: AbortSignal,
): Promise<RemappedIndexes> {
  const rewritten: RewrittenIndex[] = [];
  const segments: WrittenSegment[] = [];
  try {
    for (const touched of touchedSegments(base.file, groups)) {
      const progress = meter.begin(touched);
      const segment = await writeRemapped(base, touched, { signal, progress });
      // The commit then removes the merged fragments from the index's coverage.
      if (segment === null) continue;
      segments.push(segment);
      rewritten.push(rewrittenIndex(touched.index.uuid, segment));
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
  { index, kind, covered, groups, rows: rowCount }: TouchedSegment,
  { signal, progress }: Pick<SegmentOptions, "signal" | "progress">,
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
  const { environment } = base.table;
  return writeSegment(
    base,
    { kind, field: column.field, parameters, environment, rowCount, signal, progress },
    (target) => kind.merge([{ index: old, moves }], rows(), target),
  );
}
