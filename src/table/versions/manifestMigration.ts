/**
 * Renames the manifests of a table or branch from scheme V1 to V2. Each renaming is one step of the file
 * system, so every version has a name at any time. In between, the table mixes both schemes: engines that
 * list the versions refuse it, and nothing is lost. After a crash, the next migration goes on.
 */

import { ConcurrentModificationError, InvalidTableStateError } from "../../errors.js";
import { codeOf } from "../../io/disk/errno.js";
import { moveFile } from "../../io/moveFile.js";
import { hasContent } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import {
  manifestName,
  parseManifestName,
  parseSetAsideName,
  setAsideName,
  versionsDirectory,
} from "./paths.js";
import type { TableAt } from "./tableAt.js";
import { withTableLock } from "./tableLock.js";

/**
 * Migrates a table or branch, under its lock.
 * @returns number of versions that were renamed
 * @throws InvalidTableStateError if a version has different manifests under both names
 */
export async function renameManifestsToV2(table: TableAt, signal?: AbortSignal): Promise<number> {
  const { disk, root } = table;
  const directory = versionsDirectory(root);
  try {
    return await withTableLock(table, { signal }, async (lease) => {
      let renamed = 0;
      let hasRenamed = false;
      for (const { name, kind } of (await disk.list(directory)) ?? []) {
        const target = kind === "file" ? migratedName(name) : null;
        if (target === null) continue;
        signal?.throwIfAborted();
        await refuseOtherFile(table, join(directory, name), join(directory, target));
        await lease.confirm();
        await moveFile(disk, join(directory, name), join(directory, target));
        hasRenamed = true;
        if (parseManifestName(target) !== null) renamed++;
      }
      if (hasRenamed) await disk.syncDirectory(directory);
      return renamed;
    });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new ConcurrentModificationError(`${root} was dropped while its manifests were renamed`, {
      cause: error,
    });
  }
}

/** Returns the name of a file of `_versions` in scheme V2; null if it is none of scheme V1. */
function migratedName(name: string): string | null {
  const manifest = parseManifestName(name);
  if (manifest !== null) return manifest.scheme === "V1" ? manifestName(manifest.version, "V2") : null;
  const removed = parseSetAsideName(name);
  return removed?.scheme === "V1" ? setAsideName(removed.version, "V2", removed.state) : null;
}

/** @throws InvalidTableStateError if the new name belongs to another file */
async function refuseOtherFile({ disk }: TableAt, path: string, target: string): Promise<void> {
  const present = await disk.stat(target);
  if (present === null) return;
  const source = await disk.stat(path);
  if (present.inode !== "" && present.inode === source?.inode) return;
  // A disk without renames copies a file before it removes it.
  const bytes = disk.hasRename === false ? await disk.readFile(path) : null;
  if (bytes !== null && (await hasContent(disk, target, bytes))) return;
  throw new InvalidTableStateError(
    `${path} and ${target} are manifests of one version with different contents`,
  );
}
