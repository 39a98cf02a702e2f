import type { QueryPlanNode } from "../../namespace/queries.ts";
import { formatBytes, formatCount, formatMs, visibleText } from "./format.ts";

/** A plan as a tree, with a bar for the share of each step in the whole time. */
export function Plan({ root }: { readonly root: QueryPlanNode }) {
  const total = totalOf(root);
  const advice = adviceOf(root);
  return (
    <div class="plan">
      {advice !== null && <p>{advice}</p>}
      <p class="quiet">
        Steps read from the bottom up. Times are those of each step without its inputs; together{" "}
        {formatMs(total)}.
      </p>
      <ul class="plan-tree">
        <PlanStep node={root} total={total} />
      </ul>
    </div>
  );
}

const stepsOf = (node: QueryPlanNode): QueryPlanNode[] => [node, ...node.inputs.flatMap(stepsOf)];

const isScan = ({ operator, detail }: QueryPlanNode): boolean =>
  operator === "Scan" && typeof detail.rows === "number";
const isIndexSearch = ({ operator }: QueryPlanNode): boolean => operator === "IndexSearch";

/** Says in words why a query reads rows one by one, and what would help. Null if it does not. */
function adviceOf(root: QueryPlanNode): string | null {
  const steps = stepsOf(root);
  const uncovered = steps.find(({ inputs }) => inputs.some(isIndexSearch))?.inputs.find(isScan);
  if (uncovered !== undefined) {
    const rows = formatCount(uncovered.detail.rows as number);
    return `The index does not cover ${rows} rows, which are read one by one. An optimize adds them.`;
  }
  const scan = steps.find(isScan);
  if (scan === undefined || steps.some(isIndexSearch)) return null;
  const rows = formatCount(scan.detail.rows as number);
  const hasFilter = steps.some(({ operator }) => operator === "Filter");
  return `No index serves this query, so it may read all ${rows} rows.${hasFilter ? " An index on a column of the condition may help." : ""}`;
}

const totalOf = (node: QueryPlanNode): number =>
  (node.metrics?.milliseconds ?? 0) + node.inputs.reduce((sum, input) => sum + totalOf(input), 0);

function PlanStep({ node, total }: { readonly node: QueryPlanNode; readonly total: number }) {
  const { operator, detail, inputs, metrics } = node;
  const share = metrics === undefined || total === 0 ? 0 : metrics.milliseconds / total;
  return (
    <li>
      <div class={share > 0.5 ? "step slow" : "step"}>
        <strong>{operator}</strong>
        {metrics !== undefined && (
          <span class="metrics">
            <meter
              min={0}
              max={1}
              value={share}
              aria-label={`${Math.round(share * 100)} percent of the time`}
            />
            {formatMs(metrics.milliseconds)} · {formatCount(metrics.rows)} rows · {formatCount(metrics.reads)}{" "}
            {metrics.reads === 1 ? "read" : "reads"} · {formatBytes(metrics.bytesRead)}
          </span>
        )}
        <dl>
          {Object.entries(detail).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{visibleText(shorten(Array.isArray(value) ? value.join(", ") : String(value)))}</code>
              </dd>
            </div>
          ))}
        </dl>
      </div>
      {inputs.length > 0 && (
        <ul>
          {inputs.map((input, index) => (
            <PlanStep key={index} node={input} total={total} />
          ))}
        </ul>
      )}
    </li>
  );
}

const shorten = (text: string): string => (text.length > 160 ? `${text.slice(0, 160)}…` : text);
