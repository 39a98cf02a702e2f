/** WaitForJob: waits for a job's end and reports its progress. Not in the namespace spec. */

import { findJob } from "../jobAccess.js";
import type { OperationBody } from "../operation.js";
import { optionalCallback, optionalCount } from "../request.js";

export const waitForJob: OperationBody<"waitForJob"> = async (context, request, access) => {
  const timeoutMs = optionalCount(request.timeoutMs, "timeoutMs");
  const onProgress = optionalCallback(request.onProgress, "onProgress");
  const { jobId } = await findJob(context, request.jobId, "waitForJob", access);
  return (await context.jobs.get()).wait({ jobId, timeoutMs, onProgress, signal: request.signal });
};
