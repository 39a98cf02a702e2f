/** Reads single rows of columns: only the parts of pages that hold them, in rounds of bounded bytes. */

import type { Column, Layout } from "../arrow/columns/column.js";
import { concatColumns } from "../arrow/columns/concatColumns.js";
import { plainColumn } from "../arrow/columns/dictionaries.js";
import { leafOf, mapLeaf } from "../arrow/columns/spine.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import { lowerBound } from "../bytes/search.js";
import { InternalError } from "../errors.js";
import type { DataFileMetadata, DataPage } from "../file/container/reader.js";
import { decodePage } from "../file/pages/decodePage.js";
import { type EncodedRows, type PageSource, readPageRows } from "../file/pages/pageRows.js";
import { positionsIn, type RowRuns, runsOf } from "../file/pages/pageSlice.js";
import { pickable, pickRows, worthPicking } from "../file/pages/pickRows.js";
import type { LruCache } from "../io/memory/cache.js";
import type { DescribedRows } from "./blobValues.js";
import { assembleOutputs, type LeafPlan, type ReadLeaf } from "./leafPlan.js";
import type { OpenColumns } from "./openColumns.js";
import { type BlockRows, findRows, keepBlock, offsetsFrom, type RowBlock } from "./rowBlocks.js";

/** Approximate bytes that one round of reads fetches. */
const ROUND_BYTES = 8 * 1024 * 1024;
/** Bytes that may be read in addition to one row. */
const ROW_OVERHEAD_BYTES = 16 * 1024;

/** Dependencies of reading single rows. */
export interface TakeSource extends PageSource {
  /** Blocks of rows in memory; absent to read each row from its file. */
  readonly rowBlocks?: LruCache<RowBlock>;
}

/**
 * Returns the rows at the given positions, as the outputs of the plan. Blobs are descriptors, which
 * `readBlobs` (blobValues.ts) replaces with values.
 * @param positions rows of the file, ascending, each once
 * @throws CorruptFileError; UnsupportedError for pages that this release does not read; the signal's reason
 */
export async function takeColumns(
  source: TakeSource,
  plan: LeafPlan,
  stored: OpenColumns,
  positions: Uint32Array,
  signal?: AbortSignal,
): Promise<DescribedRows> {
  const rowCount = positions.length;
  const files: (DataFileMetadata | null)[] = plan.leaves.map(() => null);
  const pieces: Column[][] = plan.leaves.map(() => []);
  const tasks = takeTasks(plan.leaves, stored, positions, source.rowBlocks);
  for (let next = 0; next < tasks.length; ) {
    signal?.throwIfAborted();
    const round: TakeTask[] = [];
    for (let bytes = 0; next < tasks.length && bytes < ROUND_BYTES; next++) {
      round.push(tasks[next]);
      bytes += tasks[next].expectedBytes;
    }
    const isInMemory = round.every(({ inMemory }) => inMemory !== null);
    const decoded = isInMemory ? [] : await fetchRound(source, plan.leaves, round);
    for (const [index, { leaf, file, inMemory }] of round.entries()) {
      files[leaf] = file;
      pieces[leaf].push(...(inMemory ?? [decoded[index] as Column]));
    }
    // A single round without a read is too short to hold up anybody.
    if (!isInMemory || next < tasks.length) await yieldToEventLoop();
  }
  const joined = pieces.map((pages) => (pages.length === 0 ? null : concatColumns(pages)));
  const columns = assembleOutputs(plan, joined, rowCount, tasks[0]?.file.path ?? "");
  return { columns, rowCount, files };
}

/** Wanted rows of one page. */
interface TakeTask {
  /** Index of the leaf in the plan. */
  readonly leaf: number;
  readonly file: DataFileMetadata;
  readonly columnIndex: number;
  readonly pageIndex: number;
  /** Rows relative to the page's first: ascending, each once. */
  readonly wanted: Uint32Array;
  readonly rows: RowRuns;
  /** True if the rows are picked out of the page, which is then not decoded. */
  readonly picks: boolean;
  readonly expectedBytes: number;
  /** The wanted rows, if they are in memory; else null. */
  readonly inMemory: readonly Column[] | null;
  /** Block to read in place of the wanted rows, which it holds; null for none. */
  readonly block: BlockRows | null;
}

/** Plans the pages to read, leaf by leaf. */
function takeTasks(
  leaves: readonly ReadLeaf[],
  stored: OpenColumns,
  positions: Uint32Array,
  blocks: LruCache<RowBlock> | undefined,
): TakeTask[] {
  const tasks: TakeTask[] = [];
  // Columns that were written together usually have pages of the same rows.
  const selections: PageSelection[] = [];
  for (const [leaf, column] of stored.entries()) {
    if (column === null) continue;
    const { file, columnIndex, pages } = column;
    let next = 0;
    let count = 0;
    for (let pageIndex = 0; pageIndex < pages.length && next < positions.length; pageIndex++) {
      const page = pages[pageIndex];
      const { rowStart } = page;
      if (positions[next] >= rowStart + page.rowCount) continue;
      const end = lowerBound(positions, rowStart + page.rowCount);
      let selection = selections[count];
      if (selection?.next !== next || selection.end !== end || selection.rowStart !== rowStart) {
        selection = { next, end, rowStart, ...rowsOfPage(positions.subarray(next, end), rowStart) };
        selections[count] = selection;
      }
      count++;
      tasks.push(
        takeTask({ leaf, file, columnIndex, pageIndex }, leaves[leaf].layout, page, selection, blocks),
      );
      next = end;
    }
    if (next < positions.length) {
      throw new InternalError(
        `${file.path}: row ${positions[next]} was requested, but the file has ${file.rowCount} rows`,
      );
    }
  }
  return tasks;
}

