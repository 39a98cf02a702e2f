/** The hint: a file that names the latest version, or one shortly before it. */

import type { Disk, WriteHandle } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { replaceFile } from "../../io/publish.js";
import { isCount } from "./jsonValues.js";
import { readNumberingNote } from "./numberingNote.js";
import { hintPath } from "./paths.js";
import type { VersionsAt } from "./versions.js";

/** The version that the hint names; null where there is no hint. */
export const readHint = (table: VersionsAt): Promise<number | null | "garbage"> =>
  readNumberingNote(table.disk, hintPath(table.root), parseHint);

function parseHint(value: unknown): number | null {
  if (typeof value !== "object" || value === null) return null;
  const { version } = value as { version?: unknown };
  return isCount(version) ? version : null;
}

/** Every hint of ours has this length, so that the next one can be written in its place. */
const HINT_BYTES = 32;

/**
 * Notes the latest version for the next lookup. Losing the hint costs a directory listing, so it is not
 * synced, it may be read half written, and a failure does not fail the commit. The hint is written in place,
 * because file systems may hurry a file to the device that is renamed onto another.
 * @param options `isFirst`: in all likelihood there is no hint yet
 */
export async function writeHint(
  table: VersionsAt,
  version: number,
  options: { readonly isFirst?: boolean } = {},
): Promise<void> {
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

/** False where there is a hint already. */
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
