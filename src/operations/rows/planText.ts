/** Plans of queries in the form that a request asks for. */

import type { QueryPlanNode } from "../../namespace/queries.js";
import { formatPlan } from "../../query/run/explain.js";
import { parseChoice } from "../request.js";

/** The form of a plan that a request asks for. */
export const planFormat = (format: unknown): "Text" | "Json" =>
  parseChoice(format, "format", ["Text", "Json"], "Text");

export const planText = (plan: QueryPlanNode, format: "Text" | "Json", isVerbose: boolean): string =>
  format === "Json" ? JSON.stringify(plan) : formatPlan(plan, isVerbose);
