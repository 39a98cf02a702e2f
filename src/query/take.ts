/**
 * Random access: the rows of a version at given offsets, in the order asked. Offsets become fragments and physical
 * rows.
 *
 * Every row is read once, however often it was asked for: rows are gathered in the order in which they lie on disk and
 * reordered at the end.
 */

import type { Table } from "apache-arrow";
import type { Column } from "../arrow/columns/column.js";
import { concatColumns } from "../arrow/columns/concatColumns.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { makeBatch, toTable } from "../arrow/exchange/batch.js";
import { mapParallel } from "../async/parallel.js";
import { InvalidInputError } from "../errors.js";
import type { DataFragment } from "../format/table.js";
import type { LazyBlob } from "../namespace.js";
import { type DescribedRows, readBlobs } from "../rows/blobValues.js";
import { takeColumns } from "../rows/takeColumns.js";
import { liveRowCount } from "../table/fragments/statistics.js";
import { type FragmentSource, openFragment } from "./fragmentColumns.js";
import { physicalOffset } from "./fragmentRows.js";
import { lazyBlobs } from "./lazyBlobs.js";
import { type Projection, returnedColumns } from "./projection.js";

/** Fragments read from at the same time. */
const PARALLELISM = 4;

export interface TakeRequest {
  readonly fragments: readonly DataFragment[];
  readonly projection: Projection;
  /** Integers ≥ 0, counting the live rows of the version. */
  readonly rowOffsets: Float64Array;
  readonly signal?: AbortSignal;
}

/** @throws InvalidInputError for an offset that is no row of the version */
export async function readRowsAt(source: FragmentSource, request: TakeRequest): Promise<Table> {
  const { projection } = request;
  const { parts: described, positions } = await takeParts(source, request);
  if (described.length === 0) return toTable(projection.schema, []);
  const parts: (readonly Column[])[] = [];
  for (const part of described) {
    parts.push(projection.hasBlobs ? await readBlobs(source, projection, part) : part.columns);
  }
  const columns = projection.outputs.map((_, output) => {
    const column = concatColumns(parts.map((part) => part[output]));
    return positions === null ? column : takeColumn(column, positions);
  });
  const returned = returnedColumns(projection, columns);
  return toTable(projection.schema, [makeBatch(projection.schema, returned, request.rowOffsets.length)]);
}

/**
 * The blobs of rows, as objects that read them later: one for each offset, or null.
 * @param request its projection has one column, of blobs
 * @throws InvalidInputError for an offset that is no row of the version
 */
export async function openBlobsAt(
  source: FragmentSource,
  request: TakeRequest,
): Promise<(LazyBlob | null)[]> {
  const { parts, positions } = await takeParts(source, request);
  const blobs = parts.flatMap(({ columns: [column], files: [file] }) => lazyBlobs(source, column, file));
  return positions === null ? blobs : Array.from(positions, (position) => blobs[position]);
}

/**
 * The distinct rows by fragment, in the order in which they lie on disk, and the position of each offset among them.
 */
async function takeParts(
  source: FragmentSource,
  request: TakeRequest,
): Promise<{ parts: DescribedRows[]; positions: Uint32Array | null }> {
  const { projection, signal } = request;
  const { rows, positions } = distinctRows(request.rowOffsets);
  const fragments = await wantedFragments(source, request.fragments, rows);
  const takeFragment = async (wanted: WantedFragment): Promise<DescribedRows> => {
    const stored = await openFragment(source, wanted.fragment, projection.leaves);
    return takeColumns(source, projection, stored, wanted.rows, signal);
  };
  const parts = await mapParallel(fragments, PARALLELISM, takeFragment, signal);
  signal?.throwIfAborted();
  return { parts, positions };
}

/**
 * The rows asked for, ascending and each once, and the position of each offset among them. `positions` is null if the
 * rows were asked for in that order.
 */
function distinctRows(offsets: Float64Array): { rows: Float64Array; positions: Uint32Array | null } {
  let ascending = true;
  for (let index = 1; index < offsets.length && ascending; index++) {
    ascending = offsets[index] > offsets[index - 1];
  }
  if (ascending) return { rows: offsets, positions: null };
  const order = sortedOrder(offsets);
  const rows = new Float64Array(offsets.length);
  const positions = new Uint32Array(offsets.length);
  let count = 0;
  for (const index of order) {
    if (count === 0 || offsets[index] !== rows[count - 1]) rows[count++] = offsets[index];
    positions[index] = count - 1;
  }
  return { rows: rows.subarray(0, count), positions };
}

/** Indexes of the offsets, sorted by offset. */
function sortedOrder(offsets: Float64Array): Uint32Array {
  const count = offsets.length;
  let largest = 0;
  for (let index = 0; index < count; index++) largest = Math.max(largest, offsets[index]);
  const order = new Uint32Array(count);
  if ((largest + 1) * count > Number.MAX_SAFE_INTEGER) {
    for (let index = 0; index < count; index++) order[index] = index;
    return order.sort((a, b) => offsets[a] - offsets[b]);
  }
  // Numbers that combine offset and index sort many times faster than a comparison function.
  const keys = new Float64Array(count);
  for (let index = 0; index < count; index++) keys[index] = offsets[index] * count + index;
  keys.sort();
  for (let index = 0; index < count; index++) order[index] = keys[index] % count;
  return order;
}

interface WantedFragment {
  readonly fragment: DataFragment;
  /** Physical rows, ascending and each once. */
  readonly rows: Uint32Array;
}

/** The fragments that hold the rows, with the physical rows in each. */
async function wantedFragments(
  source: FragmentSource,
  fragments: readonly DataFragment[],
  rows: Float64Array,
): Promise<WantedFragment[]> {
  const wanted: WantedFragment[] = [];
  let firstRow = 0;
  let next = 0;
  for (const fragment of fragments) {
    let deleted: Uint32Array | null = null;
    let live = liveRowCount(fragment);
    const { deletionFile } = fragment;
    if (deletionFile !== undefined && (deletionFile.numDeletedRows === 0 || rows[next] < firstRow + live)) {
      deleted = await source.readDeletions(fragment);
      live = fragment.physicalRows - (deleted?.length ?? 0);
    }
    let end = next;
    while (end < rows.length && rows[end] < firstRow + live) end++;
    if (end > next) {
      const physical = new Uint32Array(end - next);
      for (let index = next; index < end; index++) {
        const row = rows[index] - firstRow;
        physical[index - next] = deleted === null ? row : physicalOffset(row, deleted);
      }
      wanted.push({ fragment, rows: physical });
    }
    next = end;
    firstRow += live;
  }
  if (next < rows.length) {
    throw new InvalidInputError(
      `rowOffsets: there is no row ${rows[rows.length - 1]} among ${firstRow} rows`,
    );
  }
  return wanted;
}
