/**
 * Recovers a build whose process died: the index is committed, or its files are orphans, which are removed. A
 * process that was only suspended finds its files gone and commits nothing.
 */

import { join } from "../../platform/native.js";
import { findTransaction } from "../../table/commit/transactionLookup.js";
import { isJsonObject } from "../../table/versions/jsonValues.js";
import { indicesDirectory } from "../../table/versions/paths.js";
import type { TableAt } from "../../table/versions/tableAt.js";
import { withTableLock } from "../../table/versions/tableLock.js";

const DIRECTORY_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * @param checkpoint state that the build saved: the name of its directory and, before the commit, its
 *   transaction's id
 * @returns the committed index; null if nothing was committed, and the files are removed
 */
export async function resumeBuild(
  table: TableAt,
  checkpoint: unknown,
  signal?: AbortSignal,
): Promise<{ readonly version: number; readonly transactionId: string } | null> {
  if (!isJsonObject(checkpoint)) return null;
  const { directory, transactionId } = checkpoint;
  if (typeof directory !== "string" || !DIRECTORY_FORM.test(directory)) return null;
  // Under the lock no other process publishes, and a former holder notices that it lost the lock.
  return withTableLock(table, { signal }, async () => {
    if (typeof transactionId === "string") {
      const committed = await findTransaction(table, transactionId, { thorough: true, signal });
      if (committed !== null) return { version: committed.version, transactionId };
    }
    await table.disk.removeTree(join(indicesDirectory(table.root), directory));
    return null;
  });
}
