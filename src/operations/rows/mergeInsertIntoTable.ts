/** MergeInsertIntoTable: updates, inserts and deletes rows by key. A declared table gets all rows. */

import { whenAborted } from "../../async/abort.js";
import { clearTimeout, performance, setTimeout } from "../../async/timers.js";
import { requireStillTable } from "../../catalog/locations/tables.js";
import {
  ConcurrentModificationError,
  InvalidInputError,
  InvalidTableStateError,
  ServiceUnavailableError,
  UnsupportedError,
} from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type {
  MergeInsertIntoTableRequest,
  MergeInsertIntoTableResponse,
  RowsInput,
} from "../../namespace/rows.js";
import { insertRows } from "../../write/insert.js";
import type { MergeRequest } from "../../write/merge/clauses.js";
import { type MergeOptions, mergeInsert } from "../../write/merge/mergeInsert.js";
import type { OperationContext } from "../context.js";
import { optionalFilter, parametersOf } from "../filter.js";
import type { OperationBody } from "../operation.js";
import { rowProgress } from "../progress.js";
import { isAbsent, optionalBoolean, optionalString } from "../request.js";
import { inputBounds, requireString, requireStrings } from "../requestValues.js";
import { anchorOfOpen, type OpenTable, openTable, writableOf } from "../snapshot.js";

export const mergeInsertIntoTable: OperationBody<"mergeInsertIntoTable"> = async (
  context,
  request,
  _access,
  data,
) => {
  const merge = mergeOf(request);
  const bounds = inputBounds(request);
  const onRows = rowProgress(request);
  const timeoutMs = parseTimeout(optionalString(request.timeout, "timeout"));
  const deadline = startDeadline(timeoutMs, request.signal);
  try {
    const open = await openTable(context, request);
    const writable = await writableOf(open, merge.logs);
    const { signal, verify } = deadline;
    const options = { bounds, onRows, signal, verify };
    if (writable === null) return await createWith(context, open, merge, data, options);
    const merged = await mergeInsert(writable, data, merge, options);
    return {
      transactionId: merged.transactionId,
      version: merged.version,
      numUpdatedRows: merged.updatedRows,
      numInsertedRows: merged.insertedRows,
      numDeletedRows: merged.deletedRows,
    };
  } finally {
    deadline.end();
  }
};

/** Returns the clauses of a request, checked as far as possible without the table. */
function mergeOf(request: MergeInsertIntoTableRequest): MergeRequest {
  const on =
    typeof request.on === "string" ? [requireString(request.on, "on")] : requireStrings(request.on, "on");
  if (on.length === 0) throw new InvalidInputError("on: must have a column");
  const clause = (
    clauseName: keyof MergeInsertIntoTableRequest,
    filter: keyof MergeInsertIntoTableRequest,
  ) => {
    const isWanted = optionalBoolean(request[clauseName], clauseName) ?? false;
    if (!isWanted && !isAbsent(request[filter])) {
      throw new InvalidInputError(`${filter}: needs ${clauseName}`);
    }
    return isWanted ? { filter: optionalFilter(request[filter], filter) } : null;
  };
  const update = clause("whenMatchedUpdateAll", "whenMatchedUpdateAllFilt");
  const insert = optionalBoolean(request.whenNotMatchedInsertAll, "whenNotMatchedInsertAll") ?? false;
  const remove = clause("whenNotMatchedBySourceDelete", "whenNotMatchedBySourceDeleteFilt");
  if (update === null && !insert && remove === null) {
    throw new InvalidInputError(
      "a merge needs one of whenMatchedUpdateAll, whenNotMatchedInsertAll and whenNotMatchedBySourceDelete",
    );
  }
  const useIndexes = optionalBoolean(request.useIndex, "useIndex") ?? true;
  const useLsm = optionalBoolean(request.useLsm, "useLsm");
  if (useLsm === true) {
    throw new UnsupportedError("useLsm: tables written through a log are not supported by this release");
  }
  const isUpsert = update !== null && update.filter === undefined && insert && remove === null;
  return {
    on,
    update,
    insert,
    remove,
    parameters: parametersOf(request.params),
    useIndexes,
    logs: useLsm === false ? "empty" : isUpsert ? "none" : "unfit",
  };
}

/** Creates the first version of a declared table. */
async function createWith(
  context: OperationContext,
  open: OpenTable,
  merge: MergeRequest,
  data: RowsInput,
  { verify, ...options }: Pick<MergeOptions, "bounds" | "onRows" | "signal" | "verify">,
): Promise<MergeInsertIntoTableResponse> {
  const name = `table ${formatIdentifier(open.entry.id)}`;
  if (!merge.insert) {
    throw new InvalidTableStateError(
      `${name} is only declared: it has no rows, and the merge adds none without whenNotMatchedInsertAll`,
    );
  }
  const inserted = await insertRows(open.table, await anchorOfOpen(open), data, {
    mode: "Append",
    newTable: { version: context.newTableVersion, naming: context.newTableNaming },
    onCreated: "fail",
    beforeCreation: async () => {
      await requireStillTable(context, open.entry);
      await verify?.();
    },
    key: merge.on,
    pool: context.workers,
    ...options,
  });
  if (inserted === null) {
    throw new ConcurrentModificationError(`${name} was created by another writer; please retry`);
  }
  const { committed, transactionId, rowCount } = inserted;
  return {
    transactionId,
    version: committed.version,
    numUpdatedRows: 0,
    numInsertedRows: rowCount,
    numDeletedRows: 0,
  };
}

/** Milliseconds per unit of time. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);
/** Maximum duration of a timer. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Returns the milliseconds of a duration such as `30s`. */
function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit] = /^(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)$/.exec(text.trim()) ?? [];
  const factor = UNITS.get(unit);
  if (factor === undefined) {
    throw new InvalidInputError('timeout: must be a number and a unit (ms, s, m or h), as in "30s"');
  }
  return Math.min(MAX_TIMEOUT_MS, Number(number) * factor);
}

/**
 * Starts the time limit of a merge. The returned signal aborts after the limit, or with the caller's signal.
 * The function `verify` checks the clock before the commit, because the timer of the signal may be late.
 */
function startDeadline(timeoutMs: number | undefined, signal: AbortSignal | undefined) {
  if (timeoutMs === undefined) return { signal, verify: undefined, end: () => undefined };
  const endMs = performance.now() + timeoutMs;
  const controller = new AbortController();
  const endWait = signal === undefined ? null : whenAborted(signal, () => controller.abort(signal.reason));
  const reason = new ServiceUnavailableError(`timeout: the merge took longer than ${timeoutMs} ms`);
  const timer = setTimeout(() => controller.abort(reason), timeoutMs);
  const end = () => {
    clearTimeout(timer);
    endWait?.();
  };
  const verify = async () => {
    if (performance.now() >= endMs) throw reason;
  };
  return { signal: controller.signal, verify, end };
}
