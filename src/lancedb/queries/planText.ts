/** Prints plans with the names of steps that LanceDB's users look for. */

import type { QueryPlanMetrics, QueryPlanNode } from "../../namespace/queries.js";

/** LanceDB's names of the engine's steps. The others keep theirs. */
const STEPS: Readonly<Record<string, string>> = {
  Scan: "LanceScan",
  ReadSelected: "LanceRead",
  Take: "TakeExec",
  NearestRows: "KNNVectorDistance",
  VectorIndexSearch: "ANNSubIndex",
  IndexSearch: "ScalarIndexQuery",
  TextSearch: "MatchQuery",
  HybridSearch: "HybridQuery",
  Filter: "FilterExec",
  Sort: "SortExec",
  FirstRows: "SortExec",
  Project: "ProjectionExec",
};
/** Characters of a list in a plan that is not verbose. */
const LISTED = 200;

/** Returns the lines of a plan, each step indented below the one that reads its rows. */
export function planText(plan: QueryPlanNode, isVerbose: boolean): string {
  const lines: string[] = [];
  addLines(lines, plan, 0, isVerbose);
  return `${lines.join("\n")}\n`;
}

/** Returns the lines of a plan that was run, with measurements. */
export function analyzedText(plan: QueryPlanNode): string {
  const lines = ["AnalyzeExec verbose=true, metrics=[]"];
  addLines(lines, plan, 1, true);
  return `${lines.join("\n")}\n`;
}

function addLines(lines: string[], node: QueryPlanNode, depth: number, isVerbose: boolean): void {
  const { operator, detail, metrics, inputs } = node;
  const parts = Object.entries(detail).map(([name, value]) => {
    const text = Array.isArray(value) ? `[${value.join(", ")}]` : String(value);
    return `${name}=${isVerbose || text.length <= LISTED ? text : `${text.slice(0, LISTED)}…`}`;
  });
  if (metrics !== undefined) parts.push(`metrics=[${measured(metrics)}]`);
  lines.push(`${"  ".repeat(depth)}${STEPS[operator] ?? operator}: ${parts.join(", ")}`);
  for (const input of inputs) addLines(lines, input, depth + 1, isVerbose);
}

const measured = ({ rows, batches, bytes, reads, bytesRead, milliseconds }: QueryPlanMetrics): string =>
  [
    `output_rows=${rows}`,
    `elapsed_compute=${milliseconds.toFixed(3)}ms`,
    `output_bytes=${bytes}`,
    `output_batches=${batches}`,
    `bytes_read=${bytesRead}`,
    `iops=${reads}`,
  ].join(", ");
