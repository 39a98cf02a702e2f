/**
 * Plans of queries as trees of operators. Each node contains the nodes that produce its input rows:
 *
 *     Project: columns=[id, next := id + 1]
 *       Take: columns=[id]
 *         FirstRows: keys=[price desc nulls last], rows=10
 *           Filter: condition=price > 3
 *             IndexSearch: query=price_idx (BTREE, range of price), answer=exact, fragments=7, …
 *             Scan: columns=[price], fragments=2, rows=2000
 */

import { lazyModule } from "../../async/lazy.js";
import { formatFieldPath } from "../../ident.js";
import type { QueryPlanMetrics, QueryPlanNode } from "../../namespace/queries.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import type { RowsPlan } from "../columns/columnReads.js";
import { coveredOutputs } from "../filter/filteredRows.js";
import { type IndexedPart, type IndexUse, lookupText } from "../indexes/indexUse.js";
import type { Order } from "../order/order.js";
import { areFirst, isReadLate } from "../order/orderedRows.js";
import type { QueryStage } from "../scan/observer.js";
import { searchedFragments } from "../vector/searchedFragments.js";
import type { VectorSearch } from "../vector/vectorSearch.js";
import type { QueryPlan } from "./queryPlan.js";

/** Opens full-text indexes. Loaded with the first full-text search. */
const searches = lazyModule(() => import("./explainSearch.js"));

/** Work that each stage of an executed query did. */
export type StageMetrics = ReadonlyMap<QueryStage, QueryPlanMetrics>;

/** @param use the index lookups of the query; null for none */
export async function explainPlan(
  plan: QueryPlan,
  use: IndexUse | null,
  metrics: StageMetrics = new Map(),
): Promise<QueryPlanNode> {
  const node = (
    stage: QueryStage | null,
    operator: string,
    detail: QueryPlanNode["detail"],
    ...inputs: readonly QueryPlanNode[]
  ): QueryPlanNode => {
    const stageMetrics = stage === null ? undefined : metrics.get(stage);
    return { operator, detail, inputs, ...(stageMetrics && { metrics: stageMetrics }) };
  };
  const { projection, search, filter, order, offset, limit } = plan;
  const fragments = search === null ? plan.fragments : searchedFragments(search, plan.fragments);
  const bounds = {
    ...(offset > 0 && { skip: offset }),
    ...(limit !== Number.POSITIVE_INFINITY && { limit }),
  };
  if (plan.textSearch !== null) {
    const { searchNodes } = await searches.get();
    const { detail, inputs } = await searchNodes(plan.textSearch);
    const maxRows = { rows: offset + limit };
    const searched =
      search === null
        ? node("order", "TextSearch", { ...detail, ...(order === null ? bounds : maxRows) }, ...inputs)
        : node(
            "order",
            "HybridSearch",
            order === null ? bounds : maxRows,
            node(null, "NearestRows", { ...nearestDetail(search), ...conditionOf(plan), ...maxRows }),
            node(null, "TextSearch", { ...detail, ...maxRows }, ...inputs),
          );
    const sorted =
      order === null ? searched : node(null, "Sort", { keys: keysOf(order), ...bounds }, searched);
    const taken = node("take", "Take", { columns: pathsOf(projection) }, sorted);
    return node(null, "Project", { columns: returnedTexts(plan) }, taken);
  }
  const isTop = order !== null && areFirst(plan);
  const isLate = order !== null && (isTop || isReadLate(projection));
  const isSorted = search !== null || order !== null;
  const wanted = search?.read ?? (isLate ? order.ofKeys : order?.ofRows)?.projection ?? projection;
  const indexed = use?.parts ?? [];
  // A filter also applies to the rows that a vector index covers.
  const covered = filter === null && search !== null ? coveredBy(search) : new Set<number>();
  const scanned = fragments.filter(
    ({ id }) => !covered.has(id) && !indexed.some(({ fragmentIds }) => fragmentIds.has(id)),
  );
  let rows = node("scan", "Scan", {
    columns: pathsOf(filter === null ? wanted : filter.projection),
    fragments: scanned.length,
    rows: scanned.reduce((sum, fragment) => sum + liveRowCount(fragment), 0),
    ...(filter === null && !isSorted && bounds),
  });
  if (filter !== null) {
    const detail = { condition: filter.text, ...(!isSorted && bounds) };
    const searches = indexed.map((part, position) =>
      node(position === 0 ? "index" : null, "IndexSearch", searchDetail(part)),
    );
    // If an index returns only candidates, the query reads their columns and tests them, like a scan.
    const isRead = scanned.length > 0 || !indexed.every(({ isExact }) => isExact);
    rows = node("filter", "Filter", detail, ...searches, ...(isRead || searches.length === 0 ? [rows] : []));
    if (coveredOutputs(wanted, filter.projection) === null) {
      rows = node("select", "ReadSelected", { columns: pathsOf(wanted) }, rows);
    }
  }
  if (search !== null) {
    const byIndex = vectorIndexNode(search, plan);
    const inputs = byIndex === null ? [rows] : byIndex.isAll ? [byIndex.node] : [byIndex.node, rows];
    rows = node("search", "NearestRows", { ...nearestDetail(search), rows: offset + limit }, ...inputs);
    const { postfilter } = search;
    if (postfilter !== null) {
      const filtered = { condition: postfilter.text, ...(order === null && bounds) };
      rows = node("filter", "Filter", filtered, rows);
    }
    if (order !== null) rows = node("order", "Sort", { keys: keysOf(order), ...bounds }, rows);
    const isCut = postfilter !== null || order !== null;
    rows = node("take", "Take", { columns: pathsOf(projection), ...(!isCut && bounds) }, rows);
  } else if (order !== null) {
    const detail = { keys: keysOf(order), ...bounds };
    rows = node("order", isTop ? "FirstRows" : "Sort", detail, rows);
    if (isLate) rows = node("take", "Take", { columns: pathsOf(projection) }, rows);
  }
  return node(null, "Project", { columns: returnedTexts(plan) }, rows);
}

