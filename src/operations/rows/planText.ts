/** Plans of queries in the format of the request. */

import type { QueryPlanNode } from "../../namespace/queries.js";
import type { UnreadIndex } from "../../query/indexes/unreadIndexes.js";
import { formatPlan } from "../../query/run/explain.js";
import type { OperationContext } from "../context.js";
import { parseChoice } from "../requestValues.js";

/** Returns the requested format of a plan. */
export const planFormat = (format: unknown): "Text" | "Json" =>
  parseChoice(format, "format", ["Text", "Json"], "Text");

/**
 * Returns the text of a plan.
 * @param unread unreadable indexes that the plan could have used, with the reasons
 */
export function planText(
  plan: QueryPlanNode,
  unread: ReadonlySet<string>,
  format: "Text" | "Json",
  isVerbose: boolean,
): string {
  const told =
    unread.size === 0 ? plan : { ...plan, detail: { ...plan.detail, indexesNotRead: [...unread] } };
  return format === "Json" ? JSON.stringify(told) : formatPlan(told, isVerbose);
}

/** Returns a context that collects the unreadable indexes that a plan could have used, with the reasons. */
export function collectUnread(context: OperationContext): {
  readonly context: OperationContext;
  readonly unread: ReadonlySet<string>;
} {
  const unread = new Set<string>();
  const noteUnread = (index: UnreadIndex): void => {
    context.noteUnread?.(index);
    unread.add(`${index.name}: ${index.reason}`);
  };
  return { context: { ...context, noteUnread }, unread };
}
