/**
 * Reads the rows of a query in its order. If few rows are wanted, it reads only the key columns of all rows,
 * and the other columns of the first rows of the order. Otherwise it sorts whole rows, in bounded memory.
 * Rows with blobs or dictionaries are always read after their keys are sorted.
 */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { leafOf } from "../../arrow/columns/spine.js";
import type { RowsPlan } from "../columns/columnReads.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { addressesAmong } from "../columns/rowAddresses.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import type { Filter } from "../filter/filter.js";
import { filteredRows } from "../filter/filteredRows.js";
import { observedScan, type QueryObserver } from "../scan/observer.js";
import type { BatchRows, ScanRequest } from "../scan/scan.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { SORT_BYTES, sortRows } from "./externalSort.js";
import type { Order, SortedRead } from "./order.js";
import type { MakeSpillFile } from "./sortedRuns.js";
import { TopRows } from "./topRows.js";

/** Maximum number of first rows that stay in memory while the others pass. */
const TOP_ROWS = 65_536;
/** Rows of a batch that is searched for the first rows. */
const TOP_BATCH_ROWS = 32_768;
/** Rows that are read at once by their addresses. */
const LATE_ROWS = 8192;
/** Rows with blobs that are read at once by their addresses. */
const LATE_BLOB_ROWS = 256;
/** Part of the spare memory that rows take while they are sorted. */
const SORT_PART = 1 / 4;
const MIN_SORT_BYTES = 2 ** 20;
/** Name of this use of memory. */
const SORTED = "sorted rows";

export interface SortOptions {
  /** Makes files for rows that are too many for a sort in memory. */
  readonly makeFile: MakeSpillFile;
  /** Bytes of rows that are sorted in memory at once. */
  readonly sortBytes?: number;
}

export interface OrderedRequest extends ScanRequest, SortOptions {
  readonly filter: Filter | null;
  readonly order: Order;
  readonly numbers: RowNumbers;
  readonly observer?: QueryObserver;
}

/** Yields the outputs of the projection, and then the addresses of the rows if it wants them. */
export async function* orderedRows(
  source: FragmentSource,
  request: OrderedRequest,
): AsyncGenerator<BatchRows> {
  const { order, projection, observer } = request;
  if (request.limit <= 0) return;
  const isTop = areFirst(request);
  const isLate = isTop || isReadLate(projection);
  const read = isLate ? order.ofKeys : rowsRead(order.ofRows, projection);
  const inOrder = isTop ? firstRows(source, request) : allRows(source, request, read);
  const sorted = observer?.rows("order", inOrder) ?? inOrder;
  const rows = isLate ? lateRows(source, request, sorted) : ownColumns(sorted, projection);
  yield* isLate ? (observer?.rows("take", rows) ?? rows) : rows;
}

/** Leaves out the addresses if neither the projection nor a key needs them: they would be sorted, too. */
function rowsRead(read: SortedRead, { withAddresses }: RowsPlan): SortedRead {
  const areNeeded = withAddresses || read.sources.some(({ kind }) => kind === "system");
  return { ...read, projection: { ...read.projection, withAddresses: areNeeded } };
}

/** Yields the addresses of the first rows of the order, from the offset on. */
async function* firstRows(source: FragmentSource, request: OrderedRequest): AsyncGenerator<BatchRows> {
  const { order, offset, limit } = request;
  const first = new TopRows(order.keys, offset + limit);
  const keyPlaces = placesOf(order.ofKeys);
  const addressPlace = order.ofKeys.projection.outputs.length;
  const scanned = { ...request, isTransient: true, batchRows: TOP_BATCH_ROWS };
  for await (const { columns, rowCount } of keyedRows(source, scanned, order.ofKeys)) {
    request.signal?.throwIfAborted();
    await first.add([...keyPlaces.map((position) => columns[position]), columns[addressPlace]], rowCount);
  }
  yield* withoutFirst(await first.finish(), offset, (columns) => [columns[columns.length - 1]]);
}

/** Yields all rows in order, within offset and limit: the outputs and, if they are read, the addresses. */
async function* allRows(
  source: FragmentSource,
  request: OrderedRequest,
  read: SortedRead,
): AsyncGenerator<BatchRows> {
  const whole = { ...request, batchRows: Number.POSITIVE_INFINITY };
  const rows = sortRows(keyedRows(source, whole, read), {
    orders: request.order.keys,
    keyPlaces: placesOf(read),
    limit: request.offset + request.limit,
    sortBytes: sortBytesOf(request),
    makeFile: request.makeFile,
    note: (byteLength) => request.memory?.note(SORTED, byteLength),
    signal: request.signal,
  });
  yield* withoutFirst(rows, request.offset, (columns) => columns.slice(0, storedCount(read.projection)));
}