function searchDetail({ plan, fragmentIds, rows, isExact }: IndexedPart): QueryPlanNode["detail"] {
  return {
    query: lookupText(plan),
    answer: isExact ? "exact" : "candidates",
    fragments: fragmentIds.size,
    expectedRows: rows,
  };
}

/** Ids of the fragments that the search's index covers. */
const coveredBy = ({ index }: VectorSearch): ReadonlySet<number> =>
  new Set(index?.segments.flatMap((segment) => [...segment.covered]));

/** Describes the lookup in a vector index; `isAll` is true if the index covers all searched fragments. */
function vectorIndexNode(
  search: VectorSearch,
  { fragments, filter }: QueryPlan,
): { readonly node: QueryPlanNode; readonly isAll: boolean } | null {
  const { index, requested, column } = search;
  if (index === null) return null;
  const covered = coveredBy(search);
  const { leastProbes, mostProbes, refineFactor } = requested;
  const detail = {
    index: index.name,
    column: formatFieldPath(column.path),
    kind: [...new Set(index.segments.map(({ open }) => open.kind))].join(),
    distanceType: index.metric,
    fragments: covered.size,
    ...(leastProbes !== undefined && { minimumNprobes: leastProbes }),
    ...(mostProbes !== undefined && { maximumNprobes: mostProbes }),
    ...(refineFactor !== undefined && { refineFactor }),
    ...(filter !== null && { condition: filter.text }),
  };
  const isAll = searchedFragments(search, fragments).every(({ id }) => covered.has(id));
  return { node: { operator: "VectorIndexSearch", detail, inputs: [] }, isAll };
}

function nearestDetail({ column, metric, queries, ...search }: VectorSearch): QueryPlanNode["detail"] {
  const { lowerBound, upperBound } = search;
  return {
    column: formatFieldPath(column.path),
    distanceType: metric,
    vectors: queries.length,
    ...(lowerBound !== Number.NEGATIVE_INFINITY && { lowerBound }),
    ...(!Number.isNaN(upperBound) && { upperBound }),
  };
}

/** Filter of a vector search that has no filter node, in the form that a text search uses. */
function conditionOf({ filter, search }: QueryPlan): QueryPlanNode["detail"] {
  const after = search?.postfilter ?? null;
  if (after !== null) return { condition: after.text, filtered: "after" };
  return filter === null ? {} : { condition: filter.text, filtered: "before" };
}

const pathsOf = ({ leaves }: RowsPlan): string[] => [...new Set(leaves.map(({ path }) => path))];

const keysOf = ({ keys }: Order): string[] =>
  keys.map(
    ({ path, ascending, nullsFirst }) =>
      `${formatFieldPath(path)} ${ascending ? "asc" : "desc"} nulls ${nullsFirst ? "first" : "last"}`,
  );

/** Returns the names of the returned columns, with the text of computed ones. */
const returnedTexts = ({ projection: { schema, returned } }: QueryPlan): string[] =>
  schema.fields.map(({ name }, index) => {
    const column = returned[index];
    return column.kind === "computed" ? `${name} := ${column.text}` : name;
  });

/** Maximum characters of a list in a plan, unless the plan is verbose. */
const MAX_LISTED = 200;

/** Formats the plan as text, one line per node. */
export function formatPlan(root: QueryPlanNode, isVerbose: boolean): string {
  const lines: string[] = [];
  const shown = (value: QueryPlanNode["detail"][string]): string => {
    const text = Array.isArray(value) ? `[${value.join(", ")}]` : String(value);
    return isVerbose || text.length <= MAX_LISTED ? text : `${text.slice(0, MAX_LISTED)}…`;
  };
  const add = ({ operator, detail, metrics, inputs }: QueryPlanNode, depth: number): void => {
    const parts = Object.entries(detail).map(([name, value]) => `${name}=${shown(value)}`);
    if (metrics !== undefined) {
      const { rows, batches, bytes, reads, bytesRead, milliseconds } = metrics;
      const counts = `rows=${rows}, batches=${batches}, bytes=${bytes}, reads=${reads}, bytesRead=${bytesRead}`;
      parts.push(`metrics=[${counts}, milliseconds=${milliseconds.toFixed(3)}]`);
    }
    lines.push(`${"  ".repeat(depth)}${operator}: ${parts.join(", ")}`);
    for (const input of inputs) add(input, depth + 1);
  };
  add(root, 0);
  return lines.join("\n");
}
