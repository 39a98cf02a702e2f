/**
 * Looks for batches that others left, before anything else is done. What brings them to an end (batchSettlement.ts) is
 * loaded where there are any.
 */

import { deferred } from "../../async/deferred.js";
import type { UnfinishedBatches } from "../../table/versions/tableAt.js";
import type { CatalogEnvironment } from "../rows/catalogTable.js";
import { listBatches } from "./batchDirectories.js";
import type { BatchScope } from "./batchScope.js";
import type { SettleOptions } from "./batchSettlement.js";

const settlement = deferred(() => import("./batchSettlement.js"));

/** What {@link settleBatches} does, where there are batches. */
export async function settleThoseLeft(
  environment: CatalogEnvironment,
  scope: BatchScope,
  options: SettleOptions = {},
): Promise<void> {
  if (!(await mayHaveBatches(environment))) return;
  const { settleBatches } = await settlement.get();
  await settleBatches(environment, scope, options);
}

/** The questions of the table layer about batches. */
export const unfinishedBatches = (environment: CatalogEnvironment): UnfinishedBatches => ({
  async present(tableRoot) {
    if (!(await mayHaveBatches(environment))) return false;
    const { hasUnfinished } = await settlement.get();
    return hasUnfinished(environment, scopeOf(tableRoot));
  },
  settle: (tableRoot, signal) => settleThoseLeft(environment, scopeOf(tableRoot), { signal }),
});

const scopeOf = (tableRoot: string): BatchScope => ({ kind: "tables", directories: [tableRoot] });

/** True also where nobody can tell: what is to become of that is for those to decide who are to settle them. */
async function mayHaveBatches({ disk, root }: CatalogEnvironment): Promise<boolean> {
  try {
    return (await listBatches(disk, root)).length > 0;
  } catch {
    return true;
  }
}
