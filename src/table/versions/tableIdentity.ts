/**
 * Tells a table or branch from one that was put in its place, for records that outlive a process: they name
 * directories and version numbers, and a table that is dropped and made anew has the same ones.
 *
 * Where the version that was the latest is still there, its bytes decide, as no other table has them: they
 * hold a time in nanoseconds and the random id of a transaction. A directory restored from a copy has them,
 * and is the same table. Where there is no such version, because there never was one or another engine has
 * cleaned it up, the directory has to be the same: its inode, which may be reused, with the time it was made.
 */

import type { FileStat } from "../../io/disk/disk.js";
import { sha256 } from "../../io/names/sha256.js";
import { isCount, isJsonObject } from "./jsonValues.js";
import { findLatestVersion } from "./latestVersion.js";
import { readManifestBytes } from "./manifest.js";
import { findVersion, type VersionsAt } from "./versions.js";

export interface TableIdentity {
  /** `<device>:<inode>` of the directory. */
  readonly inode: string;
  /** When the directory was made, in nanoseconds as decimal digits; "0" where that is not known. */
  readonly birthNs: string;
  /** The latest version; null where there was none. */
  readonly base: BaseVersion | null;
}

interface BaseVersion {
  readonly version: number;
  /** Of the manifest's bytes, hexadecimal. */
  readonly sha256: string;
}

/** Null where there is no such directory. */
export async function readTableIdentity(table: VersionsAt): Promise<TableIdentity | null> {
  const stat = await table.disk.stat(table.root);
  if (stat?.kind !== "directory") return null;
  const latest = await findLatestVersion(table);
  const read = latest && (await readManifestBytes(table.disk, latest.path));
  const base =
    latest === null || read === null ? null : { version: latest.version, sha256: sha256(read.bytes) };
  return { inode: stat.inode, birthNs: String(birthOf(stat)), base };
}

/** True if the table or branch in a directory is the one whose identity was taken. */
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
    // A cleanup leaves the latest version. If that is older, another table was put into the same directory.
    if (latest === null || latest.version < base.version) return false;
  }
  const birth = birthOf(stat);
  const isBirthKnown = birth !== 0n && birthNs !== "0";
  return stat.inode === inode && (!isBirthKnown || String(birth) === birthNs);
}

/** True if a value that parsing JSON has given is an identity. */
export function isTableIdentity(value: unknown): value is TableIdentity {
  if (!isJsonObject(value)) return false;
  const { inode, birthNs, base } = value;
  if (!matches(inode, /^\d{1,20}:\d{1,20}$/) || !matches(birthNs, /^-?\d{1,20}$/)) return false;
  if (base === null) return true;
  return isJsonObject(base) && isCount(base.version) && matches(base.sha256, /^[0-9a-f]{64}$/);
}

const matches = (value: unknown, pattern: RegExp): boolean =>
  typeof value === "string" && pattern.test(value);

/**
 * When a directory was made; 0 where that is not known, and the platform gives the time of the last change
 * instead.
 */
const birthOf = ({ birthNs, changedNs }: FileStat): bigint => (birthNs === changedNs ? 0n : birthNs);
