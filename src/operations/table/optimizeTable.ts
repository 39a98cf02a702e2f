/** OptimizeTable: merges small fragments, drops deleted rows, updates indexes. Not in the spec. */

import { InvalidInputError } from "../../errors.js";
import { MAX_FILE_ROWS } from "../../file/writing/writer.js";
import type { DataFragment } from "../../format/table.js";
import type { OptimizeTableRequest, OptimizeTableResponse } from "../../namespace/upkeep.js";
import { compactFragments } from "../../write/compaction/compactFragments.js";
import type { CompactionSettings } from "../../write/compaction/compactionPlan.js";
import { foldIndexes } from "../../write/indexes/foldIndexes.js";
import { doLongWork, longWorkOptions, type WorkControl } from "../longWork.js";
import type { OperationBody } from "../operation.js";
import { optionalBoolean, optionalCount, optionalFraction } from "../request.js";
import { openWritable, type WritableTable } from "../snapshot.js";

const DEFAULT_MAX_DELETED_SHARE = 0.1;

export const optimizeTable: OperationBody<"optimizeTable"> = async (context, request) => {
  const settings = settingsOf(request);
  const options = longWorkOptions(request);
  const table = await openWritable(context, request);
  return doLongWork(context, request, options, {
    kind: "optimize",
    unit: "rows",
    table,
    parameters: { ...settings },
    work: (control) => optimize(table, settings, control),
  });
};

async function optimize(
  table: WritableTable,
  settings: CompactionSettings,
  control: WorkControl,
): Promise<OptimizeTableResponse> {
  const compacted = await compactFragments(table, settings, control);
  const { transactionId, groups, indexedFragments } = compacted;
  const folded = await fold(table, transactionId !== null, control);
  const removed = groups.flatMap(({ oldFragments }) => oldFragments);
  const added = groups.flatMap(({ newFragments }) => newFragments);
  return {
    ...(transactionId !== null
      ? { transactionId }
      : folded !== null && { transactionId: folded.transactionId }),
    version: folded?.version ?? compacted.version,
    fragmentsRemoved: removed.length,
    fragmentsAdded: added.length,
    filesRemoved: fileCount(removed),
    filesAdded: fileCount(added),
    indexedFragmentsLeft: indexedFragments,
    indexesUpdated: folded?.names.length ?? 0,
  };
}

/** Updates the indexes. If the compaction is already published, an abort only skips this step. */
async function fold(table: WritableTable, isCompacted: boolean, control: WorkControl) {
  const isCalledOff = () => isCompacted && control.signal?.aborted === true;
  if (isCalledOff()) return null;
  try {
    return await foldIndexes(table, control);
  } catch (error) {
    if (!isCalledOff()) throw error;
    return null;
  }
}

function settingsOf(request: OptimizeTableRequest): CompactionSettings {
  const targetRows =
    optionalCount(request.targetRowsPerFragment, "targetRowsPerFragment", 1) ?? MAX_FILE_ROWS;
  if (targetRows > MAX_FILE_ROWS) {
    throw new InvalidInputError(`targetRowsPerFragment: must be at most ${MAX_FILE_ROWS}, not ${targetRows}`);
  }
  const member = "materializeDeletionsThreshold";
  const maxDeletedShare = optionalFraction(request[member], member) ?? DEFAULT_MAX_DELETED_SHARE;
  const dropsDeleted = optionalBoolean(request.materializeDeletions, "materializeDeletions") ?? true;
  return { targetRows, maxDeletedShare: dropsDeleted ? maxDeletedShare : 1 };
}

const fileCount = (fragments: readonly DataFragment[]): number =>
  fragments.reduce(
    (sum, { files, deletionFile }) => sum + files.length + (deletionFile === undefined ? 0 : 1),
    0,
  );
