/**
 * Reads the rows that a filter selects. The columns that the filter needs are read first, fragment by fragment. The
 * others are read for the rows that it selects only, or for all rows of the fragment where that is quicker.
 *
 * Rows come in the order in which they lie on disk. Offset and limit count the rows that the filter selects.
 */

import type { RecordBatch } from "apache-arrow";
import type { Column } from "../arrow/columns/column.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { makeBatch } from "../arrow/exchange/batch.js";
import { UnsupportedError } from "../errors.js";
import { type BoundExpression, bindFilter, type ExpressionInput } from "../expression/expression.js";
import { UINT64 } from "../expression/values/types.js";
import { columnBytes } from "../file/writing/writer.js";
import type { DataFragment } from "../format/table.js";
import { formatFieldPath } from "../ident.js";
import type { MemoryShare } from "../memory.js";
import type { FilterParameters } from "../namespace.js";
import { rowsOfBatch } from "../rows/batchSize.js";
import { readBlobs } from "../rows/blobValues.js";
import { takeColumns } from "../rows/takeColumns.js";
import type { TableField } from "../schema/schema.js";
import { type FragmentSource, openFragment } from "./fragmentColumns.js";
import { type Projection, resolveProjection, returnedColumns } from "./projection.js";
import { type BatchRows, type ScanRequest, scanColumns } from "./scan.js";

/** Columns that rows have besides those of the table: their address twice, and their number among the live rows. */
const SYSTEM_COLUMNS = ["_rowid", "_rowaddr", "_rowoffset"];
/** Places of columns that are made, not read. */
const ADDRESS = -1;
const OFFSET = -2;
/** Maximum rows of a batch that the filter looks at. */
const FILTER_ROWS = 65_536;
/** Minimum of the same. */
const MIN_FILTER_ROWS = 256;
/** Rows of a batch times parts of the filter: what is computed before other work on the thread has its turn. */
const FILTER_WORK = 2 ** 22;
/** Rows that are read at once where only those are read that the filter selects. */
const TAKEN_ROWS = 32_768;
/** The others of a fragment's columns are read for all rows where the filter selects at least this part of them. */
const DENSE_PART = 1 / 8;
/** Names of uses of memory. */
const SELECTED = "selected rows";
const OF_ROWS = "rows: ";

/** A filter, and how the columns that it needs are read. */
export interface Filter {
  readonly condition: BoundExpression;
  /** Of the table's columns that the filter needs, with row ids. */
  readonly projection: Projection;
  /** By column that the filter needs: its place in the projection's outputs, or that of a column that is made. */
  readonly places: readonly number[];
}

/**
 * @param label what the caller passed the filter as, for messages
 * @param hasStableIds whether rows have ids other than their addresses
 * @throws as {@link bindFilter}
 */
export function planFilter(
  input: ExpressionInput,
  parameters: FilterParameters,
  fields: readonly TableField[],
  hasStableIds: boolean,
  label: string,
): Filter {
  const system = SYSTEM_COLUMNS.map((name) => ({ name, type: UINT64, children: [] }));
  const condition = bindFilter(input, parameters, [...fields, ...system], label);
  const own = (path: readonly string[]): boolean =>
    path.length > 1 || fields.some(({ name }) => name === path[0]) || !SYSTEM_COLUMNS.includes(path[0]);
  const paths = condition.paths.filter(own).map(formatFieldPath);
  if (hasStableIds && condition.paths.some((path) => !own(path) && path[0] === "_rowid")) {
    throw new UnsupportedError(`${label}: stable row ids are not supported by this release`);
  }
  let next = 0;
  const places = condition.paths.map((path) =>
    own(path) ? next++ : path[0] === "_rowoffset" ? OFFSET : ADDRESS,
  );
  return { condition, projection: resolveProjection(fields, new Map(), paths, true), places };
}

/** Selected rows of one fragment. */
export interface Selection {
  readonly fragment: DataFragment;
  /** Physical offsets, ascending. */
  readonly rows: Uint32Array;
  /** Rows that the filter looked at. */
  readonly seenRows: number;
}

/** Some rows: the projection's outputs, and last their addresses. */
type AddressedRows = BatchRows;

export interface FilterRequest extends Pick<ScanRequest, "fragments" | "readAhead" | "memory" | "signal"> {
  readonly filter: Filter;
}

/** The number of rows that a filter selects. */
export async function countFiltered(source: FragmentSource, request: FilterRequest): Promise<number> {
  const { filter } = request;
  let count = 0;
  let seenRows = 0;
  for await (const { columns, rowCount } of filterColumns(source, request)) {
    request.signal?.throwIfAborted();
    const rows = filter.condition.select(inputsOf(filter, columns, seenRows), rowCount);
    seenRows += rowCount;
    count += rows === null ? rowCount : rows.length;
  }
  return count;
}

/** The rows that a filter selects, fragment by fragment; fragments without any are left out. */
export function selectedRows(
  source: FragmentSource,
  request: FilterRequest,
): AsyncGenerator<Selection, void, undefined> {
  return selections(source, { ...request, offset: 0, limit: Number.POSITIVE_INFINITY });
}

