/**
 * Random access: the rows of a version at given offsets, in the order asked. Offsets become fragments and physical
 * rows, those become pages, and of each page only what holds the rows is read; memory is bounded by the read-ahead
 * window, the size of a page and the result.
 *
 * Every row is read once, however often it was asked for: rows are gathered in the order they lie on disk and put
 * into the order asked at the end.
 */

import type { Table } from "apache-arrow";
import { makeBatch, toTable } from "../arrow/batch.js";
import type { Column, Layout } from "../arrow/column.js";
import { concatColumns, takeColumn } from "../arrow/rearrange.js";
import { InvalidInputError } from "../errors.js";
import { type EncodedRows, readPageRows } from "../file/pageRows.js";
import { countRows, positionsIn, type RowRuns, runsOf } from "../file/pageSlice.js";
import type { DataFile, DataPage } from "../file/reader.js";
import { decodePage } from "../file/structural/decodePage.js";
import { pickRows } from "../file/structural/pickRows.js";
import type { DataFragment } from "../format/table.js";
import type { LazyBlob } from "../namespace.js";
import { liveRowCount } from "../table/statistics.js";
import { type DescribedRows, lazyBlobs, readBlobs } from "./blobs.js";
import { type FragmentSource, openColumns } from "./fragmentColumns.js";
import { lowerBound, physicalOffset } from "./fragmentRows.js";
import { mapAhead } from "./mapAhead.js";
import { assembleOutputs, type Projection } from "./projection.js";

/** Bytes one round of reads fetches, roughly. */
const GROUP_BYTES = 16 * 1024 * 1024;
/** Bytes read ahead of decoding, roughly. */
const WINDOW_BYTES = 48 * 1024 * 1024;
/** Bytes that may be read along with one row. */
const ROW_OVERHEAD_BYTES = 64 * 1024;

export interface TakeRequest {
  readonly fragments: readonly DataFragment[];
  readonly projection: Projection;
  /** Integers ≥ 0, counting the live rows of the version. */
  readonly rowOffsets: Float64Array;
  readonly signal?: AbortSignal;
}

/** Rows of one page. */
interface TakeTask {
  /** Number of the fragment among those that hold rows. */
  readonly fragment: number;
  /** Index in the projection. */
  readonly column: number;
  readonly stored: StoredRows;
}

/** What was read of a fragment. */
interface FragmentPieces {
  readonly rowCount: number;
  /** One of its files, for errors. */
  path: string;
  /** For each projected column the file it is in. */
  readonly files: (string | null)[];
  /** For each projected column its pages; none where the fragment has no such column. */
  readonly columns: Column[][];
}

interface StoredRows {
  readonly file: DataFile;
  readonly columnIndex: number;
  readonly pageIndex: number;
  readonly page: DataPage;
  /** Wanted rows, counted from the page's first: ascending, each once. */
  readonly wanted: Uint32Array;
  readonly rows: RowRuns;
}

/** Tasks served together. */
interface TaskGroup {
  readonly tasks: readonly TakeTask[];
  readonly byteLength: number;
}

/** @throws InvalidInputError for an offset that is no row of the version */
export async function takeRows(source: FragmentSource, request: TakeRequest): Promise<Table> {
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
  return toTable(projection.schema, [makeBatch(projection.schema, columns, request.rowOffsets.length)]);
}

/**
 * The blobs of rows, none of them read: for each offset one, or null.
 * @param request its projection is of one column, of blobs
 * @throws InvalidInputError for an offset that is no row of the version
 */
export async function takeBlobs(source: FragmentSource, request: TakeRequest): Promise<(LazyBlob | null)[]> {
  const { parts, positions } = await takeParts(source, request);
  const blobs = parts.flatMap(({ columns: [column], files: [path] }) => lazyBlobs(source, column, path));
  return positions === null ? blobs : Array.from(positions, (position) => blobs[position]);
}

/** The distinct rows by fragment, in the order they lie on disk, and where among them each offset is. */
async function takeParts(
  source: FragmentSource,
  request: TakeRequest,
): Promise<{ parts: DescribedRows[]; positions: Uint32Array | null }> {
  const { projection, signal } = request;
  const { rows, positions } = distinctRows(request.rowOffsets);
  const fragments = await wantedFragments(source, request.fragments, rows);
  if (rows.length === 0) return { parts: [], positions };
  const pieces: FragmentPieces[] = fragments.map(({ rows: { length } }) => ({
    rowCount: length,
    path: "",
    files: projection.columns.map(() => null),
    columns: projection.columns.map(() => []),
  }));
  const groups = mapAhead(
    taskGroups(source, projection, fragments),
    async (group) => ({ group, fetched: await fetchGroup(source, group) }),
    { weigh: (group) => group.byteLength, maxWeight: WINDOW_BYTES },
  );
  for await (const { group, fetched } of groups) {
    signal?.throwIfAborted();
    for (const [index, { fragment, column, stored }] of group.tasks.entries()) {
      const { layout } = projection.columns[column];
      pieces[fragment].path = stored.file.path;
      pieces[fragment].files[column] = stored.file.path;
      pieces[fragment].columns[column].push(decodeRows(layout, fetched[index] as EncodedRows, stored.wanted));
    }
  }
  const parts = pieces.map(({ rowCount, path, files, columns: pages }) => {
    const joined = pages.map((column) => (column.length === 0 ? null : concatColumns(column)));
    return { columns: assembleOutputs(projection, joined, rowCount, path), rowCount, files };
  });
  return { parts, positions };
}

