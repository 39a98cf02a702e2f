/**
 * Taking versions away without losing track of their files. A version's manifest is moved to `_tiltyard/retired`,
 * all of them before the first file is removed, and is removed itself when all files are gone that only it referred
 * to. So at any moment a version is either there with all its files, or it is no version any more and says what is
 * still to be removed, to this cleanup or, after a crash, to the next.
 */

import { join } from "node:path";
import type { Disk } from "../io/disk.js";
import { isMissing } from "../io/errno.js";
import {
  manifestName,
  parseManifestName,
  retiredDirectory,
  versionRecordName,
  versionRecordsDirectory,
  versionsDirectory,
} from "./paths.js";
import { noteRemovedVersions, type VersionEntry, writeHint } from "./versions.js";

export interface RetiredVersion {
  /** Where its manifest is now. */
  readonly path: string;
  readonly version: number;
}

/**
 * Moves the manifests of versions aside; durable on return, as is what others moved before and did not live to make
 * so. The caller holds the table's lock.
 * @param latest the latest version, which stays
 */
export async function retireVersions(
  disk: Disk,
  tableRoot: string,
  retired: readonly VersionEntry[],
  latest: VersionEntry,
): Promise<RetiredVersion[]> {
  const directory = retiredDirectory(tableRoot);
  if (retired.length === 0) {
    if ((await disk.stat(directory)) !== null) await syncMoves(disk, tableRoot);
    return [];
  }
  await disk.makeDirectory(directory);
  await noteRemovedVersions(disk, tableRoot, latest.version);
  const moved: RetiredVersion[] = [];
  for (const { version, scheme, path } of retired) {
    const retiredPath = join(directory, manifestName(version, scheme));
    try {
      // After a power cut it may have both names; to rename a file to another of its names does nothing.
      await disk.remove(retiredPath);
      await disk.rename(path, retiredPath);
      moved.push({ path: retiredPath, version });
    } catch (error) {
      // Another engine's cleanup, which takes no lock, was first.
      if (!isMissing(error)) throw error;
    }
  }
  await syncMoves(disk, tableRoot);
  await writeHint(disk, tableRoot, latest.version);
  return moved;
}

/** In this order: with a manifest in both places there is still a version, with one in neither its files are lost. */
async function syncMoves(disk: Disk, tableRoot: string): Promise<void> {
  await disk.syncDirectory(retiredDirectory(tableRoot));
  await disk.syncDirectory(versionsDirectory(tableRoot));
}

/** Paths of the manifests set aside, also of versions that are there all the same. */
export async function listRetired(disk: Disk, tableRoot: string): Promise<string[]> {
  const directory = retiredDirectory(tableRoot);
  const entries = (await disk.list(directory)) ?? [];
  return entries
    .filter(({ name, kind }) => kind === "file" && parseManifestName(name) !== null)
    .map(({ name }) => join(directory, name));
}

/** Forgets a retired version whose files are gone. */
export async function forgetRetired(
  disk: Disk,
  tableRoot: string,
  { path, version }: RetiredVersion,
): Promise<void> {
  await disk.remove(join(versionRecordsDirectory(tableRoot), versionRecordName(version)));
  await disk.remove(path);
}
