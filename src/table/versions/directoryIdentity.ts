/** Recognises a directory, and distinguishes it from a later one under its path. */

import type { Disk, FileStat } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";

/** Identity of a directory at some time. */
export type DirectoryIdentity = Pick<FileStat, "inode" | "birthNs" | "changedNs">;

/** A directory that may change or move before the next look. */
export interface SeenDirectory {
  readonly directory: DirectoryIdentity;
  /** A file below it, and the file's path from there. */
  readonly file: { readonly path: string; readonly identity: DirectoryIdentity } | null;
}

/** Returns true if two looks at one path saw the same directory. */
export function isSameDirectory(a: DirectoryIdentity, b: DirectoryIdentity): boolean {
  if (a.inode !== b.inode) return false;
  if (a.birthNs === b.birthNs) return true;
  // Without birth times, the platform may report the change time instead, which proves nothing.
  return a.birthNs === a.changedNs && b.birthNs === b.changedNs;
}

/**
 * Looks at a directory; null if it does not exist.
 * @param filePath path below it of a file that is likely to stay
 */
export async function seeDirectory(
  disk: Disk,
  directory: string,
  filePath: string | undefined,
): Promise<SeenDirectory | null> {
  const stat = await disk.stat(directory);
  if (stat === null) return null;
  const file = filePath === undefined ? null : await disk.stat(join(directory, filePath));
  return {
    directory: stat,
    file: filePath === undefined || file === null ? null : { path: filePath, identity: file },
  };
}

/**
 * Returns true if the directory under a path is one that was seen under this path or another.
 * @param recentStat its current stat, which saves a look
 */
export async function isSeenDirectory(
  disk: Disk,
  path: string,
  seen: SeenDirectory,
  recentStat?: FileStat,
): Promise<boolean> {
  const stat = recentStat ?? (await disk.stat(path));
  if (stat === null || stat.inode !== seen.directory.inode) return false;
  if (isSameDirectory(stat, seen.directory)) return true;
  const file = seen.file && (await disk.stat(join(path, seen.file.path)));
  return seen.file !== null && file !== null && isSameDirectory(file, seen.file.identity);
}
