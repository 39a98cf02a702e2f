/** Where batches lie: see batchJournal.ts. */

import { UUID_FORM } from "../../ident.js";
import type { Disk } from "../../io/disk/disk.js";
import { isUnwritable } from "../../io/disk/errno.js";
import { join } from "../../platform/native.js";

const BATCHES_DIRECTORY = ".tiltyard-batches";

export const batchesDirectory = (root: string): string => join(root, BATCHES_DIRECTORY);

/** Directories of batches, decided or not, in the order in which they are to be looked at. */
async function listBatches(disk: Disk, root: string): Promise<string[]> {
  // Every operation asks this: the error for listing a missing directory costs more than all the rest of many
  // operations.
  if ((await disk.stat(batchesDirectory(root))) === null) return [];
  const entries = await disk.list(batchesDirectory(root));
  if (entries === null) return [];
  return entries
    .filter((entry) => entry.kind === "directory" && UUID_FORM.test(entry.name))
    .map((entry) => join(batchesDirectory(root), entry.name))
    .sort();
}

/** The same; none where this user may not look, and so could not bring a batch to an end. */
export async function listReadableBatches(disk: Disk, root: string): Promise<string[]> {
  try {
    return await listBatches(disk, root);
  } catch (error) {
    if (isUnwritable(error)) return [];
    throw error;
  }
}
