/** Jobs of a namespace: starts or joins them, runs them here, and describes those of every process. */

import { untilAborted, whenAborted } from "../async/abort.js";
import { Limit, mapParallel } from "../async/parallel.js";
import { isPending } from "../async/pending.js";
import { clearTimeout, MAX_TIMER_MS, performance, setTimeout } from "../async/timers.js";
import { ServiceUnavailableError, TransactionNotFoundError } from "../errors.js";
import type { LockLease } from "../io/disk/locks.js";
import { withLock } from "../io/lock/lock.js";
import type { Job, JobKind, JobState } from "../namespace/jobs.js";
import { relative, sep } from "../platform/native.js";
import { TableReplacedError } from "../table/versions/identity.js";
import type { TableAt } from "../table/versions/tableAt.js";
import { isSameTable, readTableIdentity } from "../table/versions/tableIdentity.js";
import { withSteadyLock } from "../table/versions/tableLock.js";
import { errorOfFailure } from "../typedErrors.js";
import { describeStored } from "./describeStored.js";
import type { JobSpec } from "./job.js";
import {
  idPrefix,
  isJobId,
  type JobsEnvironment,
  jobDirectory,
  jobLock,
  jobsDirectory,
  listJobIds,
  makeUnnamed,
  newJobId,
  publishJob,
  readJob,
  readJobIfSound,
  readJobOutcome,
  requestCancel,
  type StoredJob,
  writeOutcome,
} from "./jobFiles.js";
import type { JobOutcome, JobProgress, JobRecord } from "./jobRecord.js";
import { RunningJob } from "./runningJob.js";
import { removeJob, removeOf, removeStale } from "./staleJobs.js";

/** Jobs of one namespace that run at a time; others wait. */
const MAX_RUNNING = 4;
/** Milliseconds between two sweeps of stale records, and the minimum number of records for a sweep. */
const SWEEP_MS = 10 * 60 * 1000;
const MIN_SWEPT = 64;
/** Records that are read at a time. */
const PARALLELISM = 16;
/** Ended jobs that are remembered; about as many as there are records. */
const MAX_KNOWN = 4096;
/** Milliseconds between two looks at a job, growing from the first value to the second. */
const FIRST_LOOK_MS = 50;
const MAX_LOOK_MS = 1000;
/** Failed jobs whose causes are remembered. */
const MAX_CAUSES = 16;
/** Milliseconds to wait for a cancelled job. */
const CANCEL_WAIT_MS = 5000;
/** Milliseconds to wait for closed jobs. */
const CLOSE_WAIT_MS = 5000;
/** Minimum milliseconds between two progress callbacks of a job of this process. */
const NOTICE_MS = 100;

export interface WaitOptions {
  readonly jobId: string;
  readonly timeoutMs?: number;
  /** Awaited if it returns a promise. */
  readonly onProgress?: (job: Job) => unknown;
  readonly signal?: AbortSignal;
}

