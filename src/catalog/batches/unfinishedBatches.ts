/**
 * Looks for batches that others left, before anything else is done. What brings them to an end
 * (batchRecovery.ts) is loaded where there are any.
 */

import { lazyModule } from "../../async/lazy.js";
import type { UnfinishedBatches } from "../../table/versions/tableAt.js";
import type { CatalogEnvironment } from "../rows/catalogTable.js";
import { listReadableBatches } from "./batchDirectories.js";
import type { RecoveryOptions } from "./batchRecovery.js";
import type { BatchScope } from "./batchScope.js";

const settlement = lazyModule(() => import("./batchRecovery.js"));

/**
 * What {@link settleBatches} does, where there are batches. Where there are none, it costs one look at a
 * missing directory.
 */
export async function recoverAbandoned(
  environment: CatalogEnvironment,
  scope: BatchScope,
  options: RecoveryOptions = {},
): Promise<void> {
  const listed = listReadableBatches(environment.disk, environment.root);
  if (await isEmpty(listed)) return;
  const { recoverBatches } = await settlement.get();
  await recoverBatches(environment, scope, listed, options);
}

/** What {@link hasUnfinished} says, where there are batches. */
export async function areAnyLeft(environment: CatalogEnvironment, scope: BatchScope): Promise<boolean> {
  const listed = listReadableBatches(environment.disk, environment.root);
  if (await isEmpty(listed)) return false;
  const { hasUnfinished } = await settlement.get();
  return hasUnfinished(environment, scope, listed);
}

/** The questions of the table layer about batches. */
export const unfinishedBatches = (environment: CatalogEnvironment): UnfinishedBatches => ({
  present: (tableRoot) => areAnyLeft(environment, scopeOf(tableRoot)),
  recover: (tableRoot, signal) => recoverAbandoned(environment, scopeOf(tableRoot), { signal }),
});

const scopeOf = (tableRoot: string): BatchScope => ({ kind: "tables", directories: [tableRoot] });

/**
 * True if there is certainly nothing. What a listing that failed means is for those to decide who are to
 * settle batches.
 */
const isEmpty = (listed: Promise<readonly string[]>): Promise<boolean> =>
  listed.then(
    (directories) => directories.length === 0,
    () => false,
  );
