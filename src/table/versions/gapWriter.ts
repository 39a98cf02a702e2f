/** Writes the gap file: the last jump in the numbering of a table's versions (versionGap.ts). */

import { encodeSealedJson } from "../../bytes/sealedJson.js";
import type { LockLease } from "../../io/disk/locks.js";
import { replaceFile } from "../../io/publish.js";
import { gapsPath, sideDirectory } from "./paths.js";
import { readGap, type VersionGap } from "./versionGap.js";
import type { VersionsAt } from "./versions.js";

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
