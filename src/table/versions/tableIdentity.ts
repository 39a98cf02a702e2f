/**
 * Identifies a table or branch in records that outlive a process. Records name directories and version
 * numbers, and a table that is dropped and created again has the same ones.
 *
 * If the recorded latest version still exists, its bytes decide, because they are unique: they contain a time
 * in nanoseconds and a transaction's random id. A directory restored from a copy has them, and is the same
 * table. If there never was such a version, or another engine has cleaned it up, the directory must be the
 * same. Its inode may be reused, so its birth time counts as well.
 */

import type { FileStat } from "../../io/disk/disk.js";
import { sha256 } from "../../io/names/sha256.js";
import { isCount, isJsonObject } from "./jsonValues.js";
import { findLatestVersion } from "./latestVersion.js";
import { readManifestBytes } from "./manifest.js";
import { findVersion, type VersionsAt } from "./versions.js";

export interface TableIdentity {
  /** Inode of the directory; empty if the disk has none. */
  readonly inode: string;
  /** Birth time of the directory in nanoseconds, as decimal digits; "0" if unknown. */
  readonly birthNs: string;
  /** Latest version; null if there was none. */
  readonly base: BaseVersion | null;
}

interface BaseVersion {
  readonly version: number;
  /** SHA-256 of the manifest's bytes, hexadecimal. */
  readonly sha256: string;
}

/** Reads the identity; null if the directory does not exist. */
export async function readTableIdentity(table: VersionsAt): Promise<TableIdentity | null> {
  const stat = await table.disk.stat(table.root);
  if (stat?.kind !== "directory") return null;
  const latest = await findLatestVersion(table);
  const read = latest && (await readManifestBytes(table.disk, latest.path));
  const base =
    latest === null || read === null ? null : { version: latest.version, sha256: sha256(read.bytes) };
  return { inode: stat.inode, birthNs: String(birthOf(stat)), base };
}

/** Returns true if the table or branch in a directory has the recorded identity. */
export async function isSameTable(
  table: VersionsAt,
  { inode, birthNs, base }: TableIdentity,
): Promise<boolean> {
  const stat = await table.disk.stat(table.root);
  if (stat?.kind !== "directory") return false;
  if (base !== null) {
    const entry = await findVersion(table, base.version);
    const read = entry && (await readManifestBytes(table.disk, entry.path));
    if (read !== null) return sha256(read.bytes) === base.sha256;
    const latest = await findLatestVersion(table);
    // A cleanup keeps the latest version. If that is older, another table replaced this one in the same
    // directory.
    if (latest === null || latest.version < base.version) return false;
  }
  const birth = birthOf(stat);
  const isBirthKnown = birth !== 0n && birthNs !== "0";
  return stat.inode === inode && (!isBirthKnown || String(birth) === birthNs);
}

/** Returns true if a value from JSON is an identity. */
export function isTableIdentity(value: unknown): value is TableIdentity {
  if (!isJsonObject(value)) return false;
  const { inode, birthNs, base } = value;
  if (!matches(inode, /^.{0,200}$/) || !matches(birthNs, /^-?\d{1,20}$/)) return false;
  if (base === null) return true;
  return isJsonObject(base) && isCount(base.version) && matches(base.sha256, /^[0-9a-f]{64}$/);
}

const matches = (value: unknown, pattern: RegExp): boolean =>
  typeof value === "string" && pattern.test(value);

/** Returns the birth time of a directory; 0 if unknown, when platforms report the change time. */
const birthOf = ({ birthNs, changedNs }: FileStat): bigint => (birthNs === changedNs ? 0n : birthNs);
