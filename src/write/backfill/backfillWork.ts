/** Types that the parts of a backfill share: the work, its settings, and its control. */

import { ConcurrentModificationError } from "../../errors.js";
import { formatFieldPath } from "../../ident.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { BatchSizeBounds } from "./batchSize.js";
import type { CheckpointFiles } from "./checkpointFiles.js";
import type { BackfillCluster } from "./clusterRun.js";
import { type BackfillRequest, type ResolvedBackfill, resolvedOn } from "./resolvedBackfill.js";
import type { BackfillState } from "./resumeNote.js";

/** Settings of a backfill job. */
export interface BackfillWork extends BackfillRequest {
  /** Meaning of the request at the time of the job's start; see {@link ResolvedBackfill.meaning}. */
  readonly meaning: string;
}

export interface BackfillSettings {
  /** Tasks that run at a time in this process. */
  readonly concurrency: number;
  readonly callsAtOnce: number;
  readonly batch: BatchSizeBounds;
  /** Milliseconds for which values may stay unsaved in memory. */
  readonly flushMs: number;
  /** Version whose rows are filled; null: the latest one at the start of the work. */
  readonly readVersion: number | null;
  /** Maximum rows of a task. */
  readonly taskRows: number;
  readonly maxFragments: number;
  /** Fragments that are committed in one version. */
  readonly commitFragments: number;
  /** Cluster that runs the functions; null: this process does. */
  readonly cluster: BackfillCluster | null;
  /** Path of the table, for tasks of the cluster. */
  readonly table: readonly string[];
  /** Directory of the namespace. */
  readonly root: string;
}

/** Control of the job that runs the work. */
export interface BackfillControl {
  readonly jobId: string;
  readonly signal: AbortSignal;
  readonly checkpoint: unknown;
  progress(done: number, total?: number, restored?: number): void;
  saveCheckpoint(state: BackfillState): Promise<void>;
  hold(): Promise<void>;
}

/** One run of a backfill, from start to end. */
export interface BackfillRun {
  readonly target: ChangeTarget<ReaderEnvironment>;
  readonly request: BackfillWork;
  readonly settings: BackfillSettings;
  /** Digest of the work, which names the files of values. */
  readonly key: string;
  readonly control: BackfillControl;
  /** Aborts when the job is cancelled, or a part of the work fails. */
  readonly signal: AbortSignal;
  /** Called with the error that fails the whole work; ends the running calls. */
  readonly onFailure: (error: unknown) => void;
}

/** Fragments of one version. If another writer rewrites some meanwhile, the next round fills them. */
export interface BackfillRound {
  readonly base: OpenVersion<ReaderEnvironment>;
  readonly resolved: ResolvedBackfill;
  readonly checkpoints: CheckpointFiles;
  /** True if the values of a finished fragment are saved: it waits for others, to be committed with them. */
  readonly savesAll: boolean;
  /** Maximum bytes of unsaved values of a fragment. */
  readonly maxUnsavedBytes: number;
}

/**
 * Resolves the backfill on a version. A column that was dropped and added again may have the id of the
 * dropped column, and no value yet that tells them apart.
 * @throws ConcurrentModificationError if the column is declared differently now
 */
export async function resolvedAsAsked(
  { request, signal }: Pick<BackfillRun, "request" | "signal">,
  base: Pick<OpenVersion, "file">,
): Promise<ResolvedBackfill> {
  const resolved = await resolvedOn(base, request, signal);
  if (resolved.meaning === request.meaning) return resolved;
  throw new ConcurrentModificationError(
    `column ${formatFieldPath([resolved.field.name])}: was declared anew while it was filled; start the backfill again`,
  );
}
