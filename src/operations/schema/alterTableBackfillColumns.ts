/** AlterTableBackfillColumns: starts a job that fills a computed column, or returns the running one. */

import {
  ConcurrentModificationError,
  InvalidInputError,
  TableColumnNotFoundError,
  TableVersionNotFoundError,
} from "../../errors.js";
import { formatFieldPath, formatIdentifier } from "../../ident.js";
import type { AlterTableBackfillColumnsRequest } from "../../namespace/schema.js";
import type { TableField } from "../../schema/schema.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { findVersion } from "../../table/versions/versions.js";
import { backfillColumn } from "../../write/backfill/backfillColumn.js";
import type { BackfillSettings } from "../../write/backfill/backfillWork.js";
import type { BackfillCluster } from "../../write/backfill/clusterRun.js";
import { resolvedOn } from "../../write/backfill/resolvedBackfill.js";
import type { OperationContext } from "../context.js";
import { toldControl } from "../longWork.js";
import type { OperationBody } from "../operation.js";
import { rowProgress } from "../progress.js";
import { optionalCount, optionalString, optionalVersion } from "../request.js";
import { optionalAmount, optionalCountTo, requireString } from "../requestValues.js";
import { type OpenTable, openWritable } from "../snapshot.js";

const DEFAULT_BATCH_ROWS = 1024;
const MAX_BATCH_ROWS = 16_384;
const MAX_AT_ONCE = 1024;
const DEFAULT_FLUSH_SECONDS = 5;
const DEFAULT_COMMIT_FRAGMENTS = 16;

export const alterTableBackfillColumns: OperationBody<"alterTableBackfillColumns"> = async (
  context,
  request,
) => {
  const column = requireString(request.column, "column");
  const where = optionalString(request.where, "where") ?? null;
  const limits = settingsOf(request);
  const cluster = clusterOf(context, request);
  const tell = rowProgress(request);
  const table = await openWritable(context, request);
  const { table: tableDirectory, latest } = table;
  const { readVersion, maxFragments } = limits;
  const old = readVersion === null ? null : await oldVersion(table, readVersion);
  const open =
    (await openVersion(tableDirectory, latest)) ??
    (await openVersion(tableDirectory, (await openWritable(context, request)).latest));
  if (open === null)
    throw new ConcurrentModificationError(
      `${tableDirectory.root}: other writers keep changing and removing versions; please retry`,
    );
  const rule = { column, where, functions: context.functions };
  const { field, meaning } = await resolvedOn(open, rule, request.signal);
  if (old !== null) requireColumnIn(old, field);
  const scope = { readVersion, numFrags: Number.isFinite(maxFragments) ? maxFragments : null };
  const key = JSON.stringify([meaning, scope]);
  const settings = { ...limits, cluster, table: table.entry.id, root: context.root };
  const spec = {
    kind: "backfill",
    tableId: table.entry.id,
    table: tableDirectory,
    key,
    parameters: {
      ...{ column, where, ...scope },
      ...(cluster !== null && { cluster: cluster.name, manifest: cluster.manifest }),
    },
    unit: "rows",
  } as const;
  return (await context.jobs.get()).start(
    {
      ...spec,
      run: async (control) => ({
        ...(await backfillColumn(table, { ...rule, meaning }, settings, key, toldControl(control, tell))),
      }),
    },
    request.signal,
  );
};

/**
 * Returns the executor that a request names. Null: functions run in this process.
 * @throws InvalidInputError naming the registered executors, or the environments of the executor
 */
function clusterOf(
  { clusters }: OperationContext,
  request: AlterTableBackfillColumnsRequest,
): BackfillCluster | null {
  const name = optionalString(request.cluster, "cluster");
  const manifest = optionalString(request.manifest, "manifest");
  if (name === undefined) return null;
  const concurrency = optionalCountTo(request.concurrency, "concurrency", MAX_AT_ONCE);
  const executor = clusters.get(name);
  if (executor === undefined) {
    throw new InvalidInputError(
      `cluster: there is no cluster ${name}; ${listed(clusters.keys())} registered`,
    );
  }
  const { manifests = [] } = executor;
  if (manifest !== undefined && !manifests.includes(manifest)) {
    throw new InvalidInputError(
      `manifest: cluster ${name} has no environment ${manifest}; ${listed(manifests)} registered`,
    );
  }
  return { name, executor, manifest, concurrency };
}

function listed(names: Iterable<string>): string {
  const [first, ...others] = names;
  if (first === undefined) return "none is";
  return others.length === 0 ? `${first} is` : `${[first, ...others].join(", ")} are`;
}

async function oldVersion({ table, entry: tableEntry }: OpenTable, version: number): Promise<OpenVersion> {
  const entry = await findVersion(table, version);
  const open = entry && (await openVersion(table, entry));
  if (open !== null) return open;
  throw new TableVersionNotFoundError(
    `readVersion: table ${formatIdentifier(tableEntry.id)} has no version ${version}`,
  );
}

/** An older version only selects the rows. The latest version declares how the column is computed. */
function requireColumnIn({ version, file }: OpenVersion, field: TableField): void {
  if (file.manifest.fields.some(({ id }) => id === field.id)) return;
  throw new TableColumnNotFoundError(
    `readVersion: version ${version} has no column ${formatFieldPath([field.name])}`,
  );
}

function settingsOf(
  request: AlterTableBackfillColumnsRequest,
): Omit<BackfillSettings, "cluster" | "table" | "root"> {
  const most = optionalCountTo(request.maxCheckpointSize, "maxCheckpointSize", MAX_BATCH_ROWS);
  const rows =
    optionalCountTo(request.checkpointSize, "checkpointSize", MAX_BATCH_ROWS) ?? most ?? DEFAULT_BATCH_ROWS;
  const cap = Math.min(most ?? rows, rows);
  const least = optionalCountTo(request.minCheckpointSize, "minCheckpointSize", MAX_BATCH_ROWS) ?? 1;
  if (least > cap) {
    throw new InvalidInputError(`minCheckpointSize: must be at most ${cap}, the largest batch, not ${least}`);
  }
  const flushSeconds =
    optionalAmount(request.batchCheckpointFlushIntervalSeconds, "batchCheckpointFlushIntervalSeconds") ??
    DEFAULT_FLUSH_SECONDS;
  return {
    concurrency: optionalCountTo(request.concurrency, "concurrency", MAX_AT_ONCE) ?? 1,
    callsAtOnce:
      optionalCountTo(request.intraApplierConcurrency, "intraApplierConcurrency", MAX_AT_ONCE) ?? 1,
    batch: { least, most: cap },
    flushMs: flushSeconds * 1000,
    readVersion: optionalVersion(request.readVersion, "readVersion") ?? null,
    taskRows: optionalCount(request.taskSize, "taskSize", 1) ?? Number.POSITIVE_INFINITY,
    maxFragments: optionalCount(request.numFrags, "numFrags", 1) ?? Number.POSITIVE_INFINITY,
    commitFragments:
      optionalCount(request.commitGranularity, "commitGranularity", 1) ?? DEFAULT_COMMIT_FRAGMENTS,
  };
}
