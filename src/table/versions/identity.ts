/**
 * Distinguishes a table or branch from a later one under its path. A table may be dropped and created again,
 * a branch deleted and made again, or a directory restored from a copy. Paths and version numbers do not
 * distinguish them.
 *
 * - A manifest holds the random id of its transaction and the time of its commit, so its bytes belong to one
 *   version of one table. While the version that a change was planned on exists, its bytes decide.
 * - If that version was cleaned up, the directory of versions must be the same. The file system assigns inode
 *   and birth time, and reuses an inode only with another birth time. On overlayfs, the first change of a
 *   directory gives it a new birth time, but not a file in it.
 *
 * The proof holds at the moment of a commit, because the manifest to publish lies in that directory, as a
 * temporary file, before the check begins (io/publish.ts).
 */

import { ConcurrentModificationError, TableNotFoundError } from "../../errors.js";
import { isSameDirectory, isSeenDirectory, type SeenDirectory, seeDirectory } from "./directoryIdentity.js";
import { versionsDirectory } from "./paths.js";
import type { OpenLatest, TableAt } from "./tableAt.js";
import type { VersionsAt } from "./versions.js";

/** State of the table that a change was planned on. */
export type TableAnchor =
  | { readonly kind: "version"; readonly base: OpenLatest }
  | {
      /** A table without versions. */
      readonly kind: "declared";
      readonly seen: SeenDirectory;
    }
  /** No table: the change makes it and its directory. */
  | { readonly kind: "absent" };

export const ABSENT: TableAnchor = { kind: "absent" };

/** Thrown when the table that a change was planned on was replaced by another, or removed. */
export class TableReplacedError extends ConcurrentModificationError {
  constructor(tableRoot: string) {
    super(`${tableRoot}: the table was dropped or replaced by another writer meanwhile`);
  }
}

/** Thrown when a table or branch has lost its versions, or its directory, since it was opened. */
export class TableGoneError extends TableNotFoundError {
  constructor(tableRoot: string, options?: { cause: unknown }) {
    super(`there is no table at ${tableRoot}`, options);
  }
}

export const anchorOf = (base: OpenLatest): TableAnchor => ({ kind: "version", base });

export async function declaredAnchor(table: VersionsAt): Promise<TableAnchor> {
  const entries = (await table.disk.list(table.root)) ?? [];
  const seen = await seeDirectory(table.disk, table.root, entries.find(({ kind }) => kind === "file")?.name);
  if (seen === null) throw new TableReplacedError(table.root);
  return { kind: "declared", seen };
}

/**
 * Checks that the table under a path is the one that a change was planned on.
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