/** The rows that a filter selects, as batches of the projection. */
export async function* scanFiltered(
  source: FragmentSource,
  request: ScanRequest & FilterRequest,
): AsyncGenerator<RecordBatch, void, undefined> {
  const { projection, memory } = request;
  try {
    for await (const { columns, rowCount } of filteredRows(source, request)) {
      const bytes = columns.reduce((sum, column) => sum + columnBytes(column), 0);
      memory?.note(SELECTED, bytes);
      const returned = returnedColumns(projection, columns);
      const batchRows = batchRowsOf(request, returned.length, bytes / rowCount);
      for (let start = 0; start < rowCount; start += batchRows) {
        request.signal?.throwIfAborted();
        const count = Math.min(batchRows, rowCount - start);
        const batch = returned.map((column) => sliceColumn(column, start, count));
        yield makeBatch(projection.schema, batch, count);
      }
    }
  } finally {
    memory?.note(SELECTED, 0);
  }
}

/** Rows of a batch that is handed out. */
function batchRowsOf({ batchRows, batchBytes }: ScanRequest, columnCount: number, rowBytes: number): number {
  if (batchBytes === undefined) return batchRows;
  return Math.min(batchRows, rowsOfBatch(batchBytes, columnCount, rowBytes));
}

async function* filteredRows(
  source: FragmentSource,
  request: ScanRequest & FilterRequest,
): AsyncGenerator<AddressedRows, void, undefined> {
  const covered = coveredOutputs(request.projection, request.filter.projection);
  if (covered !== null) {
    for await (const { columns, rows, rowCount } of selectedBatches(source, request)) {
      const wanted = covered.map((output) => columns[output]);
      yield {
        columns: rows === null ? wanted : wanted.map((column) => takeColumn(column, rows)),
        rowCount: rows === null ? rowCount : rows.length,
      };
    }
    return;
  }
  for await (const selection of selections(source, request)) {
    const { rows, seenRows } = selection;
    const isDense = rows.length >= seenRows * DENSE_PART && !request.projection.hasBlobs;
    yield* isDense
      ? scanSelected(source, request, selection)
      : takeSelected(source, request.projection, selection, request.signal);
  }
}

/**
 * The outputs of the filter's projection that hold those of another and the addresses; null where the filter does not
 * read all of them.
 */
function coveredOutputs(wanted: Projection, own: Projection): number[] | null {
  if (wanted.hasBlobs) return null;
  // The leaves and the depth tell one output from another: a struct and its only member have the same leaves.
  const keyOf = ({ outputs, leaves }: Projection, output: number) =>
    `${outputs[output].members.length}:${outputs[output].leaves.map((leaf) => leaves[leaf].fieldId)}`;
  const places = new Map(own.outputs.map((_, output) => [keyOf(own, output), output]));
  const covered = wanted.outputs.map((_, output) => places.get(keyOf(wanted, output)));
  const found = covered.filter((output) => output !== undefined);
  return found.length === covered.length ? [...found, own.outputs.length] : null;
}

/** Rows that a filter looks at at once: fewer, if it is large. */
const rowsAtOnce = ({ condition }: Filter): number =>
  Math.max(MIN_FILTER_ROWS, Math.min(FILTER_ROWS, Math.floor(FILTER_WORK / condition.size)));

function filterColumns(source: FragmentSource, { filter, ...request }: FilterRequest) {
  return scanColumns(source, {
    fragments: request.fragments,
    projection: { ...filter.projection, hasBlobs: false },
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: rowsAtOnce(filter),
    readAhead: request.readAhead,
    memory: request.memory,
    signal: request.signal,
  });
}

/**
 * The columns that the filter needs, in its order.
 * @param firstRow number of the live rows before
 */
function inputsOf({ places, projection }: Filter, columns: readonly Column[], firstRow: number): Column[] {
  const addresses = columns[projection.outputs.length];
  return places.map((place) =>
    place === OFFSET
      ? offsetsFrom(firstRow, addresses.length)
      : place === ADDRESS
        ? addresses
        : columns[place],
  );
}

function offsetsFrom(first: number, length: number): Column {
  const words = new Uint32Array(2 * length);
  for (let row = 0; row < length; row++) {
    words[2 * row] = first + row;
    words[2 * row + 1] = (first + row) / 2 ** 32;
  }
  return { kind: "fixed", length, validity: null, byteWidth: 8, values: new Uint8Array(words.buffer) };
}

interface SelectedBatch extends BatchRows {
  /** The selected rows of the batch; null for all. */
  readonly rows: Uint32Array | null;
}

