/**
 * Tells a table or branch from any other that comes to lie under its path: a table that was dropped and
 * created again, a branch that was deleted and made again, a directory that was restored from a copy. The
 * path and the numbers of the versions tell nothing.
 *
 * - A manifest holds the random id of its transaction and the time of its commit, so its bytes belong to one
 *   version of one table. While the version that a change was planned on exists, its bytes decide.
 * - Where that version was cleaned up, the directory of the versions must be the one that it lay in. The file
 *   system assigns inode and time of birth, and reuses an inode only with another time of birth. overlayfs
 *   gives a directory a new time of birth when it is changed for the first time, but not a file in it.
 *
 * The proof holds for the moment of a commit because the manifest to be published lies in that directory, as
 * a temporary file, before the check begins (io/publish.ts).
 */

import { ConcurrentModificationError, TableNotFoundError } from "../../errors.js";
import { isSameDirectory, isSeenDirectory, type SeenDirectory, seeDirectory } from "./directoryIdentity.js";
import { versionsDirectory } from "./paths.js";
import type { OpenLatest, TableAt } from "./tableAt.js";
import type { VersionsAt } from "./versions.js";

/** What a change was planned on. */
export type TableAnchor =
  | { readonly kind: "version"; readonly base: OpenLatest }
  | {
      /** A table without versions. */
      readonly kind: "declared";
      /** The table's directory. */
      readonly seen: SeenDirectory;
    }
  /** No table: the change makes it, and its directory. */
  | { readonly kind: "absent" };

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

/** The anchor of a change that is planned on a version. */
export const anchorOf = (base: OpenLatest): TableAnchor => ({ kind: "version", base });

/** The anchor of a table that has no versions. */
export async function declaredAnchor(table: VersionsAt): Promise<TableAnchor> {
  const entries = (await table.disk.list(table.root)) ?? [];
  const seen = await seeDirectory(table.disk, table.root, entries.find(({ kind }) => kind === "file")?.name);
  if (seen === null) throw new TableReplacedError(table.root);
  return { kind: "declared", seen };
}

/**
 * Makes sure that the table under a path is the one that a change was planned on.
 * @throws TableReplacedError
 */
export async function requireAnchor(table: TableAt, anchor: TableAnchor): Promise<void> {
  const { disk, root } = table;
  if (anchor.kind === "absent") return;
  if (anchor.kind === "declared") {
    if (await isSeenDirectory(disk, root, anchor.seen)) return;
    throw new TableReplacedError(root);
  }
  const { file, directory } = anchor.base;
  const current = await table.environment.manifests.read(disk, file.path);
  if (current?.isCopyOf(file) === true) return;
  if (current !== null) throw new TableReplacedError(root);
  const stat = await disk.stat(versionsDirectory(root));
  if (stat === null || !isSameDirectory(stat, directory)) throw new TableReplacedError(root);
}
