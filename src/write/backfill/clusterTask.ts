/** Computes and saves a task of a backfill in a worker of a cluster. The job's process commits it. */

import { Limit } from "../../async/parallel.js";
import { lowerBound } from "../../bytes/search.js";
import { ConcurrentModificationError, InvalidInputError } from "../../errors.js";
import { formatFieldPath } from "../../ident.js";
import { allowManyListeners } from "../../platform/native.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { resolvedAsAsked } from "./backfillWork.js";
import { BatchSize, type BatchSizeBounds } from "./batchSize.js";
import { CheckpointFiles } from "./checkpointFiles.js";
import { columnWatch } from "./columnWatch.js";
import { fragmentValues } from "./fragmentValues.js";
import { type BackfillRequest, resolvedOn, selectedOffsets } from "./resolvedBackfill.js";
import { digestOf } from "./storedFields.js";

/** Rows of a task, and digests of everything that their values depend on. */
export interface ClusterTask {
  readonly fragmentId: number;
  /** Offsets of the first and the last row that may be computed. */
  readonly firstRow: number;
  readonly lastRow: number;
  /** Digests of the meaning of the backfill, of the fragment's content, and of the work. */
  readonly meaning: string;
  readonly content: string;
  readonly key: string;
}

export interface ClusterTaskOptions {
  readonly batch: BatchSizeBounds;
  readonly callsAtOnce: number;
  readonly flushMs: number;
  readonly signal: AbortSignal;
  /** Called before values are written; rejects if the values are not wanted any more. */
  readonly hold: () => Promise<void>;
  readonly onProgress: (done: number, total: number) => void;
}

/** Maximum bytes of unsaved values in memory. */
const MAX_UNSAVED_BYTES = 32 * 1024 * 1024;

/**
 * @returns number of rows that have a value, and names of the files with the values
 * @throws ConcurrentModificationError if the fragment is not the one that the task was planned for;
 *   InvalidInputError if this process registers a different function; errors of `fragmentValues`
 */
export async function computeClusterTask(
  base: OpenVersion<ReaderEnvironment>,
  request: BackfillRequest,
  { fragmentId, firstRow, lastRow, meaning, content, key }: ClusterTask,
  { batch, callsAtOnce, flushMs, hold, onProgress, ...options }: ClusterTaskOptions,
): Promise<{ readonly rows: number; readonly files: readonly string[] }> {
  // Aborts the running calls of the function after one of them has failed.
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  // Each running call of the function listens.
  allowManyListeners(signal);
  const { table } = base;
  const resolved = await resolvedOn(base, request, signal);
  if ((await digestOf(resolved.meaning)) !== meaning) {
    throw new InvalidInputError(
      `column ${formatFieldPath([resolved.field.name])}: this process fills it in another way than the one that runs the job`,
    );
  }
  const fragment = base.file.manifest.fragments.find(({ id }) => id === fragmentId);
  if (fragment === undefined || (await resolved.sourceOf(fragment)) !== content) {
    throw new ConcurrentModificationError(
      `${table.root}: fragment ${fragmentId} of version ${base.version} is not the one that the task was planned for`,
    );
  }
  const asked = { request: { ...request, meaning: resolved.meaning }, signal };
  const checkpoints = new CheckpointFiles(table, key, resolved.field, hold);
  const values = await conflictIfRemoved(base, async () => {
    const selected = await selectedOffsets(base, resolved, fragment, signal);
    const wanted = selected.subarray(lowerBound(selected, firstRow), lowerBound(selected, lastRow + 1));
    let done = 0;
    onProgress(0, wanted.length);
    const computed = await fragmentValues(versionSource(base), resolved, fragment, wanted, {
      ...{ content, callsAtOnce, flushMs, checkpoints, signal },
      span: { first: firstRow, last: lastRow },
      batchSize: new BatchSize(batch, resolved.isByRow),
      leastRows: batch.least,
      taskRows: Number.POSITIVE_INFINITY,
      taskLimit: new Limit(1),
      tasksAtOnce: 1,
      maxUnsavedBytes: MAX_UNSAVED_BYTES,
      early: null,
      scratch: null,
      onFailure: (error) => failed.abort(error),
      onRows: (count) => {
        done += count;
        onProgress(done, wanted.length);
      },
      requireWanted: columnWatch(table, (latest) => resolvedAsAsked(asked, latest)),
    });
    return { computed, rows: wanted.length };
  }).catch((error: unknown) => {
    throw failed.signal.aborted ? failed.signal.reason : error;
  });
  try {
    return { rows: values.rows, files: await values.computed.savedFiles() };
  } finally {
    values.computed.release();
  }
}
