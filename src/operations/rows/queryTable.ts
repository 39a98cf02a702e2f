/** QueryTable: returns rows of a version, with columns, filter, order, limit and offset. */

import type { RecordBatch } from "apache-arrow";
import { runQuery } from "../../query/run/runQuery.js";
import { KEPT, type ReadAhead } from "../../rows/readAhead.js";
import { operationError } from "../failure.js";
import type { OperationBody } from "../operation.js";
import { removedError } from "../snapshot.js";
import { planQuery } from "./plannedQuery.js";
import { resultOfBatches } from "./resultForms.js";

export const queryTable: OperationBody<"queryTable"> = async (context, request, access) => {
  const { snapshot, plan, source, numbers, options } = await planQuery(context, request, access);
  async function* batches(readAhead: ReadAhead): AsyncGenerator<RecordBatch, void, undefined> {
    try {
      yield* runQuery(source, plan, numbers, { ...options, readAhead });
    } catch (error) {
      throw operationError(await removedError([snapshot], request, error), "queryTable", request.signal);
    }
  }
  return resultOfBatches(plan.projection.schema, (isKept) => batches(isKept ? KEPT : context.streams.open()));
};
