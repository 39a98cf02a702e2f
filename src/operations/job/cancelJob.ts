/** CancelJob: ends a job early. This operation is not in the namespace spec. */

import { findJob } from "../jobAccess.js";
import type { OperationBody } from "../operation.js";

export const cancelJob: OperationBody<"cancelJob"> = async (context, request, access) => {
  const { jobId } = await findJob(context, request.jobId, "cancelJob", access);
  return (await context.jobs.get()).cancel(jobId, request.signal);
};
