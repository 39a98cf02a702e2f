/** The indexes on vectors that a search can ask. */

import { lazyModule } from "../../async/deferred.js";
import { formatFieldPath } from "../../ident.js";
import type { IndexFiles } from "../../indexes/kind.js";
import { isVectorTypeUrl } from "../../indexes/kinds/kinds.js";
import type { Metric } from "../../indexes/vector/distance/metric.js";
import type { TableField } from "../../schema/schema.js";
import { coverageOf } from "../../table/commit/indexCoverage.js";
import { DEFERRED_REMAP_INDEX } from "../../table/commit/indexEntries.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import {
  DEFERRED,
  type IndexSegment,
  noteUnread,
  openIndexSegment,
  unreadSegmentsOf,
} from "../indexes/tableIndexes.js";
import { entryRefusal } from "../indexes/unreadIndexes.js";
import type { ReaderEnvironment } from "../indexes/versionSource.js";
import type { VectorColumn, VectorIndex } from "./vectorSearch.js";

/** Highest version of the format that is read. */
const MAX_INDEX_VERSION = 2;

/** Loaded with the first column that has an index. */
const ivf = lazyModule(() => import("../../indexes/vector/ivf/ivfIndex.js"));

const IVF = {
  name: "IVF",
  async open(files: IndexFiles, field: TableField) {
    const { IvfIndex } = await ivf.get();
    return IvfIndex.open(files, field);
  },
};

/**
 * The first index on a column that is searched by a metric.
 * @param metric null for whatever the index has
 * @param fields of the version
 * @returns null where there is none that this release searches
 * @throws CorruptFileError
 */
export async function vectorIndexOf(
  version: OpenVersion<ReaderEnvironment>,
  { field, path }: VectorColumn,
  metric: Metric | null,
  fields: readonly TableField[],
): Promise<VectorIndex | null> {
  // It may be a newer kind of index on vectors.
  const unknown = unreadSegmentsOf(version.file, fields).get(formatFieldPath(path)) ?? [];
  noteUnread(version.at, unknown);
  for (const [name, recorded] of segmentsOf(version, field)) {
    const opened: VectorIndex["segments"][number][] = [];
    for (const segment of recorded) {
      const { environment } = version.at;
      const open = await openIndexSegment(version, environment, { kind: IVF, field }, segment);
      if (open !== null && (metric === null || open.metric === metric)) {
        opened.push({ covered: segment.covered, open });
      }
    }
    const [first] = opened;
    // Fragments of segments of other kinds are searched without them.
    const segments = opened.filter(
      ({ open }) => open.metric === first.open.metric && open.kind === first.open.kind,
    );
    if (segments.length > 0) return { name, metric: first.open.metric, path: version.path, segments };
  }
  return null;
}

/** Segments by the names of their indexes. */
function segmentsOf(
  { at, file }: OpenVersion<ReaderEnvironment>,
  field: TableField,
): Map<string, IndexSegment[]> {
  const found = new Map<string, IndexSegment[]>();
  const entries = file.indexSection?.indices ?? [];
  const isDeferred = entries.some(({ name }) => name === DEFERRED_REMAP_INDEX);
  const fragmentIds = new Set(file.manifest.fragments.map(({ id }) => id));
  for (const metadata of entries) {
    if (!metadata.fields.includes(field.id)) continue;
    if (!isVectorTypeUrl(metadata.indexDetails?.typeUrl ?? "")) continue;
    const reason = isDeferred ? DEFERRED : entryRefusal(metadata, MAX_INDEX_VERSION);
    if (reason !== null) {
      noteUnread(at, [{ entry: metadata, reason }]);
      continue;
    }
    const covered = new Set([...(coverageOf(metadata) ?? [])].filter((id) => fragmentIds.has(id)));
    if (covered.size === 0) continue;
    found.set(metadata.name, [...(found.get(metadata.name) ?? []), { metadata, covered }]);
  }
  return found;
}
