/** CleanupTable: removes old versions and unneeded files. This operation is not in the namespace spec. */

import { ageClockMs } from "../../async/timers.js";
import { forgetOutcomes } from "../../catalog/batches/batchJournal.js";
import { sweepCreations } from "../../catalog/locations/orphans.js";
import { InvalidInputError, InvalidTableStateError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { CleanupTableResponse } from "../../namespace/upkeep.js";
import { type CleanupOptions, cleanUpVersions } from "../../table/cleanup/cleanup.js";
import { previewCleanup } from "../../table/cleanup/cleanupPreview.js";
import { DEFAULT_OLDER_THAN_MS } from "../../table/cleanup/cleanupRule.js";
import type { OperationContext } from "../context.js";
import { doLongWork, isDryRun, longWorkOptions } from "../longWork.js";
import type { OperationBody } from "../operation.js";
import { optionalBoolean, optionalCount, optionalMoment } from "../request.js";
import { type OpenTable, openTable } from "../snapshot.js";

export const cleanupTable: OperationBody<"cleanupTable"> = async (context, request) => {
  const olderThanMs = optionalCount(request.olderThanMs, "olderThanMs");
  const moment = optionalMoment(request.olderThan, "olderThan");
  if (moment !== undefined && olderThanMs !== undefined) {
    throw new InvalidInputError("olderThan and olderThanMs: give one of them");
  }
  const policy = {
    retainVersions: optionalCount(request.retainVersions, "retainVersions", 1),
    deleteUnverified: optionalBoolean(request.deleteUnverified, "deleteUnverified"),
    errorIfTagged: optionalBoolean(request.errorIfTagged, "errorIfTagged"),
  };
  // The age of a moment is computed when the work begins, which may be later.
  const ageMs = () =>
    moment === undefined ? (olderThanMs ?? DEFAULT_OLDER_THAN_MS) : Math.max(0, ageClockMs() - moment);
  const how = longWorkOptions(request);
  const open = await openTable(context, request);
  if (open.latest === null) {
    throw new InvalidTableStateError(
      `table ${formatIdentifier(open.entry.id)} is only declared: it has no versions to clean up`,
    );
  }
  if (isDryRun(request)) return previewOf(open, { ...policy, olderThanMs: ageMs(), signal: request.signal });
  return doLongWork(context, request, how, {
    kind: "cleanup",
    unit: "versions",
    table: open,
    parameters: { ...policy, ...(moment === undefined ? { olderThanMs: ageMs() } : { olderThan: moment }) },
    work: (control) => cleanUp(context, open, { ...policy, olderThanMs: ageMs(), ...control }),
  });
};

async function previewOf({ table }: OpenTable, options: CleanupOptions): Promise<CleanupTableResponse> {
  const { orphansRemoved, ...counts } = await previewCleanup(table, options);
  const { dataFilesRemoved, deletionFilesRemoved, transactionFilesRemoved, indexFilesRemoved } = counts;
  const countedFiles = dataFilesRemoved + deletionFilesRemoved + transactionFilesRemoved + indexFilesRemoved;
  return { ...counts, filesRemoved: countedFiles + orphansRemoved };
}

async function cleanUp(
  context: OperationContext,
  { table }: OpenTable,
  options: CleanupOptions,
): Promise<CleanupTableResponse> {
  const { signal } = options;
  const removed = await cleanUpVersions(table, options);
  const { orphansRemoved, ...counts } = removed;
  const { dataFilesRemoved, deletionFilesRemoved, transactionFilesRemoved, indexFilesRemoved } = counts;
  // Orphans of other tables are not the purpose of this call. After a failure, the next cleanup removes them.
  await sweepCreations(context, signal).catch(() => undefined);
  await context.jobs
    .get()
    .then((jobs) => jobs.sweep(signal))
    .catch(() => undefined);
  await forgetOutcomes(context.disk, context.root);
  const countedFiles = dataFilesRemoved + deletionFilesRemoved + transactionFilesRemoved + indexFilesRemoved;
  return { ...counts, filesRemoved: countedFiles + orphansRemoved };
}
