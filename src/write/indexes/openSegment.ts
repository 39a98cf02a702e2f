/** Opens segments of indexes that are to be merged or remapped, and tells which can be. */

import { UnsupportedError } from "../../errors.js";
import type { IndexMetadata } from "../../format/table.js";
import type { IndexPart, MergeableIndex, MergeableKind } from "../../indexes/kind.js";
import { kindOfTypeUrl } from "../../indexes/kinds/kinds.js";
import { isVectorTypeUrl, VECTOR_SEGMENTS } from "../../indexes/vector/ivf/vectorKinds.js";
import { LruCache } from "../../io/memory/cache.js";
import { join } from "../../platform/native.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { allFields } from "../../schema/fieldPaths.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { coverageOf } from "../../table/commit/indexCoverage.js";
import { resolveIndexDirectory } from "../../table/fragments/fileLookup.js";
import { isFileName } from "../../table/versions/paths.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";

/** Bytes of decoded parts of an index that are kept while it is merged: each is needed once. */
const PART_BYTES = 16 * 1024 * 1024;

/**
 * The kind of a segment that this release can write anew; null for any other: its type or its version is unknown, it is
 * on more than one field, or does not say what it covers.
 */
export function writableKind(segment: IndexMetadata): MergeableKind | null {
  const { indexDetails, indexVersion, fields, coveringFields, unknown } = segment;
  const typeUrl = indexDetails?.typeUrl ?? "";
  const kind = isVectorTypeUrl(typeUrl) ? VECTOR_SEGMENTS : kindOfTypeUrl(typeUrl);
  if (kind === null || (indexVersion ?? 0) > kind.maxIndexVersion || unknown !== undefined) return null;
  if (fields.length !== 1 || coveringFields.length > 0 || coverageOf(segment) === null) return null;
  return kind;
}

/**
 * Whether a segment can be written anew. Of those on vectors only their files tell: manifests don't say what they are.
 * @throws CorruptFileError
 */
export async function canBeWritten(
  version: OpenVersion<ReaderEnvironment>,
  segment: IndexMetadata,
): Promise<boolean> {
  const kind = writableKind(segment);
  if (kind !== VECTOR_SEGMENTS) return kind !== null;
  const { file } = version;
  for (const { field } of allFields(decodeSchema(file.manifest.fields, file.path))) {
    if (field.id === segment.fields[0]) return isReadable(field);
  }
  return false;

  async function isReadable(field: TableField): Promise<boolean> {
    return (
      VECTOR_SEGMENTS.refusal(field) === null &&
      (await openIfReadable(version, segment, VECTOR_SEGMENTS, field)) !== null
    );
  }
}

/**
 * @returns null for files laid out in a way that this release does not read
 * @throws CorruptFileError
 */
export async function openIfReadable(
  ...opened: Parameters<typeof openSegment>
): Promise<MergeableIndex | null> {
  try {
    return await openSegment(...opened);
  } catch (error) {
    if (error instanceof UnsupportedError) return null;
    throw error;
  }
}

/** @throws CorruptFileError; UnsupportedError for files laid out in a way that this release does not read */
export async function openSegment(
  { at, file }: OpenVersion<ReaderEnvironment>,
  segment: IndexMetadata,
  kind: MergeableKind,
  field: TableField,
): Promise<MergeableIndex> {
  const directory = await resolveIndexDirectory(at, file.manifest, segment);
  const source = versionSource({ at, file });
  const parts = new LruCache<IndexPart>(PART_BYTES);
  const open = (name: string) => {
    if (!isFileName(name)) throw new RangeError(`${name} is no name of a file`);
    return at.environment.openDataFileOnce(join(directory, name));
  };
  return kind.open({ open: async (name) => open(name), source, parts }, field);
}
