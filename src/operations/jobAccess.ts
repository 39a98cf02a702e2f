/**
 * Finds jobs and transactions for callers that may see their tables. Other callers get the error for an
 * unknown id. `authorize` is also asked about the operation itself, for the table and its branch.
 */

import { TransactionNotFoundError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import { isJobId } from "../jobs/jobFiles.js";
import type { Job } from "../namespace/jobs.js";
import type { DescribeTransactionResponse } from "../namespace/transactions.js";
import { isObject } from "../optionMembers.js";
import type { Access } from "./access.js";
import type { OperationContext } from "./context.js";
import { requireString } from "./requestValues.js";

/**
 * Returns the job that a request names.
 * @param jobId unchecked: the id, or an object with it
 * @throws TransactionNotFoundError if the job does not exist, or the caller may not see its table
 */
export async function findJob(
  context: OperationContext,
  jobId: unknown,
  operation: string,
  access: Access,
): Promise<Job> {
  const id = requireString(isObject(jobId) ? (jobId as Partial<Job>).jobId : jobId, "jobId").toLowerCase();
  const job = isJobId(id) ? await (await context.jobs.get()).describe(id).catch(absent) : null;
  if (job === null || !(await isVisible(job.table, access)))
    throw new TransactionNotFoundError(`there is no job ${id}`);
  await access.require(operation, job.table);
  if (job.branch !== undefined) await access.require(operation, job.table, { branch: job.branch });
  return job;
}

/**
 * Returns the job that a transaction path names: the job's id, possibly after the path of its table. Null if
 * it does not exist.
 * @throws errors of `authorize`
 */
export async function findJobOf(
  context: OperationContext,
  path: readonly string[],
  operation: string,
  access: Access,
): Promise<Job | null> {
  const table = path.slice(0, -1);
  const id = path[path.length - 1]?.toLowerCase();
  const job = isJobId(id) ? await findJob(context, id, operation, access).catch(absent) : null;
  const isNamed = table.length === 0 || formatIdentifier(table) === formatIdentifier(job?.table ?? []);
  return isNamed ? job : null;
}

/** Returns the state of a job in the form of a transaction. */
export function describeAsTransaction(job: Job): DescribeTransactionResponse {
  const { jobId, kind, table, branch, state, done, total, unit, createdAt, error } = job;
  return {
    status: state === "Cancelled" ? "Canceled" : state,
    properties: {
      uuid: jobId,
      table: formatIdentifier(table),
      ...(branch !== undefined && { branch }),
      operation: kind,
      done: String(done),
      ...(total !== undefined && { total: String(total) }),
      unit,
      timestamp_millis: String(Date.parse(createdAt)),
      ...(error !== undefined && { error: error.type }),
    },
  };
}

/** True if the caller may see jobs and transactions of a table. */
export const isVisible = async (table: readonly string[], access: Access): Promise<boolean> =>
  (await access.visibility("tableExists")?.(table)) ?? true;

function absent(error: unknown): null {
  if (error instanceof TransactionNotFoundError) return null;
  throw error;
}
