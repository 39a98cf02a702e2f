/** QueryTable: returns rows of a version, with columns, filter, order, limit and offset. */

import type { RecordBatch } from "apache-arrow";
import type { QueryTableRequest } from "../../namespace/queries.js";
import { runQuery } from "../../query/run/runQuery.js";
import { KEPT, type ReadAhead } from "../../rows/readAhead.js";
import { operationError } from "../failure.js";
import type { OperationBody } from "../operation.js";
import { removedError } from "../snapshot.js";
import { type PlannedQuery, planQuery } from "./plannedQuery.js";
import { resultOfBatches } from "./resultForms.js";

export const queryTable: OperationBody<"queryTable"> = async (context, request, access) => {
  const planned = await planQuery(context, request, access);
  return resultOfBatches(planned.plan.projection.schema, (isKept) =>
    queryBatches(planned, request, isKept ? KEPT : context.streams.open()),
  );
};

/**
 * Runs a planned query. This is a function of the module, as all generators of single queries are: V8 makes a
 * hidden class for each closure that is a generator. It lies among the old objects, and until a full
 * collection it keeps all that the closure refers to.
 */
async function* queryBatches(
  { snapshot, plan, source, numbers, options }: PlannedQuery,
  request: QueryTableRequest,
  readAhead: ReadAhead,
): AsyncGenerator<RecordBatch, void, undefined> {
  try {
    const { batchRows, batchBytes, memory, signal, makeFile } = options;
    yield* runQuery(source, plan, numbers, { batchRows, batchBytes, memory, signal, makeFile, readAhead });
  } catch (error) {
    throw operationError(await removedError([snapshot], request, error), "queryTable", request.signal);
  }
}
