/**
 * Reads rows for consumers that take some rows of a batch in place. If a filter selects many rows, its
 * columns and the others are read together, and no value is copied. Otherwise the other columns are read for
 * the selected rows only; see `filteredRows`.
 */

import { runAsync } from "../../async/eventLoop.js";
import type { RowsPlan } from "../columns/columnReads.js";
import { columnsFrom, expressionRows } from "../columns/computedColumns.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { DENSE_PART } from "../scan/chosenRows.js";
import { type BatchRows, type ScanRequest, scanColumns } from "../scan/scan.js";
import type { FilterRequest } from "./filter.js";
import { filteredRows, sharedOutputs } from "./filteredRows.js";
import { RowSelection } from "./rowSelection.js";

/** Rows of a batch. */
export interface PickedRows extends BatchRows {
  /** The selected rows of the columns; null for all. */
  readonly rows: RowSelection | null;
}

type RowsRequest = ScanRequest & FilterRequest;

/** Rows of a fragment that tell how many a filter selects. */
const SAMPLED_ROWS = 4096;

/** Yields the rows that a filter selects, with the addresses last if the projection has them. */
export async function* pickedRows(source: FragmentSource, request: RowsRequest): AsyncGenerator<PickedRows> {
  if (await selectsMany(source, request)) yield* readTogether(source, request);
  else for await (const batch of filteredRows(source, request)) yield { ...batch, rows: null };
}

/** Reads the columns of the filter together with the others. */
async function* readTogether(source: FragmentSource, request: RowsRequest): AsyncGenerator<PickedRows> {
  const { filter, numbers, projection, signal } = request;
  const { plan, ofFilter } = joinedPlans(projection, filter.projection);
  const outputCount = projection.outputs.length;
  const batchRows = Math.min(
    request.batchRows ?? Number.POSITIVE_INFINITY,
    expressionRows(filter.expression.effort),
  );
  for await (const { columns, rowCount } of scanColumns(source, {
    ...request,
    projection: plan,
    batchRows,
  })) {
    signal?.throwIfAborted();
    const addresses = columns.slice(plan.outputs.length);
    const read = [...ofFilter.map((output) => columns[output]), ...addresses];
    const operands = await columnsFrom(filter.inputs, numbers, read);
    const rows = RowSelection.of(
      await runAsync(filter.expression.test(operands, rowCount), signal),
      rowCount,
    );
    if (rows?.count === 0) continue;
    yield {
      columns: [...columns.slice(0, outputCount), ...addresses],
      rowCount: rows?.count ?? rowCount,
      rows,
    };
  }
}

/** Adds the outputs of a filter's plan that another plan lacks. */
function joinedPlans(
  wanted: RowsPlan,
  filterPlan: RowsPlan,
): { readonly plan: RowsPlan; readonly ofFilter: readonly number[] } {
  const leaves = [...wanted.leaves];
  const outputs = [...wanted.outputs];
  const leafOf = (leaf: RowsPlan["leaves"][number]): number => {
    const index = leaves.findIndex(({ fieldId }) => fieldId === leaf.fieldId);
    return index < 0 ? leaves.push(leaf) - 1 : index;
  };
  const shared = sharedOutputs(filterPlan, wanted);
  const ofFilter = filterPlan.outputs.map((output, index) => {
    const same = shared[index];
    if (same !== undefined) return same;
    return (
      outputs.push({ ...output, leaves: output.leaves.map((leaf) => leafOf(filterPlan.leaves[leaf])) }) - 1
    );
  });
  return { plan: { ...wanted, leaves, outputs, withAddresses: true }, ofFilter };
}

/** Returns true if the first rows of some fragments show that the filter selects many, without an index. */
async function selectsMany(source: FragmentSource, request: RowsRequest): Promise<boolean> {
  const { filter, fragments, projection } = request;
  if (fragments.length === 0 || projection.hasBlobs || filter.projection.hasBlobs) return false;
  const use = await filter.lookups?.plan(fragments, Number.POSITIVE_INFINITY);
  if (use !== undefined && use !== null) return false;
  const middle = fragments.length >>> 1;
  const sampled = [...new Set([fragments[0], fragments[middle], fragments[fragments.length - 1]])];
  let [seen, selected] = [0, 0];
  for (const fragment of sampled) {
    const sample = { ...request, fragments: [fragment], projection: filter.projection, limit: SAMPLED_ROWS };
    for await (const { columns, rowCount } of scanColumns(source, sample)) {
      const operands = await columnsFrom(filter.inputs, request.numbers, columns);
      seen += rowCount;
      selected += await runAsync(filter.expression.count(operands, rowCount), request.signal);
    }
  }
  return selected >= seen * DENSE_PART;
}
