/** Builds the record of a version. */

import type { TableVersion } from "../../namespace/versions.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { readManifestAt } from "../../table/versions/openVersion.js";
import type { TableAt } from "../../table/versions/tableAt.js";
import { timestampMillis } from "../../table/versions/versionAsOf.js";
import { readVersionRecord, type VersionRecord } from "../../table/versions/versionRecord.js";
import type { VersionEntry } from "../../table/versions/versions.js";

/** Returns the record of a listed version. Null if a cleanup has removed it. */
export async function versionOf(table: TableAt, entry: VersionEntry): Promise<TableVersion | null> {
  const [file, record] = await Promise.all([
    readManifestAt(table.environment, entry),
    readVersionRecord(table, entry),
  ]);
  return file && versionOfFile(file, record);
}

/** Returns the record of a version whose manifest was read. The file may be gone already. */
export function versionOfFile(file: ManifestFile, { eTag, metadata }: VersionRecord): TableVersion {
  return {
    version: file.manifest.version,
    manifestPath: file.path,
    manifestSize: file.byteLength,
    timestampMillis: timestampMillis(file.manifest),
    eTag,
    metadata,
  };
}
