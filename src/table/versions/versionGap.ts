/**
 * Reads the gap file: the last jump in the numbering of a table's versions. A writer that skips numbers or
 * removes versions first records the jump, durably and under the table's lock.
 */

import { isCount } from "./jsonValues.js";
import { readNumberingNote } from "./numberingNote.js";
import { gapsPath } from "./paths.js";
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
