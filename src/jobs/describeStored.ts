/** Turns a stored job into the `Job` that callers see. */

import { ERROR_TABLE } from "../errors.js";
import type { Job, JobState } from "../namespace/jobs.js";
import type { FailureRecord } from "../typedErrors.js";
import type { StoredJob } from "./jobFiles.js";

const ABANDONED: FailureRecord = {
  type: "ServiceUnavailable",
  message: "the process that ran the job ended; asking for the same work again goes on with it",
};

export function describeStored(stored: StoredJob): Job {
  const { jobId, record, progress, outcome } = stored;
  const { kind, table, branch, unit, createdMs } = record;
  const state = stateOf(stored);
  const { done, total } = outcome ?? progress ?? { done: 0 };
  const rate = state === "Running" ? progress?.rate : undefined;
  const error = state === "Failed" ? (outcome?.error ?? ABANDONED) : undefined;
  const startedMs = progress?.startedMs;
  const isInterrupted = outcome === null && (state === "Failed" || state === "Cancelled");
  return {
    jobId,
    kind,
    table,
    ...(branch !== null && { branch }),
    state,
    done,
    ...(total !== undefined && { total }),
    unit,
    ...(rate !== undefined && { rate }),
    ...estimatedEnd(done, total, rate),
    createdAt: new Date(createdMs).toISOString(),
    ...(startedMs !== undefined && { startedAt: new Date(startedMs).toISOString() }),
    ...(outcome !== null && { finishedAt: new Date(outcome.finishedMs).toISOString() }),
    ...(isInterrupted && { isInterrupted }),
    ...(error !== undefined && { error: { code: ERROR_TABLE[error.type].code, ...error } }),
    ...(outcome?.result !== undefined && { result: outcome.result }),
  };
}

function stateOf({ progress, outcome, owner, isCancelRequested }: StoredJob): JobState {
  if (outcome !== null) return outcome.state;
  if (owner === "held") return progress?.startedMs === undefined ? "Queued" : "Running";
  return progress?.isClosed === true || isCancelRequested ? "Cancelled" : "Failed";
}

function estimatedEnd(
  done: number,
  total: number | undefined,
  rate: number | undefined,
): { readonly estimatedEnd?: string } {
  if (total === undefined || rate === undefined || !(rate > 0)) return {};
  const date = new Date(Date.now() + (Math.max(0, total - done) / rate) * 1000);
  return Number.isNaN(date.getTime()) ? {} : { estimatedEnd: date.toISOString() };
}
