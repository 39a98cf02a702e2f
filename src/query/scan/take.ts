/**
 * Random access: reads the rows of a version at given offsets or addresses, in the order asked. Turns offsets
 * into fragments and physical rows. Reads every row once, however often it was asked for: reads in the order
 * on disk, and reorders the rows at the end.
 */

import type { Table } from "apache-arrow";
import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { makeBatch, toTable } from "../../arrow/exchange/batch.js";
import { mapParallel } from "../../async/parallel.js";
import { InternalError, InvalidInputError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import type { LazyBlob } from "../../namespace/queries.js";
import { type DescribedRows, readBlobs } from "../../rows/blobValues.js";
import { takeColumns } from "../../rows/takeColumns.js";
import type { RowsPlan } from "../columns/columnReads.js";
import { type FragmentSource, openFragment } from "../columns/fragmentColumns.js";
import { type Projection, returnedColumns } from "../columns/projection.js";
import { addressesOf, addressWords } from "../columns/rowAddresses.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import { lazyBlobs } from "./lazyBlobs.js";
import { type RowsOfFragment, rowsAtOffsets } from "./rowPlaces.js";
import type { BatchRows } from "./scan.js";

/** Number of fragments read at the same time. */
const PARALLELISM = 4;

interface TakeRequest {
  readonly fragments: readonly DataFragment[];
  readonly projection: RowsPlan;
  readonly signal?: AbortSignal;
}

export interface OffsetsRequest extends TakeRequest {
  /** Integers ≥ 0 that count the live rows of the version. */
  readonly rowOffsets: Float64Array;
}

/** @throws InvalidInputError for an offset beyond the rows of the version */
export async function readRowsAt(
  source: FragmentSource,
  request: OffsetsRequest & { readonly projection: Projection; readonly numbers: RowNumbers },
): Promise<Table> {
  const { projection, numbers } = request;
  const rowCount = request.rowOffsets.length;
  if (rowCount === 0) return toTable(projection.schema, []);
  const { rows, positions } = distinctRows(request.rowOffsets);
  const wanted = await fragmentsAtOffsets(source, request.fragments, rows);
  const columns = await gatheredColumns(source, request, wanted, positions);
  const returned = await returnedColumns(projection, numbers, columns, rowCount, request.signal);
  return toTable(projection.schema, [makeBatch(projection.schema, returned, rowCount)]);
}

/** Reads the rows at addresses, in their order. */
export async function readRowsAtAddresses(
  source: FragmentSource,
  request: TakeRequest,
  addresses: FixedColumn,
): Promise<BatchRows> {
  const starts = startsOf(request.fragments);
  const { rows, positions } = distinctRows(placesAt(addresses, request.fragments, starts));
  const wanted = fragmentsAtPlaces(request.fragments, starts, rows);
  const columns = await gatheredColumns(source, request, wanted, positions);
  return { columns, rowCount: addresses.length };
}

/** Returns the outputs, and then the addresses if they are wanted. `positions` reorders the rows. */
async function gatheredColumns(
  source: FragmentSource,
  request: TakeRequest,
  wanted: readonly RowsOfFragment[],
  positions: Uint32Array | null,
): Promise<Column[]> {
  const { projection } = request;
  const parts: (readonly Column[])[] = [];
  for (const [index, part] of (await takeParts(source, request, wanted)).entries()) {
    const { fragment, rows } = wanted[index];
    const columns = projection.hasBlobs ? await readBlobs(source, projection, part) : part.columns;
    parts.push(projection.withAddresses ? [...columns, addressesOf(fragment.id, rows)] : columns);
  }
  return (parts[0] ?? []).map((_, index) => {
    const column = concatColumns(parts.map((part) => part[index]));
    return positions === null ? column : takeColumn(column, positions);
  });
}

/**
 * Returns objects that read the blobs of rows later: one for each offset, or null.
 * @param request with a projection of one column of blobs
 * @throws InvalidInputError for an offset beyond the rows of the version
 */
export async function openBlobsAt(
  source: FragmentSource,
  request: OffsetsRequest,
): Promise<(LazyBlob | null)[]> {
  const { rows, positions } = distinctRows(request.rowOffsets);
  const blobs = await openBlobs(source, request, await fragmentsAtOffsets(source, request.fragments, rows));
  return positions === null ? blobs : Array.from(positions, (position) => blobs[position]);
}

/** Returns objects that read the blobs of rows later: one for each row, or null. */
export async function openBlobs(
  source: FragmentSource,
  request: TakeRequest,
  wanted: readonly RowsOfFragment[],
): Promise<(LazyBlob | null)[]> {
  const parts = await takeParts(source, request, wanted);
  return parts.flatMap(({ columns: [column], files: [file] }) => lazyBlobs(source, column, file));
}

/** Reads the rows of each fragment. */
async function takeParts(
  source: FragmentSource,
  { projection, signal }: TakeRequest,
  wanted: readonly RowsOfFragment[],
): Promise<DescribedRows[]> {
  const takeFragment = async ({ fragment, rows }: RowsOfFragment): Promise<DescribedRows> => {
    const stored = await openFragment(source, fragment, projection.leaves);
    return takeColumns(source, projection, stored, rows, signal);
  };
  const parts = await mapParallel(wanted, PARALLELISM, takeFragment, signal);
  signal?.throwIfAborted();
  return parts;
}

/** Returns the distinct rows, ascending, and the position of each offset among them; null if in order. */
function distinctRows(offsets: Float64Array): { rows: Float64Array; positions: Uint32Array | null } {
  let ascending = true;
  for (let index = 1; index < offsets.length && ascending; index++) {
    ascending = offsets[index] > offsets[index - 1];
  }
  if (ascending) return { rows: offsets, positions: null };
  const rows = new Float64Array(offsets.length);
  const positions = new Uint32Array(offsets.length);
  const order = sortedOrder(offsets);
  let count = 0;
  for (let position = 0; position < order.length; position++) {
    const index = order[position];
    if (count === 0 || offsets[index] !== rows[count - 1]) rows[count++] = offsets[index];
    positions[index] = count - 1;
  }
  return { rows: rows.subarray(0, count), positions };
}

/** Returns the indexes of the offsets, sorted by offset. */
function sortedOrder(offsets: Float64Array): Uint32Array {
  const count = offsets.length;
  let largest = 0;
  for (let index = 0; index < count; index++) largest = Math.max(largest, offsets[index]);
  const order = new Uint32Array(count);
  // A power of two divides numbers exactly.
  const factor = 2 ** Math.ceil(Math.log2(count));
  if ((largest + 1) * factor > Number.MAX_SAFE_INTEGER) {
    for (let index = 0; index < count; index++) order[index] = index;
    return order.sort((a, b) => offsets[a] - offsets[b]);
  }
  // Sorting numbers that combine offset and index is many times faster than a comparison function.
  const keys = new Float64Array(count);
  for (let index = 0; index < count; index++) keys[index] = offsets[index] * factor + index;
  keys.sort();
  for (let position = 0; position < count; position++) {
    order[position] = keys[position] - Math.floor(keys[position] / factor) * factor;
  }
  return order;
}

/** Returns the fragments that hold the rows, with the physical rows in each. */
async function fragmentsAtOffsets(
  source: FragmentSource,
  fragments: readonly DataFragment[],
  rows: Float64Array,
): Promise<RowsOfFragment[]> {
  const wanted = await rowsAtOffsets(rows, fragments, source);
  const foundRows = wanted.reduce((sum, each) => sum + each.rows.length, 0);
  if (foundRows < rows.length) {
    throw new InvalidInputError(`rowOffsets: there is no row ${rows[rows.length - 1]}`);
  }
  return wanted;
}

/** Returns the place of each fragment's first row, and the end, counting all physical rows. */
function startsOf(fragments: readonly DataFragment[]): Float64Array {
  const starts = new Float64Array(fragments.length + 1);
  for (let index = 0; index < fragments.length; index++)
    starts[index + 1] = starts[index] + fragments[index].physicalRows;
  return starts;
}

/** Returns the places of rows by their addresses. */
function placesAt(
  addresses: FixedColumn,
  fragments: readonly DataFragment[],
  starts: Float64Array,
): Float64Array {
  const byId = new Map(fragments.map(({ id }, index) => [id, index]));
  const words = addressWords(addresses);
  const places = new Float64Array(addresses.length);
  let id = -1;
  let index = -1;
  for (let row = 0; row < places.length; row++) {
    if (words[2 * row + 1] !== id) {
      id = words[2 * row + 1];
      index = byId.get(id) ?? -1;
    }
    places[row] = starts[index] + words[2 * row];
    if (!(places[row] < starts[index + 1]))
      throw new InternalError(`fragment ${id} has no row ${words[2 * row]}`);
  }
  return places;
}

/** @param places of rows, ascending */
function fragmentsAtPlaces(
  fragments: readonly DataFragment[],
  starts: Float64Array,
  places: Float64Array,
): RowsOfFragment[] {
  const wanted: RowsOfFragment[] = [];
  for (let start = 0, slot = 0; start < places.length; slot++) {
    let end = start;
    while (end < places.length && places[end] < starts[slot + 1]) end++;
    if (end === start) continue;
    const rows = new Uint32Array(end - start);
    for (let index = 0; index < rows.length; index++) rows[index] = places[start + index] - starts[slot];
    wanted.push({ fragment: fragments[slot], rows });
    start = end;
  }
  return wanted;
}
