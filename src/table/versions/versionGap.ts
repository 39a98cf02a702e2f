/**
 * The gap file: the last jump in the numbering of a table's versions. A writer that skips numbers or removes
 * versions records the jump first, durably and under the table's lock. Only the last jump is kept.
 */

import { encodeSealedJson } from "../../bytes/sealedJson.js";
import type { LockLease } from "../../io/lock/lease.js";
import { replaceFile } from "../../io/publish.js";
import { isCount } from "./jsonValues.js";
import { readNumberingNote } from "./numberingNote.js";
import { gapsPath, sideDirectory } from "./paths.js";
import type { VersionsAt } from "./versions.js";

/** A jump in the numbering: no version between the two was or will be made while `to` is the latest. */
export interface VersionGap {
  readonly from: number;
  readonly to: number;
}

function parseGap(value: unknown): VersionGap | null {
  if (typeof value !== "object" || value === null) return null;
  const { from, to } = value as { from?: unknown; to?: unknown };
  return isCount(from) && isCount(to) && from < to ? { from, to } : null;
}

/** The last recorded jump, or null where none is known. */
export async function readGap(table: VersionsAt): Promise<VersionGap | null> {
  const gap = await readGapFile(table);
  return gap === "garbage" ? null : gap;
}

/**
 * Few tables have the file, so its existence is checked first: that is far cheaper than the error for opening
 * a missing file.
 */
export const readGapFile = async (table: VersionsAt): Promise<VersionGap | null | "garbage"> =>
  (await table.disk.stat(gapsPath(table.root))) === null
    ? null
    : readNumberingNote(table.disk, gapsPath(table.root), parseGap);

/** Records a jump; durable on return. Must be called under the table's lock before `to` is published. */
export async function writeGap(table: VersionsAt, gap: VersionGap, lease?: LockLease): Promise<void> {
  await table.disk.makeDirectory(sideDirectory(table.root), table.root);
  await replaceFile(table.disk, gapsPath(table.root), encodeSealedJson(gap), { sync: true, lease });
}

/**
 * Records, before versions are removed, that the successor of a version may be missing: from here on, no hint
 * below the latest proves anything. Durable on return. Must be called under the table's lock.
 */
export async function noteRemovedVersions(table: VersionsAt, latest: number): Promise<void> {
  const gap = await readGap(table);
  // A recorded jump to the latest says the same.
  if (gap?.to !== latest) await writeGap(table, { from: latest - 1, to: latest });
}
