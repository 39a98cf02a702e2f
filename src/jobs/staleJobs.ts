/**
 * Removes records that nobody needs any more: of jobs that ended long ago, of the oldest where there are very
 * many, of jobs that were interrupted and that nobody has asked for again, and what is no record.
 *
 * A record goes in one step, under the lock of its directory: the directory loses its name. The caller holds
 * the lock of all jobs, so that no job is started or taken over meanwhile.
 */

import { ageClockMs, ageOfChangeMs } from "../async/timers.js";
import { ServiceUnavailableError } from "../errors.js";
import { codeOf } from "../io/disk/errno.js";
import { withLock } from "../io/lock/lock.js";
import { fenceOff } from "../io/publish.js";
import {
  hideJob,
  type JobsEnvironment,
  jobDirectory,
  jobLock,
  jobsDirectory,
  listJobIds,
  readJobIfSound,
  type StoredJob,
} from "./jobFiles.js";

/** Records of jobs that have ended: at most so many, and none that is older. */
const MAX_ENDED = 1000;
const MAX_ENDED_MS = 7 * 24 * 60 * 60 * 1000;
/** Age of an interrupted job, or of what is no record, from which nobody goes on with it. */
const MAX_INTERRUPTED_MS = 30 * 24 * 60 * 60 * 1000;

/** Removes what is stale. */
export async function removeStale(environment: JobsEnvironment): Promise<void> {
  const { disk, root } = environment;
  // Under the lock of all jobs, directories without a name are those of processes that died.
  await fenceOff(disk, jobsDirectory(root));
  const ended: { readonly jobId: string; readonly finishedMs: number }[] = [];
  for (const jobId of await listJobIds(disk, root)) {
    const stored = await readJobIfSound(environment, jobId);
    if (stored?.outcome != null) ended.push({ jobId, finishedMs: stored.outcome.finishedMs });
    else if (stored?.owner !== "held" && (await ageOf(environment, jobId)) > MAX_INTERRUPTED_MS) {
      await removeJob(environment, jobId);
    }
  }
  // One that ended in the future, by a clock that was set back since, is no newer than those that end now.
  const nowMs = ageClockMs();
  const endedMs = ({ finishedMs }: { readonly finishedMs: number }) => Math.min(finishedMs, nowMs);
  ended.sort((a, b) => endedMs(b) - endedMs(a));
  for (const [position, { jobId, finishedMs }] of ended.entries()) {
    if (position >= MAX_ENDED || nowMs - finishedMs > MAX_ENDED_MS) await removeJob(environment, jobId);
  }
}

/** Removes the jobs that are chosen, and that no living process runs. */
export async function removeChosen(
  environment: JobsEnvironment,
  isChosen: (stored: StoredJob) => Promise<boolean> | boolean,
): Promise<void> {
  for (const jobId of await listJobIds(environment.disk, environment.root)) {
    const stored = await readJobIfSound(environment, jobId);
    if (stored !== null && stored.owner !== "held" && (await isChosen(stored))) {
      await removeJob(environment, jobId);
    }
  }
}

/** Milliseconds since a job's directory was changed. */
async function ageOf({ disk, root }: JobsEnvironment, jobId: string): Promise<number> {
  const stat = await disk.stat(jobDirectory(root, jobId));
  return stat === null ? 0 : ageOfChangeMs(stat.changedNs);
}

/** Removes a job that no living process runs. */
export async function removeJob(environment: JobsEnvironment, jobId: string): Promise<void> {
  const { disk, root } = environment;
  let hidden: string | null = null;
  try {
    await withLock(jobDirectory(root, jobId), { ...jobLock(environment), waitMs: 0 }, async (lease) => {
      hidden = await hideJob(disk, root, jobId);
      lease.movedTo(hidden);
    });
  } catch (error) {
    // It runs after all, or is gone.
    if (!(error instanceof ServiceUnavailableError) && codeOf(error) !== "ENOENT") throw error;
  }
  if (hidden !== null) await disk.removeTree(hidden);
}
