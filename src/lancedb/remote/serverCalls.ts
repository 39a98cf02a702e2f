/** Requests that only LanceDB's servers take: branches compared and taken over, and jobs in detail. */

import type { ServerConnection } from "../../client/restNamespace.js";
import { TransactionNotFoundError } from "../../errors.js";
import type { QueryResult } from "../../namespace/queries.js";
import type { JobFailureInfo } from "../native.js";
import type * as types from "../tableTypes.js";
import { isMissingPath } from "./serverErrors.js";

const pathOf = (id: readonly string[], tail: string): string =>
  `/v1/table/${encodeURIComponent(id.join("$")).replaceAll("%24", "$")}/${tail}/`;

/** Compares a branch with main. */
export const branchDiff = async (
  server: ServerConnection,
  id: readonly string[],
  fromBranch: string,
): Promise<types.BranchDiff> =>
  (await server.post(pathOf(id, "branches/diff"), { from_branch: fromBranch })) as types.BranchDiff;

/** Takes the columns of a branch over. A conflict is an answer too. */
export const cherryPick = async (
  server: ServerConnection,
  id: readonly string[],
  fromBranch: string,
  dryRun: boolean,
): Promise<types.CherryPickResult> =>
  (await server.post(
    pathOf(id, "branches/cherry_pick"),
    { from_branch: fromBranch, dry_run: dryRun },
    [409],
  )) as types.CherryPickResult;

/** Details of a server's job beside its state. */
export interface ServerJob {
  readonly jobType: string | null;
  readonly creationMs: number | null;
  readonly spec: unknown;
  readonly result: unknown;
  readonly failure: JobFailureInfo | null;
}

/** Describes a job. Null: there is no such job. */
export async function describeServerJob(server: ServerConnection, jobId: string): Promise<ServerJob | null> {
  const json = await orNull(server.post("/v1/jobs/describe", { job_id: jobId }));
  if (json === null) return null;
  const { job_type, creation_ms, spec, result, failure } = json as Readonly<Record<string, unknown>>;
  return {
    jobType: typeof job_type === "string" ? job_type : null,
    creationMs: typeof creation_ms === "number" ? creation_ms : null,
    spec: spec ?? null,
    result: result ?? null,
    failure: (failure as JobFailureInfo | undefined) ?? null,
  };
}

/** Returns the events of a job. */
export const serverJobEvents = (
  server: ServerConnection,
  jobId: string,
  { limit, filter }: { readonly limit?: number; readonly filter?: string },
): Promise<QueryResult> =>
  server.postForRows("/v1/jobs/query_events", {
    job_id: jobId,
    ...(limit != null && { limit }),
    ...(filter != null && { filter }),
  });

async function orNull(answer: Promise<unknown>): Promise<unknown> {
  try {
    return (await answer) ?? {};
  } catch (error) {
    if (error instanceof TransactionNotFoundError || isMissingPath(error)) return null;
    throw error;
  }
}
