/**
 * Tells a table or branch from any other that comes to lie under its path: a table that was dropped and created
 * again, a branch that was deleted and made again, a directory that was restored from a copy. The path and the
 * numbers of the versions tell nothing.
 *
 * - A manifest holds the random id of its transaction and the time of its commit, so its bytes belong to one version
 *   of one table. While the version that a change was planned on exists, its bytes decide.
 * - Where that version was cleaned up, the directory of the versions must be the one that it lay in. The file system
 *   assigns inode and time of birth, and reuses an inode only with another time of birth. overlayfs gives a directory
 *   a new time of birth when it is changed for the first time, but not a file in it.
 *
 * The proof holds for the moment of a commit because the manifest to be published lies in that directory, as a
 * temporary file, before the check begins (io/publish.ts).
 */

import { ConcurrentModificationError, TableNotFoundError } from "../../errors.js";
import type { Disk, FileStat } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";
import type { ManifestFile } from "./manifest.js";
import { versionsDirectory } from "./paths.js";

/** A directory, as it was seen at some time. */
export type DirectoryIdentity = Pick<FileStat, "inode" | "birthNs" | "changedNs">;

/** What a change was planned on. */
export type TableAnchor =
  | {
      readonly kind: "version";
      readonly file: ManifestFile;
      /** The directory of the versions that it lies in. */
      readonly directory: DirectoryIdentity;
    }
  | {
      /** A table without versions. */
      readonly kind: "declared";
      /** The table's directory. */
      readonly seen: SeenDirectory;
    }
  /** No table: the change makes it, and its directory. */
  | { readonly kind: "absent" };

/** A directory that may be changed or moved before it is looked at again. */
export interface SeenDirectory {
  readonly directory: DirectoryIdentity;
  /** A file below it, and its path from there. */
  readonly file: { readonly path: string; readonly identity: DirectoryIdentity } | null;
}

/** The anchor of a change that makes a table. */
export const ABSENT: TableAnchor = { kind: "absent" };

/** The table that a change was planned on was replaced by another, or removed. */
export class TableReplacedError extends ConcurrentModificationError {
  constructor(tableRoot: string) {
    super(`${tableRoot}: the table was dropped or replaced by another writer meanwhile`);
  }
}

/** A table or branch that existed when it was opened has no versions, or no directory, any more. */
export class TableGoneError extends TableNotFoundError {
  constructor(tableRoot: string, options?: { cause: unknown }) {
    super(`there is no table at ${tableRoot}`, options);
  }
}

/** Whether two looks at one path saw the same directory. */
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
 * Whether the directory under a path is one that was seen under this path or another.
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

/** The anchor of a table that has no versions. */
export async function declaredAnchor(disk: Disk, tableRoot: string): Promise<TableAnchor> {
  const entries = (await disk.list(tableRoot)) ?? [];
  const seen = await seeDirectory(disk, tableRoot, entries.find(({ kind }) => kind === "file")?.name);
  if (seen === null) throw new TableReplacedError(tableRoot);
  return { kind: "declared", seen };
}

/**
 * Makes sure that the table under a path is the one that a change was planned on.
 * @param readFile reads the manifest under a path as it is now; null where there is none
 * @throws TableReplacedError
 */
export async function requireAnchor(
  disk: Disk,
  tableRoot: string,
  anchor: TableAnchor,
  readFile: (path: string) => Promise<ManifestFile | null>,
): Promise<void> {
  if (anchor.kind === "absent") return;
  if (anchor.kind === "version") {
    const current = await readFile(anchor.file.path);
    if (current?.isCopyOf(anchor.file) === true) return;
    if (current !== null) throw new TableReplacedError(tableRoot);
  }
  if (anchor.kind === "declared") {
    if (await isSeenDirectory(disk, tableRoot, anchor.seen)) return;
    throw new TableReplacedError(tableRoot);
  }
  const stat = await disk.stat(versionsDirectory(tableRoot));
  if (stat === null || !isSameDirectory(stat, anchor.directory)) throw new TableReplacedError(tableRoot);
}
