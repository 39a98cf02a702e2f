/**
 * Routes that only LanceDB's remote client uses. The client takes an unknown path for a missing table. So
 * each route checks that the table exists, and then reports the missing feature.
 */

import { z } from "zod";
import { InvalidTableStateError, TableIndexNotFoundError, UnsupportedError } from "../../errors.js";
import { DEFAULT_DELIMITER } from "../../ident.js";
import type { Job, JobState, ListJobsResponse } from "../../namespace/jobs.js";
import { type ListedRouteOptions, makeRoute, type Route } from "../wire/route.js";
import * as shape from "../wire/shapes.js";
import { callEngine, type EngineCall } from "./dialect.js";

type Perform = (call: EngineCall) => Promise<unknown>;

/** Index that marks a table with a log, which LanceDB writes in addition to versions. */
const LOG_INDEX = "__lance_mem_wal";

const TABLE = "/v1/table/{id}/";
const PERFORM = new Map<Route, Perform>();

/** Returns the function that performs a request to one of these routes; undefined for other routes. */
export const performOf = (route: Route): Perform | undefined => PERFORM.get(route);

/**
 * Adds a route.
 * @param operation operation that is authorised, and that checks that the table exists
 */
function added(
  operation: Route["operation"],
  path: string,
  summary: string,
  options: ListedRouteOptions,
  perform: Perform,
): Route {
  const route = makeRoute(operation, path, summary, options);
  PERFORM.set(route, perform);
  return route;
}

/** Returns a route that reports a missing feature after checking the table, and the named branch. */
function unsupportedRoute(tail: string, what: string, body: z.ZodRawShape = {}): Route {
  return added("describeTable", TABLE + tail, what, { body }, async (call) => {
    const { fromBranch, ...request } = call.request;
    await callEngine({
      ...call,
      request: fromBranch === undefined ? request : { ...request, branch: fromBranch },
    });
    throw new UnsupportedError(`${tail}: ${what} is not supported by this release`);
  });
}

/** Returns a route that reads the table's log; the answer is null without a log. */
function ofLog(tail: string, member: string): Route {
  const answer = { bare: z.object({ [member]: z.null() }) };
  return added(
    "describeTableIndexStats",
    TABLE + tail,
    "Read the log of a table",
    { answer },
    async (call) => {
      const indexed = { ...call, request: { ...call.request, indexName: LOG_INDEX } };
      try {
        await callEngine(indexed);
      } catch (error) {
        // A declared table has no log either.
        if (error instanceof TableIndexNotFoundError || error instanceof InvalidTableStateError) {
          return { [member]: null };
        }
        if (!(error instanceof UnsupportedError)) throw error;
      }
      throw new UnsupportedError(`${tail}: tables written through a log are not supported by this release`);
    },
  );
}

// ------------------------------------------------------------------------------------------------ jobs

/** A job in the form of this client. */
const remoteJob = z.object({
  job_id: shape.text,
  job_state: shape.text,
  job_type: shape.text,
  creation_ms: shape.count,
  spec: z.unknown(),
  result: z.unknown().optional(),
  failure: z.object({ phase: shape.text, message: shape.text, retryable: z.boolean() }).optional(),
});

/** A job in this client's list, which has other names for three members. */
const listedRemoteJob = remoteJob.extend({
  table: shape.text,
  state: shape.text,
  created_at_millis: shape.count,
});
const listedRemoteJobs = z.object({ jobs: z.array(listedRemoteJob) });

const REMOTE_STATES: Readonly<Record<JobState, string>> = {
  Queued: "IN_PROGRESS",
  Running: "IN_PROGRESS",
  Succeeded: "DONE",
  Failed: "FAILED",
  Cancelled: "CANCELLED",
};

function asRemoteJob(job: Job) {
  const { kind, table, branch, state, done, total, unit, createdAt, error, result, isInterrupted } = job;
  return {
    jobId: job.jobId,
    jobState: REMOTE_STATES[state],
    jobType: kind,
    creationMs: Date.parse(createdAt),
    spec: { table, branch, done, total, unit },
    result,
    ...(error !== undefined && {
      failure: { phase: state, message: error.message, retryable: isInterrupted === true },
    }),
  };
}

function asListedRemoteJob(job: Job) {
  const remote = asRemoteJob(job);
  const table = job.table.join(DEFAULT_DELIMITER);
  return { ...remote, table, state: remote.jobState, createdAtMillis: remote.creationMs };
}

const JOB = { body: { job_id: shape.text.min(1) }, answer: remoteJob };
const performOnJob: Perform = async (call) => asRemoteJob((await callEngine(call)) as Job);

const fromBranch = { from_branch: shape.text.min(1) };

export const REMOTE_ROUTES: readonly Route[] = [
  ofLog("get_lsm_write_spec", "lsm_write_spec"),
  ofLog("get_lsm_stats", "lsm_stats"),
  ...["set_lsm_write_spec", "unset_lsm_write_spec", "flush_lsm", "compact_lsm"].map((tail) =>
    unsupportedRoute(tail, "writing a table through a log"),
  ),
  unsupportedRoute("page_cache/prewarm", "reading columns into a cache ahead of queries"),
  unsupportedRoute("branches/diff", "comparing branches", fromBranch),
  unsupportedRoute("branches/cherry_pick", "taking the columns of a branch over", fromBranch),
  unsupportedRoute("fetch_blobs", "reading blobs by row id"),
  ...["create", "complete", "abort"].map((step) =>
    unsupportedRoute(`multipart_write/${step}`, "writing one version by several requests"),
  ),
  added("describeTableIndexStats", `${TABLE}index/{index_name}/prewarm`, "Load an index", {}, callEngine),
  added("describeJob", "/v1/jobs/describe", "Describe a job", JOB, performOnJob),
  added("cancelJob", "/v1/jobs/cancel", "Cancel a job", JOB, performOnJob),
  added("listJobs", "/v1/jobs/list", "List jobs", { answer: listedRemoteJobs }, async (call) => {
    const { jobs } = (await callEngine(call)) as ListJobsResponse;
    return { jobs: jobs.map(asListedRemoteJob) };
  }),
];