export class Jobs {
  readonly #environment: JobsEnvironment;
  readonly #running = new Map<string, LocalJob>();
  readonly #limit = new Limit(MAX_RUNNING);
  /** Ended jobs, which never change: repeated requests need not read them again. */
  readonly #ended = new Set<string>();
  /** Causes of failed jobs of this process; the records hold messages only. */
  readonly #causes = new Map<string, unknown>();
  #sweptMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(environment: JobsEnvironment) {
    this.#environment = environment;
  }

  /**
   * Starts a job, or takes over an equal one whose process died, or joins an equal one that runs.
   * @throws TableReplacedError if the table is gone
   */
  async start(spec: JobSpec, signal?: AbortSignal): Promise<{ readonly jobId: string }> {
    return this.#resumeOr(spec, signal, async (record) => {
      await this.#sweepIfDue();
      return { jobId: await this.#begin(record, spec) };
    });
  }

  /** Takes over or joins an equal job; null if every equal job has ended. */
  resume(spec: JobSpec, signal?: AbortSignal): Promise<{ readonly jobId: string } | null> {
    return this.#resumeOr(spec, signal, async () => null);
  }

  /** @param begin called under the lock of all jobs if every equal job has ended */
  async #resumeOr<Begun>(
    spec: JobSpec,
    signal: AbortSignal | undefined,
    begin: (record: JobRecord) => Promise<Begun>,
  ): Promise<Begun | { readonly jobId: string }> {
    const { disk, root } = this.#environment;
    const identity = await readTableIdentity(spec.table);
    if (identity === null) throw new TableReplacedError(spec.table.root);
    const { kind, tableId: table, table: tableDirectory, key, parameters, unit } = spec;
    const record: JobRecord = {
      kind,
      table: [...table],
      location: locationIn(root, tableDirectory.mainRoot),
      branch: tableDirectory.branch,
      key,
      identity,
      parameters,
      unit,
      createdMs: Date.now(),
    };
    await disk.makeDirectory(jobsDirectory(root));
    const lock = { ...jobLock(this.#environment), signal };
    return withSteadyLock(jobsDirectory(root), lock, async () => {
      for (const same of await this.#unendedLike(record)) {
        if (same.owner === "held") {
          // This job is about to learn that its table is gone.
          if (!(await isSameTable(tableDirectory, same.record.identity))) continue;
          return { jobId: same.jobId };
        }
        if (await this.#takeOver(same, spec)) return { jobId: same.jobId };
      }
      return begin(record);
    });
  }

  /** Removes stale records of all tables. */
  async sweep(signal?: AbortSignal): Promise<void> {
    await this.#withRecords(() => removeStale(this.#environment), signal);
  }

  /** Removes the records of a dropped table; a job that still runs keeps its own. */
  async forgetTable(directory: string, signal?: AbortSignal): Promise<void> {
    const location = locationIn(this.#environment.root, directory);
    await this.#withRecords(() => removeOf(this.#environment, location), signal);
  }

  /** @throws TransactionNotFoundError if the job does not exist */
  async describe(jobId: string): Promise<Job> {
    return describeStored(await this.#find(jobId));
  }

  /**
   * Returns a job of a kind that works on this table or branch.
   * @throws TransactionNotFoundError if the job does not exist
   */
  async describeOf(jobId: string, kind: JobKind, { mainRoot, branch }: TableAt): Promise<Job> {
    const stored = await this.#find(jobId);
    const { record } = stored;
    const location = locationIn(this.#environment.root, mainRoot);
    if (record.kind === kind && record.location === location && record.branch === branch) {
      return describeStored(stored);
    }
    throw noJobError(jobId);
  }

  /** Lists jobs, the latest started first. */
  async list({ state }: { readonly state?: JobState } = {}, signal?: AbortSignal): Promise<Job[]> {
    const { disk, root } = this.#environment;
    const ids = await listJobIds(disk, root);
    const read = (jobId: string) =>
      this.#readIfSound(jobId, (reason) => {
        this.#environment.noteUnlisted?.({ jobId, location: jobDirectory(root, jobId), reason });
      });
    const records = await mapParallel(ids, PARALLELISM, read, signal);
    const stored = records.filter((job) => job !== null);
    stored.sort((a, b) => b.record.createdMs - a.record.createdMs || (a.jobId < b.jobId ? -1 : 1));
    return stored.map(describeStored).filter((job) => state === undefined || job.state === state);
  }

  /**
   * Waits until a job ends or the timeout passes.
   * @throws the error of a failed job; TransactionNotFoundError if the job does not exist
   */
  async wait({ jobId, timeoutMs, onProgress, signal }: WaitOptions): Promise<Job> {
    const deadlineMs = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    let told = "";
    for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(lookMs * 1.5, MAX_LOOK_MS)) {
      signal?.throwIfAborted();
      const stored = await this.#find(jobId);
      const job = describeStored(stored);
      const text = JSON.stringify([job.state, job.done, job.total]);
      const answer = text === told ? undefined : onProgress?.(job);
      told = text;
      if (isPending(answer)) await untilLate(answer, deadlineMs, signal);
      if (job.state === "Failed") throw failureOfJob(stored, this.#causeOf(jobId));
      const leftMs = deadlineMs - performance.now();
      if (hasEnded(job.state) || leftMs <= 0) return job;
      await this.#untilChanged(jobId, Math.min(lookMs, leftMs), leftMs, signal);
    }
  }

  /**
   * Cancels a job of any process, and waits briefly for its end. A job that has ended stays as it is.
   * @returns the job afterwards
   * @throws TransactionNotFoundError if the job does not exist
   */
  async cancel(jobId: string, signal?: AbortSignal): Promise<Job> {
    const { disk, root } = this.#environment;
    const stored = await this.#find(jobId);
    if (stored.outcome !== null) return describeStored(stored);
    this.#running.get(jobId)?.job.cancel("cancelled");
    if (!(await requestCancel(disk, jobDirectory(root, jobId))))
      return describeStored(await this.#find(jobId));
    if (stored.owner !== "held") await this.#endAbandoned(stored, { state: "Cancelled" });
    try {
      return await this.wait({ jobId, timeoutMs: CANCEL_WAIT_MS, signal });
    } catch (error) {
      signal?.throwIfAborted();
      const job = describeStored(await this.#find(jobId));
      if (job.state !== "Failed") throw error;
      return job;
    }
  }

  /** Ends the jobs of this process, at once or ("wait") when they are done. A closed job can resume. */
  async close(
    how: "wait" | "cancel",
    onCancel?: (jobs: readonly { readonly kind: JobKind; readonly table: readonly string[] }[]) => void,
  ): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#running.values()];
    if (how === "cancel") {
      for (const { job } of running) job.cancel("closed");
      if (running.length > 0) onCancel?.(running.map(({ job }) => job.stored.record));
    }
    const ends = Promise.all(
      running.map(({ ended }) => new Promise<void>((resolve) => whenAborted(ended, resolve))),
    );
    if (how === "wait") {
      await ends;
      return;
    }
    // Work that ignores its signal goes on, like calls in progress.
    await untilLate(ends, performance.now() + CLOSE_WAIT_MS);
  }

  // ----------------------------------------------------------------------------------------------- starting

  /** Runs work under the lock of all jobs, if there are any records. */
  async #withRecords(work: () => Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    const { disk, root } = this.#environment;
    if ((await listJobIds(disk, root)).length === 0) return;
    await withSteadyLock(jobsDirectory(root), { ...jobLock(this.#environment), signal }, work);
  }

  async #sweepIfDue(): Promise<void> {
    const { disk, root } = this.#environment;
    if (performance.now() - this.#sweptMs < SWEEP_MS) return;
    if ((await listJobIds(disk, root)).length < MIN_SWEPT) return;
    this.#sweptMs = performance.now();
    // Failing to remove old records must not block a new job: the next sweep tries again.
    await removeStale(this.#environment).catch(() => undefined);
  }

  async #unendedLike(record: JobRecord): Promise<StoredJob[]> {
    const { disk, root } = this.#environment;
    const { kind, location, branch, key } = record;
    const prefix = idPrefix(record);
    const ids = (await listJobIds(disk, root)).filter((id) => id.startsWith(prefix) && !this.#ended.has(id));
    const read = (id: string) => this.#readIfSound(id);
    const equalJobs: StoredJob[] = [];
    for (const stored of await mapParallel(ids.sort(), PARALLELISM, read)) {
      if (stored === null) continue;
      if (stored.outcome !== null) {
        this.#noteEnd(stored.jobId);
        continue;
      }
      const { record: existing } = stored;
      const isSame =
        existing.kind === kind &&
        existing.location === location &&
        existing.branch === branch &&
        existing.key === key;
      if (isSame) equalJobs.push(stored);
    }
    return equalJobs;
  }

  #causeOf(jobId: string): unknown {
    return this.#running.get(jobId)?.job.cause ?? this.#causes.get(jobId);
  }

  #keepCause(jobId: string, cause: unknown): void {
    const [oldest] = this.#causes.keys();
    if (this.#causes.size >= MAX_CAUSES && oldest !== undefined) this.#causes.delete(oldest);
    this.#causes.set(jobId, cause);
  }

  #noteEnd(jobId: string): void {
    if (this.#ended.size >= MAX_KNOWN) this.#ended.clear();
    this.#ended.add(jobId);
  }

  async #begin(record: JobRecord, spec: JobSpec): Promise<string> {
    const { disk, root } = this.#environment;
    if (this.#isClosed) throw closedError();
    const jobId = newJobId(record);
    const unnamed = await makeUnnamed(disk, root, jobId);
    try {
      await this.#holdLock(unnamed, async (lease) => {
        const directory = await publishJob(disk, root, unnamed, jobId, record);
        lease.movedTo(directory);
        return { jobId, record, spec, progress: null, directory };
      });
      return jobId;
    } catch (error) {
      // No caller knows this job yet, even if its directory has its name. A directory that can't be removed
      // becomes stale.
      await disk.removeTree(unnamed).catch(() => undefined);
      await removeJob(this.#environment, jobId).catch(() => undefined);
      throw error;
    }
  }

  /** False if the job must not resume: its table was replaced, or a process asked to cancel it. */
  async #takeOver(stored: StoredJob, spec: JobSpec): Promise<boolean> {
    const { disk, root } = this.#environment;
    const { jobId, record, isCancelRequested, progress } = stored;
    if (isCancelRequested) {
      await this.#endAbandoned(stored, { state: "Cancelled" });
      return false;
    }
    if (!(await isSameTable(spec.table, record.identity))) {
      const error = {
        type: "ConcurrentModification",
        message: "the table was dropped or replaced meanwhile",
      } as const;
      await this.#endAbandoned(stored, { state: "Failed", error });
      return false;
    }
    const directory = jobDirectory(root, jobId);
    let isEnded = false;
    try {
      await this.#holdLock(directory, async () => {
        // The job may have ended since it was read.
        isEnded = (await readJobOutcome(disk, directory)) !== null;
        return isEnded ? null : { jobId, record, spec, progress: withoutEnd(progress), directory };
      });
    } catch (error) {
      // The process was merely slow and holds the lock again.
      if (this.#isClosed || !(error instanceof ServiceUnavailableError)) throw error;
    }
    return !isEnded;
  }

  /**
   * Takes the lock of a job's directory and holds it while the job runs.
   * @param prepare resolves to the job to run; null for none
   * @returns when the job is about to run
   */
  #holdLock(
    locked: string,
    prepare: (lease: LockLease) => Promise<(JobToRun & { readonly directory: string }) | null>,
  ): Promise<void> {
    const { disk } = this.#environment;
    const end = new AbortController();
    return new Promise((resolve, reject) => {
      // A dead process frees its job at once; a living process keeps it.
      const lock = { ...jobLock(this.#environment), waitMs: 1000 };
      const work = async (lease: LockLease): Promise<void> => {
        const prepared = await prepare(lease);
        if (prepared === null) return;
        if (this.#isClosed) throw closedError();
        const job = new RunningJob({ disk, lease, limit: this.#limit, ...prepared });
        const ran = job.run();
        this.#running.set(prepared.jobId, { job, ended: end.signal });
        resolve();
        await ran;
        this.#running.delete(prepared.jobId);
        if (job.cause !== undefined) this.#keepCause(prepared.jobId, job.cause);
        if (job.stored.outcome !== null) this.#noteEnd(prepared.jobId);
      };
      withLock(locked, lock, work)
        .then(resolve, reject)
        .finally(() => end.abort());
    });
  }

  /** Ends a job that no process runs. */
  async #endAbandoned(stored: StoredJob, how: Pick<JobOutcome, "state" | "error">): Promise<void> {
    const { disk, root } = this.#environment;
    const directory = jobDirectory(root, stored.jobId);
    const { done = 0, total } = stored.progress ?? {};
    const outcome: JobOutcome = { finishedMs: Date.now(), done, total, ...how };
    try {
      await withLock(directory, { ...jobLock(this.#environment), waitMs: 1000 }, async (lease) => {
        await writeOutcome(disk, directory, outcome, lease);
      });
    } catch (error) {
      // Another process has taken the job over and will notice by itself.
      if (!(error instanceof ServiceUnavailableError)) throw error;
    }
  }

  // ------------------------------------------------------------------------------------------------ looking

  /** @throws TransactionNotFoundError */
  async #find(jobId: string): Promise<StoredJob> {
    const localJob = this.#running.get(jobId);
    if (localJob !== undefined) return localJob.job.stored;
    const stored = isJobId(jobId) ? await readJob(this.#environment, jobId) : null;
    if (stored === null) throw noJobError(jobId);
    return stored;
  }

  async #readIfSound(jobId: string, onUnsound?: (reason: string) => void): Promise<StoredJob | null> {
    return this.#running.get(jobId)?.job.stored ?? readJobIfSound(this.#environment, jobId, onUnsound);
  }

  /** Resolves when a job of this process changes, or after a while for a job of another process. */
  async #untilChanged(
    jobId: string,
    lookMs: number,
    leftMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const localJob = this.#running.get(jobId);
    await new Promise<void>((resolve, reject) => {
      const endings: (() => void)[] = [];
      const finish = (conclude: () => void): void => {
        clearTimeout(timer);
        for (const end of endings) end();
        conclude();
      };
      const waitMs = localJob === undefined ? lookMs : Math.min(leftMs, MAX_LOOK_MS);
      let timer = setTimeout(() => finish(resolve), waitMs);
      if (localJob !== undefined) {
        const earliestMs = performance.now() + NOTICE_MS;
        let isNoticed = false;
        const change = () => {
          // The work may report progress thousands of times before the waiter runs.
          if (isNoticed) return;
          isNoticed = true;
          clearTimeout(timer);
          timer = setTimeout(
            () => finish(resolve),
            Math.max(0, Math.min(earliestMs - performance.now(), leftMs)),
          );
        };
        endings.push(localJob.job.watch(change));
        endings.push(whenAborted(localJob.ended, () => finish(resolve)));
      }
      if (signal !== undefined) endings.push(whenAborted(signal, () => finish(() => reject(signal.reason))));
    });
  }
}

/** Waits for a promise until a deadline, in milliseconds of `performance.now`. */
async function untilLate(awaited: Promise<unknown>, deadlineMs: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    const leftMs = Math.max(0, deadlineMs - performance.now());
    if (leftMs <= MAX_TIMER_MS) timer = setTimeout(resolve, leftMs);
  });
  try {
    await untilAborted(Promise.race([awaited, late]), signal);
  } finally {
    clearTimeout(timer);
  }
}

/** A job that this process runs. */
interface LocalJob {
  readonly job: RunningJob;
  /** Aborts once the lock of the job is free; until then others see the job as running. */
  readonly ended: AbortSignal;
}

const noJobError = (jobId: string): TransactionNotFoundError =>
  new TransactionNotFoundError(`there is no job ${jobId}`);

const closedError = (): ServiceUnavailableError => new ServiceUnavailableError("the namespace is closed");

/** Parts of a job that this process is about to run. */
interface JobToRun {
  readonly jobId: string;
  readonly record: JobRecord;
  readonly spec: JobSpec;
  readonly progress: JobProgress | null;
}

const locationIn = (root: string, directory: string): string =>
  relative(root, directory).split(sep).join("/");

const hasEnded = (state: JobState): boolean => state !== "Queued" && state !== "Running";

const failureOfJob = (stored: StoredJob, cause: unknown): Error => {
  const error = stored.outcome?.error;
  return error === undefined
    ? new ServiceUnavailableError(describeStored(stored).error?.message ?? "the job failed")
    : errorOfFailure(error, cause);
};

/** Returns the progress of a closed run for the run that resumes it. */
function withoutEnd(progress: JobProgress | null): JobProgress | null {
  if (progress === null) return null;
  const { isClosed: _, ...rest } = progress;
  return rest;
}
