/** The record of a version, as the version operations answer it. */

import type { TableVersion } from "../../namespace.js";
import { timestampMillis } from "../../table/commit/apply.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { readManifestAt } from "../../table/versions/manifestCache.js";
import { readVersionRecord, type VersionRecord } from "../../table/versions/versionRecord.js";
import type { VersionEntry } from "../../table/versions/versions.js";
import type { OperationContext } from "../context.js";

/** Null where the version has been cleaned up since it was found. */
export async function versionOf(
  context: OperationContext,
  tableRoot: string,
  entry: VersionEntry,
): Promise<TableVersion | null> {
  const [file, record] = await Promise.all([
    readManifestAt(context, entry),
    readVersionRecord(context.disk, tableRoot, entry),
  ]);
  return file && versionOfFile(file, record);
}

/** The same of a manifest that is known, and may be gone by now. */
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
