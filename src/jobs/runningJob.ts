/** A job that this process runs under a lock, which it checks every second with requests to cancel. */

import type { Limit } from "../async/parallel.js";
import { clearInterval, letProcessEnd, performance, setInterval } from "../async/timers.js";
import { NamespaceError, ServiceUnavailableError } from "../errors.js";
import type { Disk } from "../io/disk/disk.js";
import { platformError } from "../io/disk/diskErrors.js";
import type { LockLease } from "../io/disk/locks.js";
import { TableReplacedError } from "../table/versions/identity.js";
import { isSameTable } from "../table/versions/tableIdentity.js";
import { failureOf } from "../typedErrors.js";
import type { JobControl, JobSpec, JsonValue } from "./job.js";
import {
  isCancelRequested,
  readCheckpoint,
  type StoredJob,
  writeCheckpoint,
  writeOutcome,
  writeProgress,
} from "./jobFiles.js";
import type { JobOutcome, JobProgress, JobRecord } from "./jobRecord.js";

/** Milliseconds between two beats, which write the progress and look for a request to cancel. */
const BEAT_MS = 1000;
/** Beats between two checks of the table, each of which reads a manifest. */
const TABLE_BEATS = 10;

/** Milliseconds over which a rate is measured. */
const WINDOW_MS = 15_000;
/** Milliseconds between two samples. */
const SAMPLE_MS = 500;
/** Shortest time, in milliseconds, that gives a rate. */
const MIN_SPAN_MS = 200;

/** Reason of a run that was cancelled, or whose namespace was closed. */
class JobCancelledError extends ServiceUnavailableError {
  readonly why: "cancelled" | "closed";

  constructor(why: "cancelled" | "closed") {
    super(why === "closed" ? "the namespace that ran the job was closed" : "the job was cancelled");
    this.why = why;
  }
}

export interface RunningJobOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly jobId: string;
  readonly record: JobRecord;
  readonly spec: JobSpec;
  readonly lease: LockLease;
  /** Progress of an earlier run. */
  readonly progress: JobProgress | null;
  /** Bounds the jobs that run at a time. */
  readonly limit: Limit;
}

export class RunningJob {
  readonly #options: RunningJobOptions;
  readonly #abort = new AbortController();
  readonly #meter = new ProgressMeter();
  readonly #watchers = new Set<() => void>();
  #startedMs: number | undefined;
  #outcome: JobOutcome | null = null;
  #cause: unknown;
  #isClosed = false;
  #hasEnded = false;
  #isChanged = false;
  #beat: Promise<void> | null = null;
  #beats = 0;

  constructor(options: RunningJobOptions) {
    this.#options = options;
    const { progress } = options;
    if (progress !== null) this.#meter.inherit(progress);
    this.#startedMs = progress?.startedMs;
  }

  get jobId(): string {
    return this.#options.jobId;
  }

  /** Current state of the job, which may be newer than the disk. */
  get stored(): StoredJob {
    const { jobId, record } = this.#options;
    return {
      jobId,
      record,
      progress: this.#progress,
      outcome: this.#outcome,
      owner: this.#hasEnded ? "free" : "held",
      isCancelRequested: false,
    };
  }

  /** Cause of the error that failed the job; records do not hold it. */
  get cause(): unknown {
    return this.#cause;
  }

  /** Ends the work as soon as possible. */
  cancel(why: "cancelled" | "closed"): void {
    this.#abort.abort(new JobCancelledError(why));
  }

  /** Calls back at each change; the returned function ends that. */
  watch(callback: () => void): () => void {
    const entry = () => callback();
    this.#watchers.add(entry);
    return () => void this.#watchers.delete(entry);
  }

  /** Runs the job; never rejects. Without an outcome on disk, other processes see the job as interrupted. */
  async run(): Promise<void> {
    const timer = setInterval(() => this.#beatOnce(), BEAT_MS);
    // The work keeps the process alive; the timer must not.
    letProcessEnd(timer);
    try {
      await this.#end(await this.#work());
    } catch {
      // The lock was lost, or the disk failed, while the outcome was written: see above.
    } finally {
      clearInterval(timer);
      await this.#beat;
      this.#hasEnded = true;
      this.#notify();
      this.#watchers.clear();
    }
  }

  /** Returns null for a job that resumes when it is taken over. */
  async #work(): Promise<JobOutcome | null> {
    const { signal } = this.#abort;
    const { disk, directory, spec, lease, limit } = this.#options;
    const begin = async (): Promise<JsonValue | undefined> => {
      this.#startedMs ??= Date.now();
      await writeProgress(disk, directory, this.#progress, lease);
      this.#notify();
      return spec.run(this.#control(await readCheckpoint(disk, directory)));
    };
    try {
      const result = await limit.run(begin, signal);
      return this.#ended({ state: "Succeeded", result });
    } catch (error) {
      const reason: unknown = signal.aborted ? signal.reason : await this.#reasonOf(error);
      if (!(reason instanceof JobCancelledError)) {
        this.#cause = reason instanceof NamespaceError ? reason.cause : reason;
        return this.#ended({ state: "Failed", error: failureOf(platformError(reason) ?? reason) });
      }
      if (reason.why === "cancelled") return this.#ended({ state: "Cancelled" });
      this.#isClosed = true;
      return null;
    }
  }

  /** Returns the reason of a failure: a lost table or lock explains other errors. */
  async #reasonOf(error: unknown): Promise<unknown> {
    try {
      await this.#requireHeld();
      return error;
    } catch (reason) {
      return reason instanceof NamespaceError ? reason : error;
    }
  }

  #ended(how: Pick<JobOutcome, "state" | "error" | "result">): JobOutcome {
    const { done, total } = this.#meter;
    return { finishedMs: Date.now(), done, total, ...how };
  }

