/**
 * WaitForJob: waits for the end of a job and reports its progress. This operation is not in the namespace
 * spec.
 */

import type { Job, WaitForJobRequest } from "../../namespace/jobs.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { findJob } from "../jobAccess.js";
import { optionalCallback, optionalCount } from "../request.js";

export async function waitForJob(
  context: OperationContext,
  request: WaitForJobRequest,
  access: Access,
): Promise<Job> {
  const timeoutMs = optionalCount(request.timeoutMs, "timeoutMs");
  const onProgress = optionalCallback(request.onProgress, "onProgress");
  const { jobId } = await findJob(context, request.jobId, "waitForJob", access);
  return (await context.jobs.get()).wait({ jobId, timeoutMs, onProgress, signal: request.signal });
}
