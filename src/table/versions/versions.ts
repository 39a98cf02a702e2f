/** Lists the existing versions of a table by the names of their manifests. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { InvalidTableStateError } from "../../errors.js";
import type { Disk, FileStat } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";
import type { DirectoryIdentity } from "./directoryIdentity.js";
import { manifestPath, type NamingScheme, parseManifestName, versionsDirectory } from "./paths.js";

/** Location of the versions and files of a table or branch. */
export interface VersionsAt {
  readonly disk: Disk;
  /** Directory of the table or branch. */
  readonly root: string;
}

/** An existing version, found by the name of its manifest. */
export interface VersionEntry {
  readonly version: number;
  readonly scheme: NamingScheme;
  /** Absolute path of its manifest. */
  readonly path: string;
}

/** A version that a search has just found. */
export interface FoundVersion extends VersionEntry {
  /** Stat of its manifest from the search; absent if the search did not look at it. */
  readonly manifestStat?: FileStat;
}

export interface LatestVersion extends FoundVersion {
  /** Directory of versions that the search read. */
  readonly directory: DirectoryIdentity;
}

/** Number of names that are parsed without a pause. */
const ENTRIES_AT_ONCE = 512;

/** Finds a version; null if it does not exist. */
export async function findVersion(table: VersionsAt, version: number): Promise<VersionEntry | null> {
  if ((await versionStat(table, version, "V2")) !== null) {
    return versionEntry(table.root, version, "V2");
  }
  if ((await versionStat(table, version, "V1")) !== null) {
    return versionEntry(table.root, version, "V1");
  }
  return null;
}

/**
 * Lists all versions, ascending.
 * @throws InvalidTableStateError if manifests of both naming schemes exist
 */
export async function listVersions(table: VersionsAt): Promise<VersionEntry[]> {
  const directory = versionsDirectory(table.root);
  const versions: VersionEntry[] = [];
  for (const [index, entry] of ((await table.disk.list(directory)) ?? []).entries()) {
    // Most tables have few versions, and need no pause.
    if ((index + 1) % ENTRIES_AT_ONCE === 0) await yieldToEventLoop();
    if (entry.kind !== "file") continue;
    const parsed = parseManifestName(entry.name);
    if (parsed === null) continue;
    versions.push({ ...parsed, path: join(directory, entry.name) });
    if (parsed.scheme !== versions[0].scheme) {
      throw new InvalidTableStateError(
        `${directory} mixes manifests of naming schemes V1 and V2; migrateManifestNames completes the migration`,
      );
    }
  }
  return versions.sort((a, b) => a.version - b.version);
}

/** Returns the entry of a version, which may not exist. */
export const versionEntry = (tableRoot: string, version: number, scheme: NamingScheme): VersionEntry => ({
  version,
  scheme,
  path: manifestPath(tableRoot, version, scheme),
});

export async function versionStat(
  table: VersionsAt,
  version: number,
  scheme: NamingScheme,
): Promise<FileStat | null> {
  if (version > Number.MAX_SAFE_INTEGER) return null;
  const stat = await table.disk.stat(manifestPath(table.root, version, scheme));
  return stat?.kind === "file" ? stat : null;
}
