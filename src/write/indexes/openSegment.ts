/** Opens segments of indexes to merge or remap, and tells which can be rewritten. */

import { UnsupportedError } from "../../errors.js";
import type { IndexMetadata } from "../../format/table.js";
import type { IndexPart, MergeableIndex, MergeableKind } from "../../indexes/kind.js";
import { isVectorTypeUrl, kindOfTypeUrl } from "../../indexes/kinds/kinds.js";
import { VECTOR_SEGMENTS } from "../../indexes/vector/ivf/vectorKinds.js";
import { LruCache } from "../../io/memory/cache.js";
import { noteUnread } from "../../query/indexes/tableIndexes.js";
import {
  entryRefusal,
  hasSegmentFile,
  openSegmentFile,
  reasonOf,
  segmentFileNames,
} from "../../query/indexes/unreadIndexes.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { allFields } from "../../schema/fieldPaths.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { resolveIndexDirectory } from "../../table/fragments/fileLookup.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";

/** Bytes of cached parts of an index during a merge, which reads each part once. */
const PART_BYTES = 16 * 1024 * 1024;

/**
 * Returns the kind of a segment if this release can rewrite it. Null if its type or version is unknown, it
 * has several fields, or it does not record its coverage.
 */
export function writableKind(segment: IndexMetadata): MergeableKind | null {
  const typeUrl = segment.indexDetails?.typeUrl ?? "";
  const kind = isVectorTypeUrl(typeUrl) ? VECTOR_SEGMENTS : kindOfTypeUrl(typeUrl);
  return kind === null || entryRefusal(segment, kind.maxIndexVersion) !== null ? null : kind;
}

/**
 * True if a segment can be rewritten. The manifest alone does not decide: the files may have a form that this
 * release does not read.
 * @throws CorruptFileError
 */
export async function canBeWritten(
  version: OpenVersion<ReaderEnvironment>,
  segment: IndexMetadata,
): Promise<boolean> {
  const kind = writableKind(segment);
  if (kind === null) return false;
  const { file } = version;
  for (const { field } of allFields(decodeSchema(file.manifest.fields, file.path))) {
    if (field.id !== segment.fields[0]) continue;
    return kind.refusal(field) === null && (await openIfReadable(version, segment, kind, field)) !== null;
  }
  return false;
}

/** @returns null for files in a form that this release does not read @throws CorruptFileError */
export async function openIfReadable(
  version: OpenVersion<ReaderEnvironment>,
  segment: IndexMetadata,
  kind: MergeableKind,
  field: TableField,
): Promise<MergeableIndex | null> {
  try {
    return await openSegment(version, segment, kind, field);
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    const { table, file } = version;
    const directory = await resolveIndexDirectory(table, file.manifest, segment);
    noteUnread(table, [{ entry: segment, reason: reasonOf(error, directory) }]);
    return null;
  }
}

/** @throws CorruptFileError; UnsupportedError for files in a form that this release does not read */
async function openSegment(
  { table, file }: OpenVersion<ReaderEnvironment>,
  segment: IndexMetadata,
  kind: MergeableKind,
  field: TableField,
): Promise<MergeableIndex> {
  const directory = await resolveIndexDirectory(table, file.manifest, segment);
  const source = versionSource({ table, file });
  const parts = new LruCache<IndexPart>(PART_BYTES);
  const files = {
    stat: (path: string) => table.disk.stat(path),
    openDataFile: (path: string) => table.environment.openDataFileOnce(path),
  };
  const open = (name: string) => openSegmentFile(files, directory, name, segment);
  const has = (name: string) => hasSegmentFile(files, directory, name, segment);
  const names = () => segmentFileNames(table.disk, directory, segment);
  return kind.open({ open, has, names, source, parts }, field);
}
