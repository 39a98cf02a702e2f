/** CleanupTable: removes old versions and unneeded files; beyond the spec. */

import { forgetOutcomes } from "../../catalog/batches/batchJournal.js";
import { sweepCreations } from "../../catalog/places/leftovers.js";
import { InvalidTableStateError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { CleanupTableRequest, CleanupTableResponse } from "../../namespace.js";
import { type CleanupOptions, cleanUpVersions } from "../../table/cleanup/cleanup.js";
import type { OperationContext } from "../context.js";
import { optionalBoolean, optionalCount } from "../request.js";
import { openTable } from "../snapshot.js";

const DEFAULT_OLDER_THAN_MS = 7 * 24 * 60 * 60 * 1000;

export async function cleanupTable(
  context: OperationContext,
  request: CleanupTableRequest,
): Promise<CleanupTableResponse> {
  const { signal } = request;
  const options: CleanupOptions = {
    olderThanMs: optionalCount(request.olderThanMs, "olderThanMs") ?? DEFAULT_OLDER_THAN_MS,
    retainVersions: optionalCount(request.retainVersions, "retainVersions", 1),
    deleteUnverified: optionalBoolean(request.deleteUnverified, "deleteUnverified"),
    errorIfTagged: optionalBoolean(request.errorIfTagged, "errorIfTagged"),
    signal,
  };
  const { table, at, latest } = await openTable(context, request);
  if (latest === null) {
    throw new InvalidTableStateError(
      `table ${formatIdentifier(table.id)} is only declared: it has no versions to clean up`,
    );
  }
  const removed = await cleanUpVersions(at, options);
  const { leftoversRemoved, ...counts } = removed;
  const { dataFilesRemoved, deletionFilesRemoved, transactionFilesRemoved, indexFilesRemoved } = counts;
  // Leftovers of other tables are not the purpose of this call: a failure is left to the next one.
  await sweepCreations(context, signal).catch(() => undefined);
  await forgetOutcomes(context.disk, context.root);
  const named = dataFilesRemoved + deletionFilesRemoved + transactionFilesRemoved + indexFilesRemoved;
  return { ...counts, filesRemoved: named + leftoversRemoved };
}
