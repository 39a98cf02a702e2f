/** What a job is, for those who start one. */

import type { JobKind, JobUnit } from "../namespace/jobs.js";
import type { TableAt } from "../table/versions/tableAt.js";

/** What JSON can hold. */
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
  /** Id of the table, as the caller knows it. */
  readonly tableId: readonly string[];
  /** The table, or the branch of it, that the job works on. */
  readonly table: TableAt;
  /**
   * What the job does, as text. Jobs of one kind, table, branch and key are the same: while one of them runs,
   * in any process, no other is started. One whose process died is taken over, with its checkpoint.
   */
  readonly key: string;
  /** Kept with the job, for people; at most some kilobytes. */
  readonly parameters: JsonValue;
  readonly unit: JobUnit;
  /**
   * Does the work. What it resolves to becomes the job's `result`. A run may follow one that died at any
   * step, also after its last one: it must find what is done already.
   */
  run(control: JobControl): Promise<JsonValue | undefined>;
}

/** What the work of a job is handed. */
export interface JobControl {
  readonly jobId: string;
  /** Aborts when the job is cancelled, the namespace is closed, or the job is another process's by now. */
  readonly signal: AbortSignal;
  /** The last checkpoint, of a run that died or was closed; null at first. */
  readonly checkpoint: JsonValue | null;
  /** Tells how far the work is; cheap. Written to the disk at most once a second. */
  progress(done: number, total?: number): void;
  /**
   * Replaces the checkpoint. Survives a power cut when it resolves.
   * @throws LeaseLostError, OverruledError where another process runs the job by now
   */
  saveCheckpoint(state: JsonValue): Promise<void>;
  /**
   * Makes sure that this process still runs the job, and that its table is still the one that it was started
   * for. To be called right before each step that can't be undone.
   * @throws LeaseLostError where the process was suspended and the job taken over
   * @throws TableReplacedError where the table was dropped, or another put in its place
   */
  hold(): Promise<void>;
}
