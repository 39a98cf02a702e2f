/** Filters: plans which columns a condition needs, and selects rows batch by batch, as on disk. */

import { runAsync, type Steps } from "../../async/eventLoop.js";
import { lazyModule, lazySteps } from "../../async/lazy.js";
import { InvalidInputError } from "../../errors.js";
import { type BoundExpression, bindFilter, type ExpressionInput } from "../../expression/expression.js";
import type { DataFragment } from "../../format/table.js";
import { messageName } from "../../indexes/messageName.js";
import type { FilterParameters } from "../../namespace/queries.js";
import type { TableField } from "../../schema/schema.js";
import { isSystemIndex } from "../../table/fragments/tableStatistics.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { ColumnReads, type ColumnSource, type RowsPlan } from "../columns/columnReads.js";
import { type Computation, columnsFrom, expressionRows } from "../columns/computedColumns.js";
import type { FoundColumn } from "../columns/foundColumns.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import type { FilterLookups } from "../indexes/filterLookups.js";
import type { ReaderEnvironment } from "../indexes/versionSource.js";
import { takenBatches } from "../scan/chosenRows.js";
import { observedScan, type QueryObserver } from "../scan/observer.js";
import type { RowsOfFragment } from "../scan/rowPlaces.js";
import type { ScannedRows, ScanRequest } from "../scan/scan.js";

/** The first filter that indexes may answer loads this module. */
const looking = lazyModule(() => import("../indexes/filterLookups.js"));

/** A filter, and the plan for reading its columns. */
export interface Filter extends Computation {
  /** Columns that the condition needs, and the addresses of rows. */
  readonly projection: RowsPlan;
  /** Ways to find rows without reading all of them; null if there are none. */
  readonly lookups: FilterLookups | null;
  /** True: leaves out fragments that no index of the look-ups covers. */
  readonly isIndexedOnly: boolean;
}

/** Use of indexes. `only`: always, and rows that they do not cover are left out. Default: the faster way. */
export type IndexChoice = boolean | "only";

/** The version that is filtered, and the use of its indexes. */
interface FilteredVersion {
  readonly version: OpenVersion<ReaderEnvironment>;
  readonly useIndexes?: IndexChoice | undefined;
}

/**
 * @param label name of the caller's parameter, for messages
 * @param of the version that is filtered; absent for rows that are not a version's
 * @param searchColumns columns of the search whose rows are filtered. Default: none
 * @throws as {@link bindFilter}
 */
export function* planFilter(
  input: ExpressionInput,
  parameters: FilterParameters,
  fields: readonly TableField[],
  label: string,
  of?: FilteredVersion,
  searchColumns: readonly FoundColumn[] = [],
): Steps<Filter> {
  const reads = new ColumnReads(fields, searchColumns);
  const expression = yield* bindFilter(input, parameters, reads.bindable, label);
  checkMeaning(expression.paths, reads, label);
  const inputs = expression.paths.map((path) => reads.source(path));
  const lookups =
    of === undefined || of.useIndexes === false || !mayLookUp(of.version, inputs)
      ? null
      : yield* (yield* lazySteps(looking)).FilterLookups.of(
          ...([of.version, expression, inputs, fields, of.useIndexes !== undefined] as const),
        );
  const projection = { ...reads.plan(), withAddresses: true };
  return {
    expression,
    // Printing an expression that a program built takes long, and only plans that are shown need it.
    get text() {
      return String(input);
    },
    inputs,
    projection,
    lookups,
    isIndexedOnly: of?.useIndexes === "only",
  };
}

/** Details of indexes that answer no filter. */
const ANSWER_NO_FILTER: ReadonlySet<string> = new Set(["InvertedIndexDetails", "VectorIndexDetails"]);

/** False if neither an index nor the ids of rows can answer any filter. */
const mayLookUp = ({ file }: OpenVersion<ReaderEnvironment>, inputs: readonly ColumnSource[]): boolean =>
  inputs.some(({ kind }) => kind === "system") ||
  (file.indexSection?.indices ?? []).some(
    ({ name, indexDetails }) =>
      !isSystemIndex(name) && !ANSWER_NO_FILTER.has(messageName(indexDetails?.typeUrl ?? "")),
  );

/** @throws InvalidInputError for a name that both the table and the search have */
function checkMeaning(paths: BoundExpression["paths"], { sharedNames }: ColumnReads, label: string): void {
  const shared = paths.find((path) => path.length === 1 && sharedNames.includes(path[0]));
  if (shared === undefined) return;
  throw new InvalidInputError(
    `${label}: ${shared[0]} is ambiguous, as the table has this column and the search adds one; only a filter before the ` +
      "search can name the table's, and only lowerBound and upperBound limit the distance",
  );
}

/** Rows to read, their order, and the read-ahead. */
export interface FilterRequest
  extends Pick<ScanRequest, "fragments" | "readAhead" | "isTransient" | "memory" | "signal"> {
  readonly filter: Filter;
  readonly numbers: RowNumbers;
  readonly observer?: QueryObserver;
  /**
   * Called per batch with the number of rows that were read, or that a scan without an index would read. It
   * may be a fraction.
   */
  readonly onSeen?: (rowCount: number) => void;
}

/**
 * Returns the rows that a filter selects, if indexes find them exactly and they are expected to be few.
 * @returns rows by fragment, without empty fragments; null for other filters
 */
export async function lookedUpRows(
  source: FragmentSource,
  { filter, fragments, observer, onSeen, signal }: FilterRequest,
): Promise<RowsOfFragment[] | null> {
  const { lookups, isIndexedOnly } = filter;
  // An observer watches the stages of the other way.
  if (lookups === null || observer !== undefined) return null;
  const parts = await lookups.findFew(source, fragments, isIndexedOnly, signal);
  for (const { fragment } of parts ?? []) onSeen?.(fragment.physicalRows);
  return parts;
}

