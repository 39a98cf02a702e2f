/**
 * Filters: which columns a condition needs, and which rows it selects. Rows are looked at batch by batch, in the order in
 * which they lie on disk.
 */

import { bindFilter, type ExpressionInput } from "../expression/expression.js";
import type { FilterParameters } from "../namespace.js";
import type { TableField } from "../schema/schema.js";
import { ColumnReads, type RowsPlan } from "./columnReads.js";
import { type Computation, columnsFrom } from "./computedColumns.js";
import type { FragmentSource } from "./fragmentColumns.js";
import { observedScan, type QueryObserver } from "./observer.js";
import type { ScannedRows, ScanRequest } from "./scan.js";
import { type RowNumbers, SYSTEM_FIELDS } from "./systemColumns.js";

/** Maximum rows of a batch on which expressions run. */
const EXPRESSION_ROWS = 65_536;
/** Minimum of the same. */
const MIN_EXPRESSION_ROWS = 256;
/** Rows of a batch times parts of the expression: what is computed before other work on the thread has its turn. */
const EXPRESSION_WORK = 2 ** 22;

/** Rows on which an expression runs at once: fewer, if it has many parts. */
export const expressionRows = (size: number): number =>
  Math.max(MIN_EXPRESSION_ROWS, Math.min(EXPRESSION_ROWS, Math.floor(EXPRESSION_WORK / size)));

/** A filter, and how the columns that it needs are read. */
export interface Filter extends Computation {
  /** Of the columns that the condition needs, with the addresses of rows. */
  readonly projection: RowsPlan;
}

/**
 * @param label what the caller passed the filter as, for messages
 * @throws as {@link bindFilter}
 */
export function planFilter(
  input: ExpressionInput,
  parameters: FilterParameters,
  fields: readonly TableField[],
  label: string,
): Filter {
  const expression = bindFilter(input, parameters, [...fields, ...SYSTEM_FIELDS], label);
  const reads = new ColumnReads(fields);
  const inputs = expression.paths.map((path) => reads.source(path));
  return { expression, text: String(input), inputs, projection: { ...reads.plan(), withAddresses: true } };
}

/** What rows are read of, in which order, and how far ahead. */
export interface FilterRequest
  extends Pick<ScanRequest, "fragments" | "readAhead" | "isTransient" | "memory" | "signal"> {
  readonly filter: Filter;
  readonly numbers: RowNumbers;
  readonly observer?: QueryObserver;
}

/** The number of rows that a filter selects. */
export async function countFiltered(source: FragmentSource, request: FilterRequest): Promise<number> {
  let count = 0;
  const everything = { ...request, isTransient: true, offset: 0, limit: Number.POSITIVE_INFINITY };
  for await (const { rows, rowCount } of selectedBatches(source, everything)) {
    count += rows === null ? rowCount : rows.length;
  }
  return count;
}

export interface SelectedBatch extends ScannedRows {
  /** The selected rows of the batch; null for all. */
  readonly rows: Uint32Array | null;
}

/**
 * Batches of the filter's columns and addresses, with the rows that it selects: from the offset on and up to the limit,
 * which count selected rows. Batches without such rows are left out.
 */
export async function* selectedBatches(
  source: FragmentSource,
  request: FilterRequest & Pick<ScanRequest, "offset" | "limit">,
): AsyncGenerator<SelectedBatch, void, undefined> {
  const batches = selectFrom(source, request);
  yield* request.observer?.rows("filter", batches, ({ rows, rowCount }) => rows?.length ?? rowCount) ??
    batches;
}

async function* selectFrom(
  source: FragmentSource,
  { filter, numbers, observer, ...request }: FilterRequest & Pick<ScanRequest, "offset" | "limit">,
): AsyncGenerator<SelectedBatch, void, undefined> {
  let skip = request.offset;
  let left = request.limit;
  if (left <= 0) return;
  const batches = observedScan(source, observer, {
    fragments: request.fragments,
    projection: { ...filter.projection, hasBlobs: false },
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: expressionRows(filter.expression.size),
    readAhead: request.readAhead,
    isTransient: request.isTransient,
    memory: request.memory,
    signal: request.signal,
  });
  for await (const { columns, rowCount, places } of batches) {
    request.signal?.throwIfAborted();
    const inputs = await columnsFrom(filter.inputs, numbers, columns);
    let rows = filter.expression.select(inputs, rowCount);
    if (skip > 0 || (rows?.length ?? rowCount) > left) {
      rows ??= Uint32Array.from({ length: rowCount }, (_, row) => row);
      const skipped = Math.min(skip, rows.length);
      skip -= skipped;
      rows = rows.slice(skipped, Math.min(rows.length, skipped + left));
    }
    const count = rows === null ? rowCount : rows.length;
    if (count === 0) continue;
    left -= count;
    yield { columns, rowCount, places, rows };
    if (left <= 0) return;
  }
}