/** Batches of the filter's columns with the rows that it selects, from the offset on and up to the limit. */
async function* selectedBatches(
  source: FragmentSource,
  request: FilterRequest & Pick<ScanRequest, "offset" | "limit">,
): AsyncGenerator<SelectedBatch, void, undefined> {
  const { filter } = request;
  let skip = request.offset;
  let left = request.limit;
  let seenRows = 0;
  if (left <= 0) return;
  for await (const { columns, rowCount } of filterColumns(source, request)) {
    request.signal?.throwIfAborted();
    let rows = filter.condition.select(inputsOf(filter, columns, seenRows), rowCount);
    seenRows += rowCount;
    if (skip > 0 || (rows?.length ?? rowCount) > left) {
      rows ??= Uint32Array.from({ length: rowCount }, (_, row) => row);
      const skipped = Math.min(skip, rows.length);
      skip -= skipped;
      rows = rows.slice(skipped, Math.min(rows.length, skipped + left));
    }
    const count = rows === null ? rowCount : rows.length;
    if (count === 0) continue;
    left -= count;
    yield { columns, rowCount, rows };
    if (left <= 0) return;
  }
}

/** The selected rows of each fragment that has some. */
async function* selections(
  source: FragmentSource,
  request: FilterRequest & Pick<ScanRequest, "offset" | "limit">,
): AsyncGenerator<Selection, void, undefined> {
  const { outputs } = request.filter.projection;
  const byId = new Map(request.fragments.map((fragment) => [fragment.id, fragment]));
  let fragmentId = -1;
  let parts: Uint32Array[] = [];
  let seenRows = 0;
  const selected = (): Selection[] => {
    const fragment = byId.get(fragmentId);
    return fragment === undefined ? [] : [{ fragment, seenRows, rows: joined(parts) }];
  };
  for await (const { columns, rowCount, rows } of selectedBatches(source, request)) {
    const addresses = wordsOf(columns[outputs.length]);
    if (addresses[1] !== fragmentId) {
      yield* selected();
      fragmentId = addresses[1];
      parts = [];
      seenRows = 0;
    }
    seenRows += rowCount;
    const physical = new Uint32Array(rows === null ? rowCount : rows.length);
    for (let row = 0; row < physical.length; row++) {
      physical[row] = addresses[2 * (rows === null ? row : rows[row])];
    }
    parts.push(physical);
  }
  yield* selected();
}

function joined(parts: readonly Uint32Array[]): Uint32Array {
  const rows = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    rows.set(part, at);
    at += part.length;
  }
  return rows;
}

/** Reads all rows of the fragment, and keeps those that are selected. */
async function* scanSelected(
  source: FragmentSource,
  request: ScanRequest & FilterRequest,
  { fragment, rows }: Selection,
): AsyncGenerator<AddressedRows, void, undefined> {
  const { projection, readAhead, memory, signal } = request;
  const batches = scanColumns(source, {
    fragments: [fragment],
    projection: { ...projection, withRowId: true },
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: FILTER_ROWS,
    readAhead,
    memory: memory && ofRows(memory),
    signal,
  });
  let next = 0;
  for await (const { columns, rowCount } of batches) {
    if (next === rows.length) return;
    const addresses = wordsOf(columns[projection.outputs.length]);
    const picked = new Uint32Array(rowCount);
    let count = 0;
    for (let row = 0; row < rowCount && next < rows.length; row++) {
      if (addresses[2 * row] !== rows[next]) continue;
      picked[count++] = row;
      next++;
    }
    if (count === 0) continue;
    const wanted = picked.subarray(0, count);
    const kept = count === rowCount ? columns : columns.map((column) => takeColumn(column, wanted));
    yield { columns: kept, rowCount: count };
  }
}

/** A share of memory in which the uses of reading rows stand beside those of reading the filter's columns. */
function ofRows(memory: MemoryShare): MemoryShare {
  return {
    spareBytes: (use) => memory.spareBytes(OF_ROWS + use),
    hold: (use, byteLength) => memory.hold(OF_ROWS + use, byteLength),
    note: (use, byteLength) => memory.note(OF_ROWS + use, byteLength),
  };
}

/** Reads the selected rows only. */
async function* takeSelected(
  source: FragmentSource,
  projection: Projection,
  { fragment, rows }: Selection,
  signal: AbortSignal | undefined,
): AsyncGenerator<AddressedRows, void, undefined> {
  const stored = await openFragment(source, fragment, projection.leaves);
  for (let start = 0; start < rows.length; start += TAKEN_ROWS) {
    const some = rows.slice(start, start + TAKEN_ROWS);
    const taken = await takeColumns(source, projection, stored, some, signal);
    const columns = projection.hasBlobs ? await readBlobs(source, projection, taken) : taken.columns;
    yield { columns: [...columns, addressesOf(fragment.id, some)], rowCount: some.length };
  }
}

function addressesOf(fragmentId: number, rows: Uint32Array): Column {
  const { length } = rows;
  const words = new Uint32Array(2 * length);
  for (let row = 0; row < length; row++) {
    words[2 * row] = rows[row];
    words[2 * row + 1] = fragmentId;
  }
  return { kind: "fixed", length, validity: null, byteWidth: 8, values: new Uint8Array(words.buffer) };
}

/** The words of row addresses: the physical row, and the fragment's id. */
function wordsOf(column: Column): Uint32Array {
  if (column.kind !== "fixed") return new Uint32Array(0);
  const { values } = column;
  return new Uint32Array(values.buffer, values.byteOffset, values.length >>> 2);
}