/** Plans how the wanted rows of a page are read. */
function takeTask(
  location: Pick<TakeTask, "leaf" | "file" | "columnIndex" | "pageIndex">,
  leafLayout: Layout,
  page: DataPage,
  { wanted, rows: wantedRuns }: Selection,
  blocks: LruCache<RowBlock> | undefined,
): TakeTask {
  const { leaf, file, columnIndex, pageIndex } = location;
  const lookedUp = blocks === undefined ? null : findRows(blocks, leafLayout, page, wanted);
  const inMemory = lookedUp !== null && !("start" in lookedUp) ? lookedUp : null;
  const block = lookedUp !== null && "start" in lookedUp ? lookedUp : null;
  const rows =
    block === null
      ? wantedRuns
      : { starts: Uint32Array.of(block.start), counts: Uint32Array.of(block.count) };
  const { layout, rowCount, bufferRanges } = page;
  const picks =
    lookedUp === null &&
    pickable(leafLayout, layout, rowCount, bufferRanges.length) &&
    worthPicking(wanted.length, rowCount);
  const expectedBytes = countExpectedBytes(page, wanted.length, rows);
  return { leaf, file, columnIndex, pageIndex, wanted, rows, picks, expectedBytes, inMemory, block };
}

/** Wanted rows of a page, and the same as runs. */
type Selection = Pick<TakeTask, "wanted" | "rows">;

/** The wanted rows `next` to `end - 1`, which lie in a page. */
interface PageSelection extends Selection {
  readonly next: number;
  readonly end: number;
  /** First row of the page. */
  readonly rowStart: number;
}

function rowsOfPage(positions: Uint32Array, rowStart: number): Selection {
  if (rowStart === 0) return { wanted: positions, rows: runsOf(positions) };
  const wanted = new Uint32Array(positions.length);
  for (let index = 0; index < wanted.length; index++) wanted[index] = positions[index] - rowStart;
  return { wanted, rows: runsOf(wanted) };
}

/** Returns the approximate bytes that reading rows of a page fetches. */
function countExpectedBytes({ bufferRanges, rowCount }: DataPage, rows: number, runs: RowRuns): number {
  let pageBytes = 0;
  for (const { length } of bufferRanges) pageBytes += length;
  return Math.min(pageBytes, (pageBytes * rows) / rowCount + runs.starts.length * ROW_OVERHEAD_BYTES);
}

/** Returns the wanted rows of the tasks of a round that are not in memory. Reads files concurrently. */
async function fetchRound(
  source: TakeSource,
  leaves: readonly ReadLeaf[],
  tasks: readonly TakeTask[],
): Promise<(Column | undefined)[]> {
  const byFile = new Map<DataFileMetadata, TakeTask[]>();
  for (const task of tasks) {
    if (task.inMemory !== null) continue;
    const ofFile = byFile.get(task.file);
    if (ofFile === undefined) byFile.set(task.file, [task]);
    else ofFile.push(task);
  }
  const decoded = new Map<TakeTask, Column>();
  await Promise.all(
    Array.from(byFile, ([file, ofFile]) =>
      readPageRows(
        source,
        file,
        ofFile,
        (rows, index) => {
          const task = ofFile[index];
          decoded.set(task, rowsOfTask(source, leaves[task.leaf].layout, rows, task));
        },
        "untilUsed",
      ),
    ),
  );
  return tasks.map((task) => decoded.get(task));
}

/** Decodes the wanted rows of a task, and keeps the block that was read for them. */
function rowsOfTask(
  { rowBlocks }: TakeSource,
  leafLayout: Layout,
  read: EncodedRows,
  task: TakeTask,
): Column {
  const { block, wanted, file, columnIndex, pageIndex } = task;
  if (block === null) return decodeRows(leafLayout, read, wanted, task.picks);
  const ofBlock = new Uint32Array(block.count);
  for (let index = 0; index < ofBlock.length; index++) ofBlock[index] = block.start + index;
  const values = decodeRows(leafLayout, read, ofBlock, false);
  const page = file.columns[columnIndex].pages[pageIndex];
  if (rowBlocks !== undefined) keepBlock(rowBlocks, leafLayout, page, block, values);
  return takeColumn(values, offsetsFrom(block.start, wanted));
}

/** Decodes the wanted rows from the bytes read of a page. */
function decodeRows(
  leafLayout: Layout,
  { rows, rowCount, layout, buffers, origin }: EncodedRows,
  wanted: Uint32Array,
  picks: boolean,
): Column {
  const positions = positionsIn(rows, wanted);
  const canPick = pickable(leafLayout, layout, rowCount, buffers.length);
  if (picks || (canPick && worthPicking(positions.length, rowCount))) {
    return pickRows(leafLayout, layout, rowCount, buffers, positions, origin);
  }
  if (positions.length === rowCount) return decodePage(leafLayout, layout, rowCount, buffers, origin);
  // If the page stores each value once, only the values of these rows are gathered.
  const keepsDictionary = leafOf(leafLayout).kind !== "dictionary";
  const decoded = decodePage(leafLayout, layout, rowCount, buffers, origin, { keepsDictionary });
  const taken = takeColumn(decoded, positions);
  return keepsDictionary ? mapLeaf(taken, plainColumn) : taken;
}