/** The wanted rows of what was read of a page. */
function decodeRows(
  columnLayout: Layout,
  { rows, rowCount, layout, buffers, origin }: EncodedRows,
  wanted: Uint32Array,
): Column {
  const positions = positionsIn(rows, wanted);
  const picked = pickRows(columnLayout, layout, rowCount, buffers, positions, origin);
  if (picked !== null) return picked;
  const decoded = decodePage(columnLayout, layout, rowCount, buffers, origin);
  return positions.length === decoded.length ? decoded : takeColumn(decoded, positions);
}

/**
 * The rows asked for, ascending and each once, and where among them each offset is; `positions` null where that is
 * the order asked.
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

/** Indexes of the offsets, in the order of the offsets. */
function sortedOrder(offsets: Float64Array): Uint32Array {
  const count = offsets.length;
  let largest = 0;
  for (let index = 0; index < count; index++) largest = Math.max(largest, offsets[index]);
  const order = new Uint32Array(count);
  if ((largest + 1) * count > Number.MAX_SAFE_INTEGER) {
    for (let index = 0; index < count; index++) order[index] = index;
    return order.sort((a, b) => offsets[a] - offsets[b]);
  }
  // Offset and index in one number sort many times faster than through a comparison.
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

/** The fragments that hold the rows, and which of their rows those are. */
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

async function* taskGroups(
  source: FragmentSource,
  projection: Projection,
  fragments: readonly WantedFragment[],
): AsyncGenerator<TaskGroup, void, undefined> {
  let tasks: TakeTask[] = [];
  let byteLength = 0;
  for (const [fragment, wanted] of fragments.entries()) {
    for (const task of await fragmentTasks(source, projection, fragment, wanted)) {
      tasks.push(task);
      byteLength += expectedBytes(task);
      if (byteLength < GROUP_BYTES) continue;
      yield { tasks, byteLength };
      tasks = [];
      byteLength = 0;
    }
  }
  if (tasks.length > 0) yield { tasks, byteLength };
}

async function fragmentTasks(
  source: FragmentSource,
  { columns }: Projection,
  fragmentNumber: number,
  { fragment, rows }: WantedFragment,
): Promise<TakeTask[]> {
  const tasks: TakeTask[] = [];
  for (const [column, place] of (await openColumns(source, fragment, columns)).entries()) {
    if (place === null) continue;
    const { file, columnIndex, pages } = place;
    let next = 0;
    for (const [pageIndex, page] of pages.entries()) {
      if (next === rows.length) break;
      const end = lowerBound(rows, page.rowStart + page.rowCount);
      if (end === next) continue;
      const wanted = rows.subarray(next, end).map((row) => row - page.rowStart);
      const stored = { file, columnIndex, pageIndex, page, wanted, rows: runsOf(wanted) };
      tasks.push({ fragment: fragmentNumber, column, stored });
      next = end;
    }
  }
  return tasks;
}

/** Bytes that a task's read fetches, about. */
function expectedBytes({ stored }: TakeTask): number {
  const { page, rows } = stored;
  let pageBytes = 0;
  for (const { length } of page.bufferRanges) pageBytes += length;
  const share = (pageBytes * countRows(rows)) / page.rowCount;
  return Math.min(pageBytes, share + rows.starts.length * ROW_OVERHEAD_BYTES);
}

/** Reads for all tasks of a group, files at the same time. */
async function fetchGroup(source: FragmentSource, { tasks }: TaskGroup): Promise<(EncodedRows | null)[]> {
  const byFile = new Map<DataFile, { index: number; stored: StoredRows }[]>();
  for (const [index, { stored }] of tasks.entries()) {
    const ofFile = byFile.get(stored.file);
    if (ofFile === undefined) byFile.set(stored.file, [{ index, stored }]);
    else ofFile.push({ index, stored });
  }
  const results: (EncodedRows | null)[] = tasks.map(() => null);
  await Promise.all(
    Array.from(byFile, async ([file, ofFile]) => {
      const fetched = await readPageRows(
        source,
        file,
        ofFile.map(({ stored }) => stored),
      );
      for (const [position, { index }] of ofFile.entries()) results[index] = fetched[position];
    }),
  );
  return results;
}
