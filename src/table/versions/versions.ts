/** Finds the existing versions of a table by the names of their manifests. */

import { breathe } from "../../async/eventLoop.js";
import { InvalidTableStateError } from "../../errors.js";
import type { Manifest } from "../../format/table.js";
import type { Disk, FileStat } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";
import type { DirectoryIdentity, TableAnchor } from "./identity.js";
import type { ManifestFile } from "./manifest.js";
import { manifestPath, type NamingScheme, parseManifestName, versionsDirectory } from "./paths.js";

/** An existing version. */
export interface VersionEntry {
  readonly version: number;
  readonly scheme: NamingScheme;
  /** Absolute path of its manifest. */
  readonly path: string;
}

/** The highest version of a table. */
export interface LatestVersion extends VersionEntry {
  /** The directory that it was found in. */
  readonly directory: DirectoryIdentity;
  /** Of its manifest, from the search; absent where the search did not look at it. */
  readonly manifestStat?: FileStat;
}

/** A version and what its manifest holds. */
export interface TableVersion {
  readonly entry: LatestVersion;
  readonly file: ManifestFile;
}

/** A version that this process has committed durably. */
export interface CommittedVersion extends VersionEntry {
  readonly manifest: Manifest;
  readonly file: ManifestFile;
}

/** The anchor of a change that is planned on a version. */
export const anchorOf = ({ entry, file }: TableVersion): TableAnchor => ({
  kind: "version",
  file,
  directory: entry.directory,
});

/** Names that are parsed without a pause. */
const ENTRIES_AT_ONCE = 512;

/** One version, or null where it does not exist. */
export async function findVersion(
  disk: Disk,
  tableRoot: string,
  version: number,
): Promise<VersionEntry | null> {
  if ((await versionStat(disk, tableRoot, version, "V2")) !== null) {
    return entryOf(tableRoot, version, "V2");
  }
  if ((await versionStat(disk, tableRoot, version, "V1")) !== null) {
    return entryOf(tableRoot, version, "V1");
  }
  return null;
}

/**
 * All versions, ascending.
 * @throws InvalidTableStateError where manifests of both naming schemes lie side by side
 */
export async function listVersions(disk: Disk, tableRoot: string): Promise<VersionEntry[]> {
  const directory = versionsDirectory(tableRoot);
  const versions: VersionEntry[] = [];
  for (const [index, entry] of ((await disk.list(directory)) ?? []).entries()) {
    // Most tables have few versions, and are done before the first pause.
    if ((index + 1) % ENTRIES_AT_ONCE === 0) await breathe();
    if (entry.kind !== "file") continue;
    const parsed = parseManifestName(entry.name);
    if (parsed === null) continue;
    versions.push({ ...parsed, path: join(directory, entry.name) });
    if (parsed.scheme !== versions[0].scheme) {
      throw new InvalidTableStateError(
        `${directory} mixes manifests of naming schemes V1 and V2; rename those of V1 to migrate the table`,
      );
    }
  }
  return versions.sort((a, b) => a.version - b.version);
}

/** The entry that a version has if it exists. */
export const entryOf = (tableRoot: string, version: number, scheme: NamingScheme): VersionEntry => ({
  version,
  scheme,
  path: manifestPath(tableRoot, version, scheme),
});

export async function versionStat(
  disk: Disk,
  tableRoot: string,
  version: number,
  scheme: NamingScheme,
): Promise<FileStat | null> {
  if (version > Number.MAX_SAFE_INTEGER) return null;
  const stat = await disk.stat(manifestPath(tableRoot, version, scheme));
  return stat?.kind === "file" ? stat : null;
}
