/** OptimizeTable: merges small fragments, drops deleted rows, updates indexes. Not in the spec. */

import { InvalidInputError, InvalidTableStateError } from "../../errors.js";
import { MAX_FILE_ROWS } from "../../file/writing/writer.js";
import type { DataFragment } from "../../format/table.js";
import type { OptimizeTableRequest, OptimizeTableResponse } from "../../namespace/upkeep.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { compactFragments, planOfCompaction } from "../../write/compaction/compactFragments.js";
import type { CompactionSettings } from "../../write/compaction/compactionPlan.js";
import { type FoldOptions, foldIndexes, foldWork, outdatedIndexes } from "../../write/indexes/foldIndexes.js";
import { NO_WORK, type WorkDone } from "../../write/workProgress.js";
import { doLongWork, isDryRun, longWorkOptions, type WorkControl } from "../longWork.js";
import type { OperationBody } from "../operation.js";
import type { TellProgress } from "../progress.js";
import { optionalBoolean, optionalCount } from "../request.js";
import { optionalFraction } from "../requestValues.js";
import { openWritable, type WritableTable } from "../snapshot.js";

const DEFAULT_MAX_DELETED_SHARE = 0.1;

export const optimizeTable: OperationBody<"optimizeTable"> = async (context, request) => {
  const settings = settingsOf(request);
  const options = longWorkOptions(request);
  const table = await openWritable(context, request);
  if (isDryRun(request)) return planOf(table, settings, request.signal);
  return doLongWork(context, request, options, {
    kind: "optimize",
    unit: "rows",
    table,
    parameters: { ...settings },
    work: (control) => optimize(table, settings, control),
  });
};

/** Returns what the work would do to the latest version. */
async function planOf(
  { table, latest }: WritableTable,
  settings: CompactionSettings,
  signal: AbortSignal | undefined,
): Promise<OptimizeTableResponse> {
  const base = await openVersion(table, latest);
  if (base === null)
    throw new InvalidTableStateError(`${table.root}: the latest version is gone; please retry`);
  const { groups, indexedFragments } = await planOfCompaction(base, settings, () => signal);
  const removed = groups.flatMap(({ fragments }) => fragments);
  const fragmentsAdded = groups.reduce((sum, { rowCounts }) => sum + rowCounts.length, 0);
  return {
    version: latest.version,
    fragmentsRemoved: removed.length,
    fragmentsAdded,
    filesRemoved: fileCount(removed),
    filesAdded: fragmentsAdded,
    indexedFragmentsLeft: indexedFragments,
    indexesUpdated: outdatedIndexes(base.file).length,
  };
}

async function optimize(
  table: WritableTable,
  settings: CompactionSettings,
  control: WorkControl,
): Promise<OptimizeTableResponse> {
  const begun = await openVersion(table.table, table.latest);
  const progress = new OptimizeProgress(begun === null ? NO_WORK : foldWork(begun.file), control.progress);
  const { signal, hold } = control;
  const tell = progress.compaction;
  const compacted = await compactFragments(table, settings, { signal, hold, progress: tell });
  const { transactionId, groups, indexedFragments } = compacted;
  const folded = await fold(table, transactionId !== null, { signal, hold, progress: progress.indexes });
  progress.end();
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
async function fold(table: WritableTable, isCompacted: boolean, options: FoldOptions) {
  const isCalledOff = () => isCompacted && options.signal?.aborted === true;
  if (isCalledOff()) return null;
  try {
    return await foldIndexes(table, options);
  } catch (error) {
    if (!isCalledOff()) throw error;
    return null;
  }
}

/** Reports both steps as one number of rows, which are copied or indexed. */
class OptimizeProgress {
  #compaction: WorkDone = NO_WORK;
  #indexes: WorkDone;
  #most = 0;
  #hasTold = false;

  /** @param indexes expected work on the indexes, which begins after the compaction */
  constructor(
    indexes: WorkDone,
    private readonly tell: TellProgress,
  ) {
    this.#indexes = indexes;
  }

  readonly compaction = (work: WorkDone): void => {
    this.#compaction = work;
    this.#report();
  };

  readonly indexes = (work: WorkDone): void => {
    this.#compaction = { ...this.#compaction, done: this.#compaction.total };
    this.#indexes = work;
    this.#report();
  };

  end(): void {
    const rows = this.#compaction.rows + this.#indexes.rows;
    this.tell(rows, rows);
  }

  /** A plan that is made again starts from nothing; the report stays where it was. */
  #report(): void {
    const [a, b] = [this.#compaction, this.#indexes];
    const share = (a.done + b.done) / Math.max(1, a.total + b.total);
    if (share <= this.#most && this.#hasTold) return;
    this.#hasTold = true;
    this.#most = Math.max(this.#most, share);
    this.tell(Math.floor(this.#most * (a.rows + b.rows)), a.rows + b.rows);
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