/** Counts the rows that a filter selects. */
export async function countFiltered(source: FragmentSource, request: FilterRequest): Promise<number> {
  const parts = await lookedUpRows(source, request);
  if (parts !== null) return parts.reduce((sum, { rows }) => sum + rows.length, 0);
  let count = 0;
  const all = { offset: 0, limit: Number.POSITIVE_INFINITY };
  const everything = { ...request, ...all, isTransient: true, isCount: true };
  for await (const { rowCount } of selectedBatches(source, everything)) count += rowCount;
  return count;
}

export interface SelectedBatch extends ScannedRows {
  /** True if the columns were read. Rows that an index found exactly have no columns. */
  readonly isRead: boolean;
  /** Number of rows that would be read without an index. */
  readonly seenRows: number;
  /** The selected rows of the batch; null for all. */
  readonly rows: Uint32Array | null;
}

/**
 * Yields batches of the filter's columns and addresses, if they were read, with the selected rows, from the
 * offset on and up to the limit. Offset and limit count selected rows. Leaves out batches without selected
 * rows.
 */
export async function* selectedBatches(
  source: FragmentSource,
  request: SelectRequest,
): AsyncGenerator<SelectedBatch> {
  const batches = selectFrom(source, request);
  yield* request.observer?.rows("filter", batches, ({ rows, rowCount }) => rows?.length ?? rowCount) ??
    batches;
}

interface SelectRequest extends FilterRequest, Pick<ScanRequest, "offset" | "limit"> {
  /**
   * True if only the number of selected rows matters: batches then omit which rows are selected. Default
   * false.
   */
  readonly isCount?: boolean;
}

function firstRows(count: number): Uint32Array {
  const rows = new Uint32Array(count);
  for (let row = 0; row < count; row++) rows[row] = row;
  return rows;
}

async function* selectFrom(source: FragmentSource, request: SelectRequest): AsyncGenerator<SelectedBatch> {
  let skip = request.offset;
  let left = request.limit;
  if (left <= 0) return;
  for await (const batch of allSelected(source, request)) {
    const { rowCount } = batch;
    let { rows } = batch;
    request.onSeen?.(batch.seenRows);
    if (skip > 0 || (rows?.length ?? rowCount) > left) {
      rows ??= firstRows(Math.min(rowCount, skip + left));
      const skipped = Math.min(skip, rows.length);
      skip -= skipped;
      rows = rows.slice(skipped, Math.min(rows.length, skipped + left));
    }
    const count = rows === null ? rowCount : rows.length;
    if (count === 0) continue;
    left -= count;
    yield { ...batch, rows };
    if (left <= 0) return;
  }
}

/** Yields all batches with all rows that the filter selects; a batch may have none. */
async function* allSelected(source: FragmentSource, request: SelectRequest): AsyncGenerator<SelectedBatch> {
  const { filter, fragments, observer, signal } = request;
  const use = (await filter.lookups?.plan(fragments, request.offset + request.limit)) ?? null;
  if (use === null || filter.lookups === null) {
    yield* scanSelected(source, request, fragments);
    return;
  }
  const search = filter.lookups.find(use, source, observer?.source("index", source) ?? null, signal);
  const indexed = await (observer?.time("index", search) ?? search);
  const observed = observer?.source("scan", source) ?? source;
  const covered = filter.isIndexedOnly ? fragments.filter(indexed.covers) : fragments;
  for await (const part of indexed.parts(source, covered, signal)) {
    if (part.kind === "scan") {
      yield* scanSelected(source, request, part.fragments);
      continue;
    }
    const { candidates, rows } = part;
    const { fragment, isExact } = candidates;
    const seenRows = fragment.physicalRows;
    if (isExact) {
      const places = { fragmentId: fragment.id, start: 0, picked: rows };
      yield { columns: [], rowCount: rows.length, places, rows: null, isRead: false, seenRows };
      continue;
    }
    const projection = { ...filter.projection, hasBlobs: false };
    const taken = takenBatches(observed, projection, fragment, rows, signal);
    for await (const batch of observer?.rows("scan", taken) ?? taken) {
      const selected = await selectIn(request, batch);
      yield { ...batch, ...selected, isRead: true, seenRows: (seenRows * batch.rowCount) / rows.length };
    }
  }
}

/** Reads all rows of some fragments. */
async function* scanSelected(
  source: FragmentSource,
  request: SelectRequest,
  fragments: readonly DataFragment[],
): AsyncGenerator<SelectedBatch> {
  const { filter, readAhead, isTransient, memory, signal } = request;
  const batches = observedScan(source, request.observer, {
    fragments,
    projection: { ...filter.projection, hasBlobs: false },
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: expressionRows(filter.expression.effort),
    readAhead,
    isTransient,
    // The condition is then computed once per value. Consumers of transient batches copy what they need.
    ...(isTransient && { keeps: "dictionaries" as const }),
    memory,
    signal,
  });
  for await (const batch of batches) {
    signal?.throwIfAborted();
    yield { ...batch, ...(await selectIn(request, batch)), isRead: true, seenRows: batch.rowCount };
  }
}

async function selectIn(
  { filter: { expression, inputs }, numbers, isCount = false, signal }: SelectRequest,
  { columns, rowCount }: ScannedRows,
): Promise<Pick<SelectedBatch, "rows" | "rowCount">> {
  const operands = await columnsFrom(inputs, numbers, columns);
  if (isCount) return { rows: null, rowCount: await runAsync(expression.count(operands, rowCount), signal) };
  return { rows: await runAsync(expression.select(operands, rowCount), signal), rowCount };
}
