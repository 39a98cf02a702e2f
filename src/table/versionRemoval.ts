/** Taking versions out of a table's history: their manifests, and nothing else of them. */

import type { TableEnvironment } from "./commit.js";
import { versionsDirectory } from "./paths.js";
import { findVersion } from "./versions.js";

/** The caller holds the table's lock, and has made sure that nobody needs the versions. Missing ones are done. */
export async function deleteVersionsUnderLock(
  { disk }: TableEnvironment,
  tableRoot: string,
  versions: readonly number[],
): Promise<number> {
  let count = 0;
  for (const version of versions) {
    const entry = await findVersion(disk, tableRoot, version);
    if (entry === null) continue;
    await disk.remove(entry.path);
    count++;
  }
  if (count > 0) await disk.syncDirectory(versionsDirectory(tableRoot));
  return count;
}
