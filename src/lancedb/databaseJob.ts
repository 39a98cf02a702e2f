/** Handles of a database's jobs. Those of a server have an id, details and events. */

import type { Job as JobRecord } from "../namespace/jobs.js";
import type { Database } from "./database.js";
import { Job } from "./job.js";
import { describeServerJob, serverJobEvents } from "./remote/serverCalls.js";

/**
 * Returns a handle of a job.
 * @param wait waits until the job has ended. Default: asks the namespace
 */
export function jobOf(database: Database, jobId: string, wait?: () => Promise<JobRecord>): Job {
  const { server } = database;
  return new Job({
    describe: () => database.call((namespace) => namespace.describeJob({ jobId })),
    wait: wait ?? (() => database.call((namespace) => namespace.waitForJob({ jobId }))),
    cancel: () => database.call((namespace) => namespace.cancelJob({ jobId })),
    ...(server !== undefined && {
      id: jobId,
      details: () => database.call(() => describeServerJob(server, jobId)),
      events: async (options) =>
        database.call(async () => (await serverJobEvents(server, jobId, options)).toArrow()),
    }),
  });
}
