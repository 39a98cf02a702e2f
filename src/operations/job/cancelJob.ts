/** CancelJob: ends a job early. This operation is not in the namespace spec. */

import type { Job, JobRequest } from "../../namespace/jobs.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { findJob } from "../jobAccess.js";

export async function cancelJob(
  context: OperationContext,
  request: JobRequest,
  access: Access,
): Promise<Job> {
  const { jobId } = await findJob(context, request.jobId, "cancelJob", access);
  return (await context.jobs.get()).cancel(jobId, request.signal);
}
