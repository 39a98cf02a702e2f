/** Locates the directories of batches, see batchJournal.ts. */

import { UUID_FORM } from "../../ident.js";
import type { Disk } from "../../io/disk/disk.js";
import { isUnwritable } from "../../io/disk/errno.js";
import { join } from "../../platform/native.js";

const BATCHES_DIRECTORY = ".tiltyard-batches";

export const batchesDirectory = (root: string): string => join(root, BATCHES_DIRECTORY);

/**
 * Lists the directories of batches, decided or not, in the order in which they must be examined. Empty if
 * this user may not list them, and so could not finish a batch.
 */
export async function listReadableBatches(disk: Disk, root: string): Promise<string[]> {
  // Without renames there are no batches.
  if (disk.hasRename === false) return [];
  const parent = batchesDirectory(root);
  try {
    // Every operation calls this, and a failed listing of a missing directory would dominate many of them.
    if ((await disk.stat(parent)) === null) return [];
    const entries = (await disk.list(parent)) ?? [];
    return entries
      .filter((entry) => entry.kind === "directory" && UUID_FORM.test(entry.name))
      .map((entry) => join(parent, entry.name))
      .sort();
  } catch (error) {
    if (isUnwritable(error)) return [];
    throw error;
  }
}
