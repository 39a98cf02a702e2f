/** Writes the hint, a file that names the latest version, or one shortly before it. */

import type { Disk, WriteHandle } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { replaceFile } from "../../io/publish.js";
import { hintPath } from "./paths.js";
import type { VersionsAt } from "./versions.js";

/** Length of every hint of ours, so that the next one can overwrite it. */
const HINT_BYTES = 32;

/**
 * Records the latest version for the next lookup. A lost hint only costs a directory listing. So the hint is
 * not synced, readers may see it half written, and a failure does not fail the commit. It is overwritten in
 * place, because some file systems flush a file that is renamed onto another.
 * @param options `isFirst`: most likely there is no hint yet
 */
export async function writeHint(
  table: VersionsAt,
  version: number,
  options: { readonly isFirst?: boolean } = {},
): Promise<void> {
  // On a private disk, readers count up from a version that they know.
  if (table.disk.isPrivate === true) return;
  const path = hintPath(table.root);
  const bytes = new TextEncoder().encode(JSON.stringify({ version }).padEnd(HINT_BYTES));
  try {
    if (options.isFirst === true && (await createHint(table.disk, path, bytes))) return;
    if ((await table.disk.overwrite?.(path, bytes)) !== true)
      await replaceFile(table.disk, path, bytes, { sync: false });
  } catch {
    // A missing hint costs a listing.
  }
}

/** Creates the hint; returns false if it exists. */
async function createHint(disk: Disk, path: string, bytes: Uint8Array): Promise<boolean> {
  let handle: WriteHandle;
  try {
    handle = await disk.create(path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
  try {
    await handle.write([bytes]);
  } finally {
    await handle.close();
  }
  return true;
}
