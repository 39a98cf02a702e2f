/** ExplainTableQueryPlan: returns the plan of a query. */

import { InvalidInputError } from "../../errors.js";
import { explainPlan } from "../../query/run/explain.js";
import { mostFiltered } from "../../query/run/queryPlan.js";
import type { OperationBody } from "../operation.js";
import { optionalBoolean } from "../request.js";
import { planQuery } from "./plannedQuery.js";
import { collectUnread, planFormat, planText } from "./planText.js";

export const explainTableQueryPlan: OperationBody<"explainTableQueryPlan"> = async (
  context,
  request,
  access,
) => {
  const { query, verbose, format, ...table } = request;
  if (typeof query !== "object" || query === null) throw new InvalidInputError("query: must be an object");
  const isVerbose = optionalBoolean(verbose, "verbose") ?? false;
  const shape = planFormat(format);
  const { context: collecting, unread } = collectUnread(context);
  const { plan } = await planQuery(collecting, { ...query, ...table }, access);
  const use = (await plan.filter?.lookups?.plan(plan.fragments, mostFiltered(plan))) ?? null;
  return planText(await explainPlan(plan, use), unread, shape, isVerbose);
};
