/**
 * Handles the gap file: the last jump in the numbering of a table's versions. A writer that skips numbers or
 * removes versions first records the jump, durably and under the table's lock.
 */

import { encodeSealedJson } from "../../bytes/sealedJson.js";
import type { LockLease } from "../../io/disk/locks.js";
import { replaceFile } from "../../io/publish.js";
import { isCount } from "./jsonValues.js";
import { readNumberingNote } from "./numberingNote.js";
import { gapsPath, sideDirectory } from "./paths.js";
import type { VersionsAt } from "./versions.js";

/** A jump in the numbering: no version between the two exists, or will exist while `to` is the latest. */
export interface VersionGap {
  readonly from: number;
  readonly to: number;
}

function parseGap(value: unknown): VersionGap | null {
  if (typeof value !== "object" || value === null) return null;
  const { from, to } = value as { from?: unknown; to?: unknown };
  return isCount(from) && isCount(to) && from < to ? { from, to } : null;
}

/** Returns the last recorded jump; null if there is none. */
export async function readGap(table: VersionsAt): Promise<VersionGap | null> {
  const gap = await readGapFile(table);
  return gap === "garbage" ? null : gap;
}

/** Reads the gap file. Few tables have one, and a stat costs far less than a failed opening. */
export const readGapFile = async (table: VersionsAt): Promise<VersionGap | null | "garbage"> =>
  (await table.disk.stat(gapsPath(table.root))) === null
    ? null
    : readNumberingNote(table.disk, gapsPath(table.root), parseGap);

/** Records a jump; durable on return. The caller holds the table's lock, and publishes `to` afterwards. */
export async function writeGap(table: VersionsAt, gap: VersionGap, lease?: LockLease): Promise<void> {
  await table.disk.makeDirectory(sideDirectory(table.root), table.root);
  await replaceFile(table.disk, gapsPath(table.root), encodeSealedJson(gap), { sync: true, lease });
}

/**
 * Records, before versions are removed, that the successor of a version may be missing. From then on, no hint
 * below the latest proves anything. Durable on return. The caller holds the table's lock.
 */
export async function noteRemovedVersions(table: VersionsAt, latest: number): Promise<void> {
  const gap = await readGap(table);
  // A recorded jump to the latest has the same effect.
  if (gap?.to !== latest) await writeGap(table, { from: latest - 1, to: latest });
}
