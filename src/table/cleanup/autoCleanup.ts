/** Cleans up after commits, if a table's config asks for it (cleanupRule.ts). */

import { lazyModule } from "../../async/lazy.js";
import { findLine } from "../refs/refs.js";
import type { OpenVersion } from "../versions/tableAt.js";
import { autoCleanupPolicy } from "./cleanupRule.js";

/** Few tables ask for cleanups. */
const cleaning = lazyModule(() => import("./cleanup.js"));

/** Milliseconds to wait for the lock: the commit is acknowledged only after the cleanup. */
const LOCK_WAIT_MS = 1000;

/**
 * Cleans up if the config asks for it. Errors are not reported: the commit stands, and the next cleanup
 * removes the rest. Tagged versions stay, and other versions are removed nevertheless.
 */
export async function cleanUpAfterCommit({ table, version, file }: OpenVersion): Promise<void> {
  const { manifest } = file;
  try {
    const policy = autoCleanupPolicy(manifest.config, version);
    if (policy === null) return;
    // Do not trust the branch name in the manifest: its writer could choose whose versions are removed.
    const line = await findLine(table.environment, table.root);
    const { cleanUpVersions } = await cleaning.get();
    await cleanUpVersions(line, { ...policy, keptVersion: version - 1, waitMs: LOCK_WAIT_MS });
  } catch {
    // The next cleanup removes the rest.
  }
}
