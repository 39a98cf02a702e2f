/** The types of a job: its specification, and the control that its work gets. */

import type { JobKind, JobUnit } from "../namespace/jobs.js";
import type { TableAt } from "../table/versions/tableAt.js";

/** A JSON value. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue | undefined };

/** Work to be run as a job. */
export interface JobSpec {
  readonly kind: JobKind;
  /** Id of the table, in the caller's form. */
  readonly tableId: readonly string[];
  /** The table, or the branch of it, that the job works on. */
  readonly table: TableAt;
  /**
   * Text that says what the job does. Jobs of one kind, table, branch and key are equal: only one of them
   * runs at a time, in all processes. If the process of such a job died, the next caller takes the job over
   * with its checkpoint.
   */
  readonly key: string;
  /** Shown to users and kept with the job; a few kilobytes at most. */
  readonly parameters: JsonValue;
  readonly unit: JobUnit;
  /** Does the work and resolves to `result`. An earlier run may have died after any step. */
  run(control: JobControl): Promise<JsonValue | undefined>;
}

/** Control that the runner of a job hands to its work. */
export interface JobControl {
  readonly jobId: string;
  /** Aborts if the job is cancelled, the namespace is closed, or another process has taken the job over. */
  readonly signal: AbortSignal;
  /** Last checkpoint of a run that died or was closed; null on the first run. */
  readonly checkpoint: JsonValue | null;
  /**
   * Reports how far the work is. Cheap: the runner writes it to the disk at most once a second.
   * @param restored units of `done` that an earlier run has finished; default 0
   */
  progress(done: number, total?: number, restored?: number): void;
  /**
   * Replaces the checkpoint, which survives a power cut once this resolves.
   * @throws LeaseLostError, OverruledError if another process runs the job now
   */
  saveCheckpoint(state: JsonValue): Promise<void>;
  /**
   * Checks that this process still runs the job, and that its table is still the one that the job started on.
   * Call it right before each step that can't be undone.
   * @throws LeaseLostError if the job was taken over while the process was suspended
   * @throws TableReplacedError if the table was dropped or replaced
   */
  hold(): Promise<void>;
}
