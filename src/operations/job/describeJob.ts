/** DescribeJob: returns the state of a job. This operation is not in the namespace spec. */

import type { Job, JobRequest } from "../../namespace/jobs.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { findJob } from "../jobAccess.js";

export const describeJob = (context: OperationContext, request: JobRequest, access: Access): Promise<Job> =>
  findJob(context, request.jobId, "describeJob", access);