  async #end(outcome: JobOutcome | null): Promise<void> {
    const { disk, directory, lease } = this.#options;
    await this.#beat;
    if (outcome === null) return writeProgress(disk, directory, this.#progress, lease);
    await writeOutcome(disk, directory, outcome, lease);
    this.#outcome = outcome;
  }

  #control(checkpoint: JsonValue | null): JobControl {
    const { disk, directory, jobId, lease } = this.#options;
    return {
      jobId,
      signal: this.#abort.signal,
      checkpoint,
      progress: (done, total, restored) => {
        this.#meter.note(done, total, restored);
        this.#isChanged = true;
        this.#notify();
      },
      saveCheckpoint: (state) => this.#owning(() => writeCheckpoint(disk, directory, state, lease)),
      hold: () => this.#owning(() => this.#requireHeld()),
    };
  }

  /** Runs a step that needs the lock; losing the lock ends the rest of the work, too. */
  async #owning(step: () => Promise<void>): Promise<void> {
    const { signal } = this.#abort;
    // Cancelled work may still finish its current step and save how far it came.
    if (signal.aborted && !(signal.reason instanceof JobCancelledError)) throw signal.reason;
    try {
      await step();
    } catch (error) {
      if (error instanceof NamespaceError) this.#abort.abort(error);
      throw error;
    }
  }

  async #requireHeld(): Promise<void> {
    const { spec, record, lease } = this.#options;
    await lease.confirm();
    if (!(await isSameTable(spec.table, record.identity))) throw new TableReplacedError(spec.table.root);
    // Checking the table takes a while on a slow disk.
    await lease.confirm();
  }

  get #progress(): JobProgress {
    const { done, total, rate } = this.#meter;
    return { done, total, rate, startedMs: this.#startedMs, isClosed: this.#isClosed || undefined };
  }

  #beatOnce(): void {
    if (this.#beat !== null) return;
    this.#beat = this.#look()
      // If the disk keeps failing, the work itself meets the error.
      .catch((error: unknown) => {
        if (error instanceof NamespaceError) this.#abort.abort(error);
      })
      .finally(() => {
        this.#beat = null;
      });
  }

  async #look(): Promise<void> {
    const { disk, directory, lease } = this.#options;
    if (this.#beats++ % TABLE_BEATS === TABLE_BEATS - 1) await this.#requireHeld();
    else await lease.confirm();
    if (await isCancelRequested(disk, directory)) this.cancel("cancelled");
    if (!this.#isChanged) return;
    this.#isChanged = false;
    await writeProgress(disk, directory, this.#progress, lease);
  }

  #notify(): void {
    for (const callback of [...this.#watchers]) callback();
  }
}

interface Sample {
  readonly ms: number;
  /** Units that this run has finished. */
  readonly done: number;
}

/** Measures how far work is and its rate over the last seconds. */
class ProgressMeter {
  #done = 0;
  #restored = 0;
  #total: number | undefined;
  #samples: Sample[] = [];

  get done(): number {
    return this.#done;
  }

  get total(): number | undefined {
    return this.#total;
  }

  /** Takes the progress of an earlier run, until this run reports its own. */
  inherit({ done, total }: JobProgress): void {
    this.#done = done;
    this.#total = total;
  }

  /**
   * Takes a report; ignores amounts that are not finite numbers of at least 0.
   * @param restored units of `done` that an earlier run has finished; they do not count towards the rate
   */
  note(done: number, total?: number, restored = 0): void {
    if (!(done >= 0 && done < Number.POSITIVE_INFINITY)) return;
    this.#done = done;
    this.#restored = restored;
    const finished = done - restored;
    if (total !== undefined && total >= 0 && total < Number.POSITIVE_INFINITY) this.#total = total;
    const ms = performance.now();
    const last = this.#samples.at(-1);
    if (last === undefined || finished < last.done) this.#samples = [{ ms, done: finished }];
    else if (ms - last.ms >= SAMPLE_MS) this.#samples.push({ ms, done: finished });
    while (this.#samples.length > 2 && ms - this.#samples[1].ms >= WINDOW_MS) this.#samples.shift();
  }

  /** Units per second; undefined until measured. */
  get rate(): number | undefined {
    const first = this.#samples.at(0);
    if (first === undefined) return undefined;
    const spanMs = performance.now() - first.ms;
    return spanMs < MIN_SPAN_MS ? undefined : ((this.#done - this.#restored - first.done) * 1000) / spanMs;
  }
}
