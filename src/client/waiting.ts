/** Waits for jobs of the server by short requests, because proxies close silent connections. */

import { untilAborted } from "../async/abort.js";
import { isPending } from "../async/pending.js";
import { performance } from "../async/timers.js";
import { InvalidInputError, ServiceUnavailableError, UnsupportedError } from "../errors.js";
import type { Job, JobRequest, WaitForJobRequest } from "../namespace/jobs.js";
import type { Progress } from "../namespace/upkeep.js";
import { optionalCallback, optionalCount } from "../operations/request.js";
import type { Members } from "./callForm.js";
import { pause } from "./transport.js";

/** Maximum milliseconds that one request waits. */
const MAX_WAIT_MS = 25_000;
/** Milliseconds of the first and of the longest wait between two reports of progress. */
const FIRST_LOOK_MS = 50;
const MAX_LOOK_MS = 1000;

/** Operations of the server on jobs. */
export interface JobCalls {
  /** Waits for the end of a job, or for the timeout. */
  wait(request: JobRequest & { readonly timeoutMs: number }): Promise<Job>;
  describe(request: JobRequest): Promise<Job>;
}

/** Waits until a job has ended, or until the timeout; see `DirectoryNamespace.waitForJob`. */
export async function awaitJob(calls: JobCalls, request: WaitForJobRequest): Promise<Job> {
  const { progress, timeoutMs, onProgress, ...about } = request;
  if (progress !== undefined && progress !== null) {
    if (progress !== "bar") throw new InvalidInputError('progress: must be "bar"');
    throw new UnsupportedError("progress: is not available over HTTP; pass onProgress");
  }
  const callback = optionalCallback(onProgress, "onProgress");
  const deadlineMs = performance.now() + (optionalCount(timeoutMs, "timeoutMs") ?? Number.POSITIVE_INFINITY);
  let told = "";
  const tell = async (job: Job): Promise<void> => {
    const text = JSON.stringify([job.state, job.done, job.total]);
    if (callback === undefined || text === told) return;
    told = text;
    const answer: unknown = callback(job);
    if (isPending(answer)) await untilAborted(answer, request.signal);
  };
  if (callback !== undefined) await tell(await calls.describe(about));
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(lookMs * 1.5, MAX_LOOK_MS)) {
    const leftMs = Math.max(0, deadlineMs - performance.now());
    const waitMs = Math.min(leftMs, callback === undefined ? MAX_WAIT_MS : lookMs);
    const askedMs = performance.now();
    let job: Job;
    try {
      job = await calls.wait({ ...about, timeoutMs: Math.ceil(waitMs) });
    } catch (error) {
      // The error may be that of the job, whose end the callback also sees.
      const failed = callback === undefined ? null : await calls.describe(about).catch(() => null);
      if (failed?.state === "Failed") await tell(failed);
      throw error;
    }
    await tell(job);
    if (job.finishedAt !== undefined || hasEnded(job) || performance.now() >= deadlineMs) return job;
    // A server that answers too early must not be asked again without a pause.
    const earlyMs = Math.min(waitMs, lookMs) - (performance.now() - askedMs);
    if (earlyMs > 0) await pause(earlyMs, request.signal);
  }
}

const hasEnded = ({ state }: Job): boolean => ["Succeeded", "Failed", "Cancelled"].includes(state);

/** Operations on jobs, and the one that starts a job. */
export interface LongCalls extends JobCalls {
  start(request: Members): Promise<{ readonly jobId: string }>;
  cancel(request: JobRequest): Promise<Job>;
}

/**
 * Runs an operation as a job to report its progress, and returns its answer. If the signal aborts, the job is
 * cancelled.
 */
export async function runAsJob(calls: LongCalls, request: Members): Promise<unknown> {
  const { onProgress, ...others } = request;
  const callback = optionalCallback(onProgress as ((progress: Progress) => void) | undefined, "onProgress");
  const { signal, identity, context } = others as Partial<JobRequest>;
  const { jobId } = await calls.start({ ...others, background: true });
  try {
    const job = await awaitJob(calls, {
      ...{ jobId, signal, identity, context },
      onProgress: ({ done, total, unit }) => callback?.({ done, total, unit }),
    });
    if (job.state === "Succeeded") return job.result;
    throw new ServiceUnavailableError(`job ${jobId} was cancelled`);
  } catch (error) {
    if (signal?.aborted === true) calls.cancel({ jobId, identity, context }).catch(() => undefined);
    throw error;
  }
}