/** Leaves out the first rows, and all but some columns of the other rows. */
async function* withoutFirst(
  batches: AsyncIterable<BatchRows> | Iterable<BatchRows>,
  offset: number,
  pick: (columns: readonly Column[]) => readonly Column[],
): AsyncGenerator<BatchRows> {
  let skip = offset;
  for await (const { columns, rowCount } of batches) {
    const skipped = Math.min(skip, rowCount);
    skip -= skipped;
    const count = rowCount - skipped;
    if (count === 0) continue;
    yield { columns: pick(columns).map((column) => sliceColumn(column, skipped, count)), rowCount: count };
  }
}

/** Number of the columns that a scan yields. */
const storedCount = ({ outputs, withAddresses }: RowsPlan): number =>
  outputs.length + (withAddresses ? 1 : 0);

/** Yields the outputs of the projection, which come first, and the addresses, which come last. */
async function* ownColumns(
  sorted: AsyncIterable<BatchRows>,
  { outputs, withAddresses }: RowsPlan,
): AsyncGenerator<BatchRows> {
  for await (const { columns, rowCount } of sorted) {
    const returned = columns.slice(0, outputs.length);
    yield { columns: withAddresses ? [...returned, addressesAmong(columns)] : returned, rowCount };
  }
}

/** True if the first rows of an order are found without sorting all rows. */
export const areFirst = ({ offset, limit }: Pick<ScanRequest, "offset" | "limit">): boolean =>
  offset + limit <= TOP_ROWS;

/** True if rows are read by their addresses after their keys are sorted. */
export const isReadLate = ({ hasBlobs, leaves }: RowsPlan): boolean =>
  hasBlobs || leaves.some(({ layout }) => leafOf(layout).kind === "dictionary");

function sortBytesOf({ sortBytes = SORT_BYTES, memory }: OrderedRequest): number {
  if (memory === undefined) return sortBytes;
  return Math.min(sortBytes, Math.max(MIN_SORT_BYTES, memory.spareBytes(SORTED) * SORT_PART));
}

/** Returns the indexes of the keys' columns among those of {@link keyedRows}. */
function placesOf({ sources, projection }: SortedRead): number[] {
  let next = storedCount(projection);
  return sources.map((source) => (source.kind === "stored" ? source.output : next++));
}

/** Yields the filtered rows without dictionaries: outputs, addresses if read, and keys not stored. */
async function* keyedRows(
  source: FragmentSource,
  request: OrderedRequest,
  { sources, projection }: SortedRead,
): AsyncGenerator<BatchRows> {
  const { filter, numbers } = request;
  const all = { offset: 0, limit: Number.POSITIVE_INFINITY };
  const everything = { ...request, ...all, projection, batchBytes: undefined };
  const rows =
    filter === null
      ? observedScan(source, request.observer, everything)
      : filteredRows(source, { ...everything, filter });
  for await (const { columns, rowCount } of rows) {
    const keyed = columns.map(plainColumn);
    for (const key of sources) {
      if (key.kind === "system") keyed.push(await numbers.column(key.which, addressesAmong(columns)));
    }
    yield { columns: keyed, rowCount };
  }
}

/** Reads sorted rows by their addresses, which are their last column. */
async function* lateRows(
  source: FragmentSource,
  { fragments, projection, batchRows, signal, observer }: OrderedRequest,
  sorted: AsyncIterable<BatchRows>,
): AsyncGenerator<BatchRows> {
  const observed = observer?.source("take", source) ?? source;
  const stepSize = Math.min(batchRows, projection.hasBlobs ? LATE_BLOB_ROWS : LATE_ROWS);
  const plan = { ...projection, withAddresses: true };
  for await (const { columns, rowCount } of sorted) {
    const addresses: FixedColumn = addressesAmong(columns);
    for (let start = 0; start < rowCount; start += stepSize) {
      const some = sliceColumn(addresses, start, Math.min(stepSize, rowCount - start));
      yield await readRowsAtAddresses(observed, { fragments, projection: plan, signal }, some);
    }
  }
}
