/** Jobs in answers. Their errors are reported like errors of requests. */

import type { DirectoryNamespace } from "../../DirectoryNamespace.js";
import type { ErrorType } from "../../errors.js";
import type { Job, ListJobsResponse } from "../../namespace/jobs.js";
import type { OperationName } from "../../operationTable.js";
import { failureText } from "./problem.js";

/** Returns the answer of an operation without details of jobs that a client must not learn. */
export async function withoutSecrets(
  namespace: DirectoryNamespace,
  operation: OperationName,
  answer: unknown,
): Promise<unknown> {
  switch (operation) {
    case "listJobs": {
      const { jobs } = answer as ListJobsResponse;
      const roots = await namespace.rootPaths();
      return { jobs: jobs.map((job) => shown(job, roots)) };
    }
    case "describeJob":
    case "cancelJob":
    case "waitForJob":
      return shown(answer as Job, await namespace.rootPaths());
    default:
      return answer;
  }
}

function shown(job: Job, roots: readonly string[]): Job {
  const { error } = job;
  if (error === undefined) return job;
  return { ...job, error: { ...error, message: failureText(error.type as ErrorType, error.message, roots) } };
}
