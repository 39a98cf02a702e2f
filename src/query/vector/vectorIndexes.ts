/** Vector indexes that a search can use. */

import { lazyModule } from "../../async/lazy.js";
import type { IndexMetadata } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import type { IndexFiles } from "../../indexes/kind.js";
import { isVectorTypeUrl } from "../../indexes/kinds/kinds.js";
import { isMetricOf, type Metric, type VectorItem } from "../../indexes/vector/distance/metric.js";
import type { TableField } from "../../schema/schema.js";
import { coverageOf, jointCoverageOf } from "../../table/commit/indexCoverage.js";
import { DEFERRED_REMAP_INDEX } from "../../table/commit/indexEntries.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { type IndexSegment, indexesOf, LAZY, noteUnread, openIndexSegment } from "../indexes/tableIndexes.js";
import { entryRefusal } from "../indexes/unreadIndexes.js";
import { vectorIndexType } from "../indexes/vectorIndexType.js";
import type { ReaderEnvironment } from "../indexes/versionSource.js";
import type { ColumnIndexes, VectorColumn, VectorIndex } from "./vectorSearch.js";

/** Highest format version that this release reads. */
const MAX_INDEX_VERSION = 2;

/** Loaded with the first indexed column. */
const ivf = lazyModule(() => import("../../indexes/vector/ivf/ivfIndex.js"));

const IVF = {
  name: "IVF",
  async open(files: IndexFiles, field: TableField) {
    const { IvfIndex } = await ivf.get();
    return IvfIndex.open(files, field);
  },
};

/**
 * Finds the index on a column for a search by a metric.
 * @param metric null for the index's own metric
 * @throws CorruptFileError
 */
export async function vectorIndexesOn(
  version: OpenVersion<ReaderEnvironment>,
  { field, path, item }: VectorColumn,
  metric: Metric | null,
  fields: readonly TableField[],
): Promise<ColumnIndexes> {
  // The index may be of a newer vector kind.
  const unknown = indexesOf(version.file, fields).unread.get(formatFieldPath(path)) ?? [];
  noteUnread(version.table, unknown);
  const entries = (version.file.indexSection?.indices ?? []).filter(
    ({ fields: ids, indexDetails }) => ids.includes(field.id) && isVectorTypeUrl(indexDetails?.typeUrl ?? ""),
  );
  for (const [name, recorded] of segmentsOf(version, entries)) {
    const opened: VectorIndex["segments"][number][] = [];
    for (const segment of recorded) {
      const { environment } = version.table;
      const open = await openIndexSegment(version, environment, { kind: IVF, field }, segment);
      if (open !== null && (metric === null || open.metric === metric)) {
        opened.push({ covered: segment.covered, open });
      }
    }
    const [first] = opened;
    // Fragments of segments of other kinds are scanned.
    const segments = opened.filter(
      ({ open }) => open.metric === first.open.metric && open.kind === first.open.kind,
    );
    if (segments.length === 0) continue;
    const indexEntries = entries.filter((entry) => entry.name === name);
    return {
      index: { name, metric: first.open.metric, path: version.path, segments },
      metric: null,
      covered: () => jointCoverageOf(indexEntries),
    };
  }
  const all = [...entries, ...unknown.map(({ entry }) => entry)];
  return {
    index: null,
    metric: metric === null ? await metricOf(version, entries, item) : null,
    covered: () => jointCoverageOf(all),
  };
}

/** Returns the metric of the first index that records one for vectors of this type. */
async function metricOf(
  version: OpenVersion<ReaderEnvironment>,
  entries: readonly IndexMetadata[],
  item: VectorItem,
): Promise<Metric | null> {
  for (const entry of entries) {
    // LanceDB skips an index without rows too.
    if (coveredBy(version, entry)?.size === 0) continue;
    const { distanceType } = await vectorIndexType(version, entry);
    if (distanceType !== undefined && isMetricOf(distanceType, item)) return distanceType;
  }
  return null;
}

/** Returns the ids of an index's covered fragments; null if unknown. */
function coveredBy(
  { file: { manifest } }: OpenVersion<ReaderEnvironment>,
  entry: IndexMetadata,
): ReadonlySet<number> | null {
  const covered = coverageOf(entry);
  if (covered === null) return null;
  return new Set(manifest.fragments.flatMap(({ id }) => (covered.has(id) ? [id] : [])));
}

/** Returns the readable segments by index name, as far as their entries tell. */
function segmentsOf(
  version: OpenVersion<ReaderEnvironment>,
  vectorEntries: readonly IndexMetadata[],
): Map<string, IndexSegment[]> {
  const { table, file } = version;
  const byName = new Map<string, IndexSegment[]>();
  const isLazy = (file.indexSection?.indices ?? []).some(({ name }) => name === DEFERRED_REMAP_INDEX);
  for (const metadata of vectorEntries) {
    const reason = isLazy ? LAZY : entryRefusal(metadata, MAX_INDEX_VERSION);
    if (reason !== null) {
      noteUnread(table, [{ entry: metadata, reason }]);
      continue;
    }
    const covered = coveredBy(version, metadata) ?? new Set();
    if (covered.size === 0) continue;
    byName.set(metadata.name, [...(byName.get(metadata.name) ?? []), { metadata, covered }]);
  }
  return byName;
}
