/** RunBackfillTask: computes a backfill's task in a worker process. Not in the namespace spec. */

import { ConcurrentModificationError, InvalidInputError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { isJobId } from "../../jobs/jobFiles.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { isSameTable, readTableIdentity } from "../../table/versions/tableIdentity.js";
import { findVersion } from "../../table/versions/versions.js";
import { computeClusterTask } from "../../write/backfill/clusterTask.js";
import type { OperationBody } from "../operation.js";
import { rowProgress } from "../progress.js";
import { optionalCount, optionalString, requireVersion } from "../request.js";
import { optionalAmount, requireString } from "../requestValues.js";
import { openWritable } from "../snapshot.js";

const MAX_CALLS = 1024;
const MAX_BATCH_ROWS = 16_384;
const MAX_ROW = 2 ** 32 - 1;
const DIGEST = /^[0-9a-f]{32}$/;

export const runBackfillTask: OperationBody<"runBackfillTask"> = async (context, request) => {
  const taskId = requireString(request.taskId, "taskId");
  const jobId = requireString(request.jobId, "jobId");
  if (!isJobId(jobId)) throw new InvalidInputError("jobId: must be the id of a job");
  const column = requireString(request.column, "column");
  const where = optionalString(request.where, "where") ?? null;
  const version = requireVersion(request.version);
  const task = {
    fragmentId: requireCount(request.fragmentId, "fragmentId", MAX_ROW),
    firstRow: requireCount(request.firstRow, "firstRow", MAX_ROW),
    lastRow: requireCount(request.lastRow, "lastRow", MAX_ROW),
    meaning: requireDigest(request.meaning, "meaning"),
    content: requireDigest(request.content, "content"),
    key: requireDigest(request.key, "key"),
  };
  if (task.lastRow < task.firstRow) {
    throw new InvalidInputError(`lastRow: must be at least firstRow, ${task.firstRow}, not ${task.lastRow}`);
  }
  requireCount(request.rows, "rows", MAX_ROW);
  const maxRows = requireCount(request.checkpointSize, "checkpointSize", MAX_BATCH_ROWS, 1);
  const minRows = requireCount(request.minCheckpointSize, "minCheckpointSize", maxRows, 1);
  const callsAtOnce = requireCount(request.intraApplierConcurrency, "intraApplierConcurrency", MAX_CALLS, 1);
  const flushSeconds =
    optionalAmount(request.batchCheckpointFlushIntervalSeconds, "batchCheckpointFlushIntervalSeconds") ?? 0;
  const tell = rowProgress(request);
  const table = await openWritable(context, request);
  const { table: tableDirectory } = table;
  const identity = await readTableIdentity(tableDirectory);
  const hold = async (): Promise<void> => {
    request.signal?.throwIfAborted();
    const { finishedAt } = await (await context.jobs.get()).describeOf(jobId, "backfill", tableDirectory);
    if (finishedAt !== undefined) throw new ConcurrentModificationError(`job ${jobId} has ended`);
    if (identity !== null && (await isSameTable(tableDirectory, identity))) return;
    throw new ConcurrentModificationError(
      `table ${formatIdentifier(table.entry.id)} was replaced during the backfill`,
    );
  };
  await hold();
  const entry = await findVersion(tableDirectory, version);
  const base = entry && (await openVersion(tableDirectory, entry));
  if (base === null) {
    throw new ConcurrentModificationError(
      `table ${formatIdentifier(table.entry.id)} has no version ${version} any more`,
    );
  }
  const rule = { column, where, functions: context.functions };
  const computed = await computeClusterTask(base, rule, task, {
    batch: { least: minRows, most: maxRows },
    callsAtOnce,
    flushMs: flushSeconds * 1000,
    signal: request.signal ?? new AbortController().signal,
    hold,
    onProgress: (done, total) => tell?.(done, total),
  });
  return { taskId, ...computed };
};

function requireCount(value: unknown, member: string, maximum: number, minimum = 0): number {
  const count = optionalCount(value, member, minimum);
  if (count !== undefined && count <= maximum) return count;
  throw new InvalidInputError(`${member}: must be an integer from ${minimum} to ${maximum}`);
}

function requireDigest(value: unknown, member: string): string {
  const digest = requireString(value, member);
  if (DIGEST.test(digest)) return digest;
  throw new InvalidInputError(`${member}: must be a digest, 32 hexadecimal digits`);
}
