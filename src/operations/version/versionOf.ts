/** Builds the record of a version. */

import type { TableVersion } from "../../namespace/versions.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { readManifestAt } from "../../table/versions/openVersion.js";
import type { OpenVersion, TableAt } from "../../table/versions/tableAt.js";
import { timestampMillis } from "../../table/versions/versionAsOf.js";
import { readVersionRecord, type VersionRecord } from "../../table/versions/versionRecord.js";
import { findVersion, type VersionEntry } from "../../table/versions/versions.js";
import { changesOf, type ReadBefore } from "./versionChanges.js";

/** A version whose manifest and record were read. */
export interface ReadVersion {
  readonly file: ManifestFile;
  readonly record: VersionRecord;
}

/** Reads a listed version. Null if a cleanup has removed it. */
export async function readVersion(table: TableAt, entry: VersionEntry): Promise<ReadVersion | null> {
  const [file, record] = await Promise.all([
    readManifestAt(table.environment, entry),
    readVersionRecord(table, entry),
  ]);
  return file && { file, record };
}

/** Returns the record of a version, with what its commit changed. */
export async function describeReadVersion(
  table: TableAt,
  { file, record }: ReadVersion,
  before: ReadBefore,
): Promise<TableVersion> {
  return { ...versionOfFile(file, record), ...(await changesOf(table, file, before)) };
}

/** Returns the record of an opened version. */
export async function describeOpenVersion({ table, file, ...entry }: OpenVersion): Promise<TableVersion> {
  const record = await readVersionRecord(table, entry);
  return describeReadVersion(table, { file, record }, async () => {
    const previous = entry.version === 0 ? null : await findVersion(table, entry.version - 1);
    return previous && readManifestAt(table.environment, previous);
  });
}

/** Returns the record of a version whose manifest was read. The file may be gone already. */
export function versionOfFile(file: ManifestFile, { eTag, metadata }: VersionRecord): TableVersion {
  return {
    version: file.head.version,
    manifestPath: file.path,
    manifestSize: file.byteLength,
    timestampMillis: timestampMillis(file.head),
    ...(eTag !== undefined && { eTag }),
    ...(metadata !== undefined && { metadata }),
  };
}
