/** The record of a version, as the version operations answer it. */

import type { TableVersion } from "../../namespace.js";
import { timestampMillis } from "../../table/apply.js";
import { readVersionRecord } from "../../table/versionRecord.js";
import { readManifestAt, type VersionEntry } from "../../table/versions.js";
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
  if (file === null) return null;
  return {
    version: entry.version,
    manifestPath: entry.path,
    manifestSize: file.byteLength,
    timestampMillis: timestampMillis(file.manifest),
    ...record,
  };
}
