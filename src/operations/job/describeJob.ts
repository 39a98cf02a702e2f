/** DescribeJob: returns the state of a job. This operation is not in the namespace spec. */

import { findJob } from "../jobAccess.js";
import type { OperationBody } from "../operation.js";

export const describeJob: OperationBody<"describeJob"> = (context, request, access) =>
  findJob(context, request.jobId, "describeJob", access);
