/**
 * Random access: the rows of a version at given offsets, in the order asked. Offsets become fragments and physical
 * rows, those become pages, and only the parts of pages that hold the rows are read. Memory is bounded by the rounds of
 * reads under way, the size of a page and the result.
 *
 * Every row is read once, however often it was asked for: rows are gathered in the order in which they lie on disk and
 * reordered at the end.
 */

import type { Table } from "apache-arrow";
import type { Column, Layout } from "../arrow/columns/column.js";
import { concatColumns } from "../arrow/columns/concatColumns.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { makeBatch, toTable } from "../arrow/exchange/batch.js";
import { breathe } from "../async/eventLoop.js";
import { InvalidInputError } from "../errors.js";
import type { DataFile, DataPage } from "../file/container/reader.js";
import { decodePage } from "../file/pages/decodePage.js";
import { type EncodedRows, readPageRows } from "../file/pages/pageRows.js";
import { positionsIn, type RowRuns, runsOf } from "../file/pages/pageSlice.js";
import { pickable, pickRows, worthPicking } from "../file/pages/pickRows.js";
import type { DataFragment } from "../format/table.js";
import type { LazyBlob } from "../namespace.js";
import { liveRowCount } from "../table/fragments/statistics.js";
import { type DescribedRows, lazyBlobs, readBlobs } from "./blobs.js";
import { type FragmentSource, openColumns } from "./fragmentColumns.js";
import { lowerBound, physicalOffset } from "./fragmentRows.js";
import { assembleOutputs, type Projection, returnedColumns } from "./projection.js";

/** Fragments read from at the same time. */
const LANES = 4;
/** Approximate bytes that one round of reads in a fragment fetches. */
const ROUND_BYTES = 8 * 1024 * 1024;
/** Bytes that may be read in addition to one row. */
const ROW_OVERHEAD_BYTES = 16 * 1024;

export interface TakeRequest {
  readonly fragments: readonly DataFragment[];
  readonly projection: Projection;
  /** Integers ≥ 0, counting the live rows of the version. */
  readonly rowOffsets: Float64Array;
  readonly signal?: AbortSignal;
}

/** Wanted rows of one page. */
interface TakeTask {
  /** Index in the projection. */
  readonly column: number;
  readonly file: DataFile;
  readonly columnIndex: number;
  readonly pageIndex: number;
  /** Rows counted from the page's first: ascending, each once. */
  readonly wanted: Uint32Array;
  readonly rows: RowRuns;
  /** Whether the rows are picked out of the page instead of decoding the page. */
  readonly borrow: boolean;
  readonly expectedBytes: number;
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
  const returned = returnedColumns(projection, columns);
  return toTable(projection.schema, [makeBatch(projection.schema, returned, request.rowOffsets.length)]);
}

/**
 * The blobs of rows, as objects that read them later: one for each offset, or null.
 * @param request its projection has one column, of blobs
 * @throws InvalidInputError for an offset that is no row of the version
 */
export async function takeBlobs(source: FragmentSource, request: TakeRequest): Promise<(LazyBlob | null)[]> {
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
  if (rows.length === 0) return { parts: [], positions };
  const parts: DescribedRows[] = new Array(fragments.length);
  let next = 0;
  let failed = false;
  const lane = async () => {
    while (next < fragments.length && !failed) {
      const index = next++;
      try {
        signal?.throwIfAborted();
        parts[index] = await takeFragment(source, projection, fragments[index]);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(LANES, fragments.length) }, lane));
  signal?.throwIfAborted();
  return { parts, positions };
}

/** The outputs for the wanted rows of one fragment. */
async function takeFragment(
  source: FragmentSource,
  projection: Projection,
  wanted: WantedFragment,
): Promise<DescribedRows> {
  const rowCount = wanted.rows.length;
  const files: (DataFile | null)[] = projection.columns.map(() => null);
  const pieces: Column[][] = projection.columns.map(() => []);
  const tasks = await fragmentTasks(source, projection, wanted);
  for (let next = 0; next < tasks.length; ) {
    const round: TakeTask[] = [];
    for (let bytes = 0; next < tasks.length && bytes < ROUND_BYTES; next++) {
      round.push(tasks[next]);
      bytes += tasks[next].expectedBytes;
    }
    const decoded = await fetchRound(source, projection, round);
    for (const [index, { column, file }] of round.entries()) {
      files[column] = file;
      pieces[column].push(decoded[index]);
    }
    await breathe();
  }
  const joined = pieces.map((pages) => (pages.length === 0 ? null : concatColumns(pages)));
  const columns = assembleOutputs(projection, joined, rowCount, tasks[0]?.file.path ?? "");
  return { columns, rowCount, files };
}

/** Decodes the wanted rows from the bytes read of a page. */
function decodeRows(
  columnLayout: Layout,
  { rows, rowCount, layout, buffers, origin }: EncodedRows,
  { wanted, borrow }: TakeTask,
): Column {
  const positions = positionsIn(rows, wanted);
  const canPick = pickable(columnLayout, layout, rowCount, buffers.length);
  if (borrow || (canPick && worthPicking(positions.length, rowCount))) {
    return pickRows(columnLayout, layout, buffers, positions, origin);
  }
  const decoded = decodePage(columnLayout, layout, rowCount, buffers, origin);
  return positions.length === decoded.length ? decoded : takeColumn(decoded, positions);
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

/** The pages to read for the wanted rows, column by column. */
async function fragmentTasks(
  source: FragmentSource,
  { columns }: Projection,
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
      const wanted = rows.slice(next, end);
      for (let index = 0; index < wanted.length; index++) wanted[index] -= page.rowStart;
      const runs = runsOf(wanted);
      const { layout, rowCount, bufferRanges } = page;
      const borrow =
        pickable(columns[column].layout, layout, rowCount, bufferRanges.length) &&
        worthPicking(wanted.length, rowCount);
      const expectedBytes = countExpectedBytes(page, wanted.length, runs);
      tasks.push({ column, file, columnIndex, pageIndex, wanted, rows: runs, borrow, expectedBytes });
      next = end;
    }
  }
  return tasks;
}

/** Approximate bytes that reading rows of a page fetches. */
function countExpectedBytes({ bufferRanges, rowCount }: DataPage, rows: number, runs: RowRuns): number {
  let pageBytes = 0;
  for (const { length } of bufferRanges) pageBytes += length;
  return Math.min(pageBytes, (pageBytes * rows) / rowCount + runs.starts.length * ROW_OVERHEAD_BYTES);
}

/** The wanted rows of all tasks of a round. Files are read concurrently. */
async function fetchRound(
  source: FragmentSource,
  { columns }: Projection,
  tasks: readonly TakeTask[],
): Promise<Column[]> {
  const byFile = new Map<DataFile, TakeTask[]>();
  for (const task of tasks) {
    const ofFile = byFile.get(task.file);
    if (ofFile === undefined) byFile.set(task.file, [task]);
    else ofFile.push(task);
  }
  const decoded = new Map<TakeTask, Column>();
  await Promise.all(
    Array.from(byFile, ([file, ofFile]) =>
      readPageRows(source, file, ofFile, (rows, index) => {
        const task = ofFile[index];
        decoded.set(task, decodeRows(columns[task.column].layout, rows, task));
      }),
    ),
  );
  return tasks.map((task) => decoded.get(task) as Column);
}
