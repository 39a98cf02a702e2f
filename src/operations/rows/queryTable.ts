/** QueryTable: returns rows of a version, with columns, filter, order, limit and offset. */

import { runQuery } from "../../query/run/runQuery.js";
import { KEPT } from "../../rows/readAhead.js";
import type { OperationBody } from "../operation.js";
import { planQuery } from "./plannedQuery.js";
import { reportedBatches } from "./reportedBatches.js";
import { resultOfBatches } from "./resultForms.js";

export const queryTable: OperationBody<"queryTable"> = async (context, request, access) => {
  const { snapshot, plan, source, numbers, options } = await planQuery(context, request, access);
  const { batchRows, batchBytes, memory, signal, makeFile } = options;
  const reading = { operation: "queryTable", request, versions: [snapshot] };
  return resultOfBatches(plan.projection.schema, (isKept) => {
    const readAhead = isKept ? KEPT : context.streams.open();
    const reads = { batchRows, batchBytes, memory, signal, makeFile, readAhead };
    return reportedBatches(() => runQuery(source, plan, numbers, reads), reading);
  });
};
