/** Runs, explains and measures queries that select rows, and those that name rows. */

import { performance } from "../../async/timers.js";
import type { QueryPlanNode } from "../../namespace/queries.js";
import { engineErrorOf, failure } from "../failures.js";
import { programRows, type Rows } from "../programRows.js";
import type { TableReader } from "../tableReader.js";
import { isHybrid, openHybrid } from "./hybrid.js";
import { type RowParts, refuseLsm, requestOf, type SearchParts, selectionOf } from "./parts.js";
import { analyzedText, planText } from "./planText.js";
import type { RunnableQuery, RunOptions } from "./running.js";

/** Rows that a query names: by their row ids, or by their offsets in the table. */
export type NamedRows = { readonly rowIds: readonly bigint[] } | { readonly offsets: readonly number[] };

/** A query that selects rows. */
export function runnableSearch(reader: TableReader, parts: SearchParts): RunnableQuery {
  return {
    reader,
    async open(options) {
      refuseLsm(parts);
      if (isHybrid(parts)) return openHybrid(reader, parts, options);
      const request = { ...(await requestOf(parts)), ...options };
      return reader
        .read((namespace, shown) => namespace.queryTable({ ...shown, ...request }))
        .then(programRows, (error) => {
          throw parts.vector?.options.vectorColumn === undefined ? unfitVector(error) : error;
        });
    },
    async explain(isVerbose) {
      const request = await requestOf(parts);
      const plan = await reader.read((namespace, { version, ...table }) =>
        namespace.explainTableQueryPlan({ ...table, query: { ...request, version }, format: "Json" }),
      );
      return planText(JSON.parse(plan), isVerbose);
    },
    async analyze() {
      const request = await requestOf(parts);
      const plan = await reader.read((namespace, shown) =>
        namespace.analyzeTableQueryPlan({ ...shown, ...request, format: "Json" }),
      );
      return analyzedText(JSON.parse(plan));
    },
  };
}

/** Returns LanceDB's error for a vector that fits no column, if the query named none. */
function unfitVector(error: unknown): unknown {
  const cause = engineErrorOf(error);
  const [, dimension] = /^vector\S*: has (\d+) dimensions/.exec(cause?.message ?? "") ?? [];
  if (dimension === undefined) return error;
  const sentence = "Invalid input, No vector column found to match with the query vector dimension";
  return failure(`${sentence}: ${dimension}`, cause);
}

/** A query that names rows. */
export function runnableTake(reader: TableReader, parts: RowParts, rows: NamedRows): RunnableQuery {
  const open = (options: RunOptions): Promise<Rows> => {
    refuseLsm(parts);
    const request = { ...rows, ...selectionOf(parts), ...options };
    return reader
      .read((namespace, shown) => namespace.takeTableRows({ ...shown, ...request }))
      .then(programRows);
  };
  const plan = async (): Promise<QueryPlanNode> => {
    const { schema } = await open({});
    const columns = schema.fields.map(({ name }) => name);
    const [[name, { length }]] = Object.entries(rows);
    return { operator: "Take", detail: { columns, [name]: length }, inputs: [] };
  };
  return {
    reader,
    open,
    explain: async (isVerbose) => planText(await plan(), isVerbose),
    async analyze() {
      const start = performance.now();
      const measures = { rows: 0, batches: 0, bytes: 0, reads: 0, bytesRead: 0 };
      for await (const batch of await open({})) {
        measures.rows += batch.numRows;
        measures.batches++;
        measures.bytes += batch.data.byteLength;
      }
      const metrics = { ...measures, milliseconds: performance.now() - start };
      return analyzedText({ ...(await plan()), metrics });
    },
  };
}
