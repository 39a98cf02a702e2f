/** Gives files another name on any disk, also on one that cannot rename. */

import type { Disk } from "./disk/disk.js";
import { nullIfMissing } from "./disk/errno.js";
import { MissingVerbError } from "./disk/missingVerb.js";

/**
 * Gives a file another name, and replaces a file of that name. A disk without renames copies the file and
 * then removes it. Both exist in between, and stay after a crash.
 * @returns false if the file does not exist
 */
export async function moveFile(disk: Disk, fromPath: string, toPath: string): Promise<boolean> {
  if (disk.hasRename !== false) return (await disk.rename(fromPath, toPath).catch(nullIfMissing)) !== null;
  if (disk.replaceIf === undefined) throw new MissingVerbError("replaceIf", toPath);
  const bytes = await disk.readFile(fromPath);
  if (bytes === null) return false;
  await disk.replaceIf(toPath, [bytes], null);
  await disk.remove(fromPath);
  return true;
}
