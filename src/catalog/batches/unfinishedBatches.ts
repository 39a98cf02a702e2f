/** Looks for unfinished batches before other work. Loads batchRecovery.ts only if there are any. */

import { lazyModule } from "../../async/lazy.js";
import type { UnfinishedBatches } from "../../table/versions/tableAt.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import { listReadableBatches } from "./batchDirectories.js";
import type { RecoveryOptions } from "./batchRecovery.js";
import type { BatchScope } from "./batchScope.js";

const recovery = lazyModule(() => import("./batchRecovery.js"));

/**
 * Recovers the batches of other processes, see {@link recoverBatches}. Without batches, it costs one look at
 * a missing directory.
 */
export async function recoverAbandoned(
  environment: CatalogEnvironment,
  scope: BatchScope,
  options: RecoveryOptions = {},
): Promise<void> {
  const listed = listReadableBatches(environment.disk, environment.root);
  if (await isEmpty(listed)) return;
  const { recoverBatches } = await recovery.get();
  await recoverBatches(environment, scope, listed, options);
}

/** Returns true if an unfinished batch concerns the scope, see {@link hasUnfinished}. */
export async function hasUnfinishedBatch(
  environment: CatalogEnvironment,
  scope: BatchScope,
): Promise<boolean> {
  const listed = listReadableBatches(environment.disk, environment.root);
  if (await isEmpty(listed)) return false;
  const { hasUnfinished } = await recovery.get();
  return hasUnfinished(environment, scope, listed);
}

/** Returns the interface through which the table layer asks about batches. */
export const unfinishedBatches = (environment: CatalogEnvironment): UnfinishedBatches => ({
  present: (tableRoot) => hasUnfinishedBatch(environment, scopeOf(tableRoot)),
  recover: (tableRoot, signal) => recoverAbandoned(environment, scopeOf(tableRoot), { signal }),
});

const scopeOf = (tableRoot: string): BatchScope => ({ kind: "tables", directories: [tableRoot] });

/** Returns true if there is certainly no batch. The recovery decides what a failed listing means. */
const isEmpty = (listed: Promise<readonly string[]>): Promise<boolean> =>
  listed.then(
    (directories) => directories.length === 0,
    () => false,
  );
