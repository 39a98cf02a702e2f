/** Checks now and then that the values of a backfill are still wanted: the column may have been dropped. */

import { performance } from "../../async/timers.js";
import { TableGoneError } from "../../table/versions/identity.js";
import { findLatestVersion } from "../../table/versions/latestVersion.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenVersion, TableAt } from "../../table/versions/tableAt.js";

/** Milliseconds between two checks. */
const LOOK_MS = 1000;

/**
 * Returns the check, which throws TableGoneError, and errors of `requireColumn`.
 * @param requireColumn rejects if a version lacks the column, or declares it differently
 */
export function columnWatch(
  table: TableAt,
  requireColumn: (latest: OpenVersion) => Promise<unknown>,
): () => Promise<void> {
  let lookedMs = performance.now();
  let lookedVersion = 0;
  return async () => {
    const nowMs = performance.now();
    if (nowMs - lookedMs < LOOK_MS) return;
    lookedMs = nowMs;
    const entry = await findLatestVersion(table);
    if (entry === null) throw new TableGoneError(table.root);
    if (entry.version === lookedVersion) return;
    const open = await openVersion(table, entry);
    // If a version was cleaned up meanwhile, a later one follows it.
    if (open !== null) await requireColumn(open);
    lookedVersion = entry.version;
  };
}
