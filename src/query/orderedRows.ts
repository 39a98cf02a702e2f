/**
 * Reads the rows of a query in its order. Where few rows are wanted, only the columns of the keys are read of all rows,
 * and the others of the first rows of the order. Otherwise whole rows are sorted, in bounded memory. Rows with blobs and
 * with dictionaries are also read after their keys were sorted.
 */

import type { Column, FixedColumn } from "../arrow/columns/column.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import { leafOf } from "../arrow/columns/spine.js";
import { plainColumn } from "../expression/values/operands.js";
import type { Filter } from "./filter.js";
import { filteredRows } from "./filteredRows.js";
import type { FragmentSource } from "./fragmentColumns.js";
import type { Order, SortedRead } from "./order.js";
import { type BatchRows, type ScanRequest, scanColumns } from "./scan.js";
import { SORT_BYTES, sortRows } from "./sortRows.js";
import type { MakeSpillFile } from "./spill.js";
import { addressesAmong, type RowNumbers } from "./systemColumns.js";
import { readRowsAtAddresses } from "./take.js";
import { TopRows } from "./topRows.js";

/** Up to this many first rows are kept in memory while the others pass. */
const TOP_ROWS = 65_536;
/** Rows that are read at once by their addresses. */
const LATE_ROWS = 8192;
/** The same where they have blobs. */
const LATE_BLOB_ROWS = 256;
/** Share of the memory that may be taken which rows take while they are sorted. */
const SORT_PART = 1 / 4;
const MIN_SORT_BYTES = 2 ** 20;
/** Name of this use of memory. */
const SORTED = "sorted rows";

export interface SortOptions {
  /** Makes files for rows that are too many to be sorted in memory. */
  readonly makeFile: MakeSpillFile;
  /** Bytes of rows that are sorted in memory at once. */
  readonly sortBytes?: number;
}

export interface OrderedRequest extends ScanRequest, SortOptions {
  readonly filter: Filter | null;
  readonly order: Order;
  readonly numbers: RowNumbers;
}

/** The outputs of the projection, and the addresses of the rows after them. */
export async function* orderedRows(
  source: FragmentSource,
  request: OrderedRequest,
): AsyncGenerator<BatchRows, void, undefined> {
  const { order, offset, limit, projection } = request;
  const end = offset + limit;
  if (limit <= 0) return;
  if (end <= TOP_ROWS) {
    const first = new TopRows(order.keys, end);
    const keyPlaces = placesOf(order.ofKeys);
    for await (const { columns, rowCount } of keyedRows(source, request, order.ofKeys)) {
      const keys = keyPlaces.map((place) => columns[place]);
      await first.add([...keys, columns[order.ofKeys.projection.outputs.length]], rowCount);
    }
    const found = await first.finish();
    if (found !== null) yield* lateRows(source, request, found, offset);
    return;
  }
  const isLate =
    projection.hasBlobs || projection.leaves.some(({ layout }) => leafOf(layout).kind === "dictionary");
  const read = isLate ? order.ofKeys : order.ofRows;
  const rows = sortRows(keyedRows(source, request, read), {
    orders: order.keys,
    keyPlaces: placesOf(read),
    limit: end,
    sortBytes: sortBytesOf(request),
    makeFile: request.makeFile,
    note: (byteLength) => request.memory?.note(SORTED, byteLength),
    signal: request.signal,
  });
  const addressPlace = read.projection.outputs.length;
  let skip = offset;
  for await (const { columns, rowCount } of rows) {
    const skipped = Math.min(skip, rowCount);
    skip -= skipped;
    if (skipped === rowCount) continue;
    if (isLate) {
      yield* lateRows(source, request, { columns: [columns[addressPlace]], rowCount }, skipped);
      continue;
    }
    const own = [...columns.slice(0, projection.outputs.length), columns[addressPlace]];
    const count = rowCount - skipped;
    yield { columns: own.map((column) => sliceColumn(column, skipped, count)), rowCount: count };
  }
}

function sortBytesOf({ sortBytes = SORT_BYTES, memory }: OrderedRequest): number {
  if (memory === undefined) return sortBytes;
  return Math.min(sortBytes, Math.max(MIN_SORT_BYTES, memory.spareBytes(SORTED) * SORT_PART));
}

/** Places of the keys' columns in what {@link keyedRows} makes. */
function placesOf({ sources, projection }: SortedRead): number[] {
  let next = projection.outputs.length + 1;
  return sources.map((source) => (source.kind === "stored" ? source.output : next++));
}

/**
 * All rows that the query's filter selects: outputs, addresses, and then the keys that are not stored. Nothing is a
 * dictionary.
 */
async function* keyedRows(
  source: FragmentSource,
  request: OrderedRequest,
  { sources, projection }: SortedRead,
): AsyncGenerator<BatchRows, void, undefined> {
  const { filter, numbers } = request;
  const everything = {
    ...request,
    projection,
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: Number.POSITIVE_INFINITY,
    batchBytes: undefined,
  };
  const rows =
    filter === null ? scanColumns(source, everything) : filteredRows(source, { ...everything, filter });
  for await (const { columns, rowCount } of rows) {
    const keyed = columns.map(plainColumn);
    const addresses = addressesAmong(columns);
    for (const key of sources) {
      if (key.kind === "system") keyed.push(await numbers.column(key.which, addresses));
    }
    yield { columns: keyed, rowCount };
  }
}

/** Reads sorted rows by their addresses, which are their last column. */
async function* lateRows(
  source: FragmentSource,
  { fragments, projection, batchRows, signal }: OrderedRequest,
  sorted: BatchRows,
  skip: number,
): AsyncGenerator<BatchRows, void, undefined> {
  const addresses: FixedColumn = addressesAmong(sorted.columns);
  const atOnce = Math.min(batchRows, projection.hasBlobs ? LATE_BLOB_ROWS : LATE_ROWS);
  for (let start = skip; start < sorted.rowCount; start += atOnce) {
    const some = sliceColumn<Column>(
      addresses,
      start,
      Math.min(atOnce, sorted.rowCount - start),
    ) as FixedColumn;
    const plan = { ...projection, withAddresses: true };
    yield await readRowsAtAddresses(source, { fragments, projection: plan, signal }, some);
  }
}
