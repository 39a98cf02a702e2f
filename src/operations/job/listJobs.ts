/** ListJobs: lists the jobs of one table or of all visible ones. Not in the namespace spec. */

import type { Job, JobState } from "../../namespace/jobs.js";
import { isVisible } from "../jobAccess.js";
import type { OperationBody } from "../operation.js";
import { optionalId, requireTableId } from "../request.js";
import { parseChoice } from "../requestValues.js";

const STATES: readonly JobState[] = ["Queued", "Running", "Succeeded", "Failed", "Cancelled"];

export const listJobs: OperationBody<"listJobs"> = async (context, request, access) => {
  const id = optionalId(request.id);
  const table = id.length === 0 ? null : requireTableId(id);
  const state = parseChoice(request.state, "state", STATES, undefined);
  const jobs: Job[] = [];
  const isListed = access.visibility("listJobs") ?? (async () => true);
  // `authorize` is asked once per table, because a table may have many jobs.
  const visibleTables = new Map<string, boolean>();
  for (const job of await (await context.jobs.get()).list({ state }, request.signal)) {
    if (table !== null && !isSame(table, job.table)) continue;
    const key = JSON.stringify(job.table);
    const isShown =
      visibleTables.get(key) ?? ((await isVisible(job.table, access)) && (await isListed(job.table)));
    visibleTables.set(key, isShown);
    if (isShown) jobs.push(job);
  }
  return { jobs };
};

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((part, index) => part === b[index]);
