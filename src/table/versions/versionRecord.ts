/**
 * Handles the record that a caller of createTableVersion attached to a version:
 * `_tiltyard/versions/<version>.json`, one JSON object. It is written before the manifest is published, so
 * that no reader sees the version without it. It contains the manifest's size and SHA-256, which distinguish
 * it from the record of an attempt that was never published.
 */

import { decodeSealedJson, encodeSealedJson } from "../../bytes/sealedJson.js";
import { InvalidInputError } from "../../errors.js";
import type { LockLease } from "../../io/disk/locks.js";
import { sha256 } from "../../io/names/sha256.js";
import { replaceFile } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import { versionRecordName, versionRecordsDirectory } from "./paths.js";
import type { VersionEntry, VersionsAt } from "./versions.js";

export interface VersionRecord {
  readonly eTag?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Content of the file: a record and the manifest that it belongs to. */
interface StoredRecord extends VersionRecord {
  readonly manifestSize: number;
  /** Hexadecimal. */
  readonly manifestSha256: string;
}

const MAX_RECORD_BYTES = 2 ** 20;

const recordPath = (tableRoot: string, version: number): string =>
  join(versionRecordsDirectory(tableRoot), versionRecordName(version));

/**
 * Attaches a record to a version that is about to be published, or removes an old record. Durable on return.
 * @throws InvalidInputError for a record beyond 1 MiB
 */
export async function writeVersionRecord(
  table: VersionsAt,
  version: number,
  manifest: Uint8Array,
  record: VersionRecord,
  lease: LockLease,
): Promise<void> {
  const path = recordPath(table.root, version);
  if (record.eTag === undefined && record.metadata === undefined) {
    if ((await table.disk.stat(path)) === null) return;
    await lease.confirm();
    await table.disk.remove(path);
    return;
  }
  const stored: StoredRecord = {
    manifestSize: manifest.length,
    manifestSha256: sha256(manifest),
    eTag: record.eTag,
    metadata: record.metadata,
  };
  const bytes = encodeSealedJson(stored);
  if (bytes.length > MAX_RECORD_BYTES) {
    throw new InvalidInputError(`metadata of a version is limited to ${MAX_RECORD_BYTES} bytes as JSON`);
  }
  await table.disk.makeDirectory(versionRecordsDirectory(table.root), table.root);
  await replaceFile(table.disk, path, bytes, { sync: true, lease });
}

/** Reads the record of a version; empty if none was attached. */
export async function readVersionRecord(table: VersionsAt, entry: VersionEntry): Promise<VersionRecord> {
  const path = recordPath(table.root, entry.version);
  // A file longer than any record of ours is ignored.
  const stat = await table.disk.stat(path);
  if (stat === null || stat.kind !== "file" || stat.size > MAX_RECORD_BYTES) return {};
  const bytes = await table.disk.readFile(path);
  const stored = bytes === null ? null : parseRecord(bytes);
  if (stored === null) return {};
  const manifest = await table.disk.readFile(entry.path);
  if (manifest?.length !== stored.manifestSize || sha256(manifest) !== stored.manifestSha256) return {};
  return { eTag: stored.eTag, metadata: stored.metadata };
}

/** Parses a record; null if this engine would not have written it. */
function parseRecord(bytes: Uint8Array): StoredRecord | null {
  const value = decodeSealedJson(bytes);
  if (typeof value !== "object" || value === null) return null;
  const { manifestSize, manifestSha256, eTag, metadata } = value as Record<string, unknown>;
  if (typeof manifestSize !== "number" || typeof manifestSha256 !== "string") return null;
  if (eTag !== undefined && typeof eTag !== "string") return null;
  if (metadata !== undefined) {
    if (typeof metadata !== "object" || metadata === null) return null;
    if (!Object.values(metadata).every((entry) => typeof entry === "string")) return null;
  }
  return { manifestSize, manifestSha256, eTag, metadata: metadata as Record<string, string> | undefined };
}
