/**
 * Removes stale records: jobs that ended long ago, the oldest of very many, interrupted jobs that nobody
 * resumed, and malformed records.
 *
 * One step removes a record: a rename of its directory to an unlisted name, under the directory's lock. The
 * caller holds the lock of all jobs, so no job is started or taken over meanwhile.
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
  statOfJob,
} from "./jobFiles.js";

/** Maximum number of records of ended jobs, and their maximum age. */
const MAX_ENDED = 1000;
const MAX_ENDED_MS = 7 * 24 * 60 * 60 * 1000;
/** Age at which an interrupted job, or a malformed record, is removed. */
const MAX_INTERRUPTED_MS = 30 * 24 * 60 * 60 * 1000;

/** Removes stale records. */
export async function removeStale(environment: JobsEnvironment): Promise<void> {
  const { disk, root } = environment;
  // Under the lock of all jobs, every unnamed directory belongs to a dead process.
  await fenceOff(disk, jobsDirectory(root));
  const ended: { readonly jobId: string; readonly finishedMs: number }[] = [];
  for (const jobId of await listJobIds(disk, root)) {
    const stored = await readJobIfSound(environment, jobId);
    if (stored?.outcome != null) ended.push({ jobId, finishedMs: stored.outcome.finishedMs });
    else if (stored?.owner !== "held" && (await ageOf(environment, jobId)) > MAX_INTERRUPTED_MS) {
      await removeJob(environment, jobId);
    }
  }
  // After a clock was set back, a job may have ended in the future: it counts as ending now.
  const nowMs = ageClockMs();
  const endedMs = ({ finishedMs }: { readonly finishedMs: number }) => Math.min(finishedMs, nowMs);
  ended.sort((a, b) => endedMs(b) - endedMs(a));
  for (const [position, { jobId, finishedMs }] of ended.entries()) {
    if (position >= MAX_ENDED || nowMs - finishedMs > MAX_ENDED_MS) await removeJob(environment, jobId);
  }
}

/** Removes the jobs of the table in a location, except those that a living process runs. */
export async function removeOf(environment: JobsEnvironment, location: string): Promise<void> {
  for (const jobId of await listJobIds(environment.disk, environment.root)) {
    const stored = await readJobIfSound(environment, jobId);
    if (stored?.record.location === location && stored.owner !== "held") await removeJob(environment, jobId);
  }
}

/** Returns the milliseconds since a job's directory was changed. */
async function ageOf({ disk, root }: JobsEnvironment, jobId: string): Promise<number> {
  const stat = await statOfJob(disk, root, jobId);
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
    // A process runs the job after all, or the job is gone.
    if (!(error instanceof ServiceUnavailableError) && codeOf(error) !== "ENOENT") throw error;
  }
  if (hidden !== null) await disk.removeTree(hidden);
}
