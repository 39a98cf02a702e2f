/** Full-text searches in plans: the query, the indexes that answer it, and the rows that are scanned. */

import type { QueryPlanNode } from "../../namespace/queries.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import { openWordIndex } from "../text/openWordIndex.js";
import { columnsOf, type TextQuery } from "../text/textQuery.js";
import type { TextSearchPlan } from "../text/textSearch.js";

type Detail = QueryPlanNode["detail"];

/** Formats the query as one line. */
function textOf(query: TextQuery): string {
  switch (query.kind) {
    case "match": {
      const { column, terms, boost, fuzziness, isAll } = query;
      const options = [
        ...(isAll ? ["and"] : []),
        ...(fuzziness > 0 ? [`fuzziness ${fuzziness}`] : []),
        ...(boost === 1 ? [] : [`boost ${boost}`]),
      ];
      return `match(${[column, JSON.stringify(terms), ...options].join(", ")})`;
    }
    case "phrase": {
      const slop = query.slop > 0 ? [`slop ${query.slop}`] : [];
      return `phrase(${[query.column, JSON.stringify(query.terms), ...slop].join(", ")})`;
    }
    case "multi":
      return `best(${query.queries.map(textOf).join(", ")})`;
    case "boost":
      return `boost(${textOf(query.positive)}, ${textOf(query.negative)}, ${query.negativeBoost})`;
    case "boolean": {
      const parts = Object.entries({ must: query.must, should: query.should, mustNot: query.mustNot });
      const present = parts.filter(([, queries]) => queries.length > 0);
      return `boolean(${present.map(([name, queries]) => `${name}: ${queries.map(textOf).join(", ")}`).join("; ")})`;
    }
  }
}

/** Returns the plan's detail of a search, and the nodes that produce its rows. */
export async function searchNodes(plan: TextSearchPlan): Promise<{
  readonly detail: Detail;
  readonly inputs: readonly QueryPlanNode[];
}> {
  const { query, filter, isPrefiltered } = plan;
  const inputs: QueryPlanNode[] = [];
  for (const column of new Set(columnsOf(query))) {
    const { name, segments, others } = await openWordIndex(column, plan);
    const covered = new Set(segments.flatMap((segment) => [...segment.covered]));
    const rows = others.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
    const search = { query: `${name} (FTS)`, fragments: covered.size };
    const scan = { columns: [column], fragments: others.length, rows };
    inputs.push(
      ...(name === null ? [] : [{ operator: "IndexSearch", detail: search, inputs: [] }]),
      ...(others.length > 0 ? [{ operator: "Scan", detail: scan, inputs: [] }] : []),
    );
  }
  const detail: Detail = {
    query: textOf(query),
    ...(filter !== null && { condition: filter.text, filtered: isPrefiltered ? "before" : "after" }),
  };
  return { detail, inputs };
}
