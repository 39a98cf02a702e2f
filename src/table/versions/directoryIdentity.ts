/** Tells a directory from any other that comes to lie under its path. */

import type { Disk, FileStat } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";

/** A directory, as it was seen at some time. */
export type DirectoryIdentity = Pick<FileStat, "inode" | "birthNs" | "changedNs">;

/** A directory that may be changed or moved before it is looked at again. */
export interface SeenDirectory {
  readonly directory: DirectoryIdentity;
  /** A file below it, and its path from there. */
  readonly file: { readonly path: string; readonly identity: DirectoryIdentity } | null;
}

/** True if two looks at one path saw the same directory. */
export function isSameDirectory(a: DirectoryIdentity, b: DirectoryIdentity): boolean {
  if (a.inode !== b.inode) return false;
  if (a.birthNs === b.birthNs) return true;
  // Where the platform keeps no time of birth, the time of the last change may stand in for it, and then says
  // nothing.
  return a.birthNs === a.changedNs && b.birthNs === b.changedNs;
}

/**
 * A directory as it is now; null where there is none.
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
 * True if the directory under a path is one that was seen under this path or another.
 * @param known its stat from a moment ago, which saves a look
 */
export async function isSeenDirectory(
  disk: Disk,
  path: string,
  seen: SeenDirectory,
  known?: FileStat,
): Promise<boolean> {
  const stat = known ?? (await disk.stat(path));
  if (stat === null || stat.inode !== seen.directory.inode) return false;
  if (isSameDirectory(stat, seen.directory)) return true;
  const file = seen.file && (await disk.stat(join(path, seen.file.path)));
  return seen.file !== null && file !== null && isSameDirectory(file, seen.file.identity);
}
