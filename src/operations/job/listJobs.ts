/** ListJobs: the jobs of a table, or of all tables that the caller may see; beyond the spec. */

import type { Job, JobState, ListJobsRequest, ListJobsResponse } from "../../namespace/jobs.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { isVisible } from "../jobAccess.js";
import { optionalId, parseChoice, requireTableId } from "../request.js";

const STATES: readonly JobState[] = ["Queued", "Running", "Succeeded", "Failed", "Cancelled"];

export async function listJobs(
  context: OperationContext,
  request: ListJobsRequest,
  access: Access,
): Promise<ListJobsResponse> {
  const id = optionalId(request.id);
  const table = id.length === 0 ? null : requireTableId(id);
  const state = stateOf(request.state);
  const jobs: Job[] = [];
  const isListed = access.visibility("listJobs") ?? (async () => true);
  // The answer for a table is asked for once: it may have many jobs.
  const shown = new Map<string, boolean>();
  for (const job of await (await context.jobs.get()).list({ state }, request.signal)) {
    if (table !== null && !isSame(table, job.table)) continue;
    const key = JSON.stringify(job.table);
    const isShown = shown.get(key) ?? ((await isVisible(job.table, access)) && (await isListed(job.table)));
    shown.set(key, isShown);
    if (isShown) jobs.push(job);
  }
  return { jobs };
}

function stateOf(given: unknown): JobState | undefined {
  if (given === undefined || given === null) return undefined;
  return parseChoice(given, "state", STATES, "Running");
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((part, index) => part === b[index]);
