/** AnalyzeTableQueryPlan: runs a query, drops its rows, and returns its plan with measurements. */

import { explainPlan } from "../../query/run/explain.js";
import { mostFiltered } from "../../query/run/queryPlan.js";
import { runQuery } from "../../query/run/runQuery.js";
import { QueryMeasure } from "../../query/scan/measure.js";
import type { OperationBody } from "../operation.js";
import { planQuery } from "./plannedQuery.js";
import { collectUnread, planFormat, planText } from "./planText.js";

export const analyzeTableQueryPlan: OperationBody<"analyzeTableQueryPlan"> = async (
  context,
  request,
  access,
) => {
  const format = planFormat(request.format);
  const { context: collecting, unread } = collectUnread(context);
  const { snapshot, plan, source, numbers, options } = await planQuery(collecting, request, access);
  const use = (await plan.filter?.lookups?.plan(plan.fragments, mostFiltered(plan))) ?? null;
  const measure = new QueryMeasure(snapshot.table.disk);
  const run = { ...options, readAhead: context.streams.open(), observer: measure };
  for await (const _ of runQuery(source, plan, numbers, run)) request.signal?.throwIfAborted();
  return planText(await explainPlan(plan, use, await measure.finish()), unread, format, true);
};
