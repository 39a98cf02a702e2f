/**
 * Computes the values of one fragment. Its rows are cut into pieces of work, and these into batches, of which some are under
 * way at a time. What is computed is saved to checkpoint files from time to time; rows that earlier runs have saved are not
 * computed again.
 */

import { DataType } from "apache-arrow";
import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { breathe } from "../../async/eventLoop.js";
import { type Limit, mapAhead } from "../../async/parallel.js";
import { lowerBound } from "../../bytes/lowerBound.js";
import type { DataFragment } from "../../format/table.js";
import { Loan } from "../../io/memory/scratch.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import type { BatchRows } from "../../query/scan/scan.js";
import { readRows } from "../changes/readRows.js";
import type { BatchSize } from "./batchSize.js";
import {
  type CheckpointFiles,
  type ComputedPart,
  type ComputedRows,
  partInMemory,
} from "./checkpointFiles.js";
import type { EarlyFile } from "./earlyFile.js";
import type { InputRows } from "./functionCalls.js";
import { decodedColumn, LentTexts, TextPages } from "./lentTexts.js";
import type { MeantBackfill } from "./meantBackfill.js";

/** Bytes of computed values of one piece of work that are in memory before they are saved. */
export const MAX_UNSAVED_BYTES = 32 * 1024 * 1024;

export interface ValuesOptions {
  readonly batchSize: BatchSize;
  /** Rows of a batch at least, while there are so many. */
  readonly leastRows: number;
  /** Rows of a piece of work. */
  readonly taskRows: number;
  /** Bounds the pieces of work under way, of all fragments. */
  readonly tasks: Limit;
  /** Pieces of work of one fragment that are prepared at a time. */
  readonly tasksAtOnce: number;
  /** Calls, or rows of a function that computes row by row, under way in a piece of work. */
  readonly callsAtOnce: number;
  readonly flushMs: number;
  /** Whether all values are saved when the fragment is done. */
  readonly savesAll: boolean;
  readonly checkpoints: CheckpointFiles;
  /** Gets the values as they come, where all rows of the fragment are computed in one piece of work. */
  readonly early: EarlyFile;
  readonly signal: AbortSignal;
  /** Told of an error that fails the whole work, before other calls are waited for: it is to abort the signal. */
  readonly onFailure: (error: unknown) => void;
  /** Told of rows that have a value now. */
  readonly onRows: (count: number) => void;
}

/**
 * @param wanted physical offsets of the rows to compute, ascending
 * @returns the parts that hold them all, ascending; they may hold more
 */
export async function fragmentValues(
  source: FragmentSource,
  meant: MeantBackfill,
  fragment: DataFragment,
  wanted: Uint32Array,
  options: ValuesOptions,
): Promise<ComputedPart[]> {
  const { checkpoints, tasks, tasksAtOnce, taskRows, signal, onRows } = options;
  const content = await meant.sourceOf(fragment);
  const parts: ComputedPart[] = [];
  const missing: Uint32Array[] = [];
  let next = 0;
  for (const saved of await checkpoints.recover(content, fragment.physicalRows)) {
    const start = lowerBound(wanted, saved.first);
    const end = lowerBound(wanted, saved.last + 1);
    if (!holdsAll(saved.offsets, wanted.subarray(start, end))) {
      // Rows that were deleted when it was saved, and are back.
      await saved.remove();
      continue;
    }
    if (start > next) missing.push(wanted.subarray(next, start));
    next = end;
    parts.push(saved);
    onRows(end - start);
  }
  if (next < wanted.length) missing.push(wanted.subarray(next));
  const pieces = missing.flatMap((rows) => cut(rows, taskRows));
  // As many rows as the fragment has are all of them, in their order.
  const early = pieces[0]?.length === fragment.physicalRows ? options.early : null;
  const work = (rows: Uint32Array) =>
    tasks.run(() => pieceOfWork(source, meant, { fragment, content, rows, early }, options));
  const results = mapAhead(pieces, work, { weigh: () => 1, maxWeight: tasksAtOnce, signal });
  for await (const made of results) parts.push(...made);
  return parts.sort((a, b) => a.first - b.first);
}

function* pieceStarts(rowCount: number, pieceRows: number): Generator<number> {
  for (let start = 0; start < rowCount; start += pieceRows) yield start;
}

const cut = (rows: Uint32Array, pieceRows: number): Uint32Array[] =>
  Array.from(pieceStarts(rows.length, pieceRows), (start) => rows.subarray(start, start + pieceRows));

/** Whether all of some ascending numbers are among others. */
function holdsAll(numbers: Uint32Array, wanted: Uint32Array): boolean {
  let at = 0;
  for (const each of wanted) {
    while (at < numbers.length && numbers[at] < each) at++;
    if (numbers[at] !== each) return false;
  }
  return true;
}

interface Piece {
  readonly fragment: DataFragment;
  /** Digest of the fragment's content. */
  readonly content: string;
  readonly rows: Uint32Array;
  /** Gets the values as they come; null where nothing does. */
  readonly early: EarlyFile | null;
}

async function pieceOfWork(
  source: FragmentSource,
  meant: MeantBackfill,
  piece: Piece,
  options: ValuesOptions,
): Promise<ComputedPart[]> {
  const { checkpoints, callsAtOnce, flushMs, savesAll, signal, onRows } = options;
  const parts: ComputedPart[] = [];
  let unsaved: ComputedRows[] = [];
  let unsavedBytes = 0;
  let unsavedSinceMs = 0;
  const save = async (): Promise<void> => {
    if (unsaved.length === 0) return;
    // The memory of what is saved is used again.
    await piece.early?.giveUp();
    parts.push(await checkpoints.save(piece.content, unsaved));
    unsaved = [];
    unsavedBytes = 0;
  };
  const batches = mapAhead(
    inputBatches(source, meant, piece, options),
    (rows) => computeTimed(source, meant, rows, options),
    { weigh: () => 1, maxWeight: meant.isByRow ? 1 : callsAtOnce, signal },
  );
  try {
    for await (const computed of batches) {
      if (unsaved.length === 0) unsavedSinceMs = performance.now();
      unsaved.push(computed);
      unsavedBytes += columnBytes(computed.column);
      const isDue = performance.now() - unsavedSinceMs >= flushMs || unsavedBytes >= MAX_UNSAVED_BYTES;
      if (isDue) await save();
      else piece.early?.add(computed);
      onRows(computed.offsets.length);
      await breathe();
    }
  } catch (error) {
    // What is computed need not be computed again. The error that ended the work is the one that tells.
    await save().catch(() => undefined);
    throw error;
  }
  if (savesAll) await save();
  return unsaved.length === 0 ? parts : [...parts, partInMemory(unsaved)];
}

async function* inputBatches(
  source: FragmentSource,
  { projection }: MeantBackfill,
  { fragment, rows }: Piece,
  { batchSize, leastRows, signal }: ValuesOptions,
): AsyncGenerator<InputRows, void, undefined> {
  let at = 0;
  const pages = new TextPages(source.workers);
  // What a function gets of other columns may be a view, which it may keep.
  const areTexts = projection.schema.fields.map(
    ({ type }) => DataType.isUtf8(type) || DataType.isLargeUtf8(type),
  );
  const batchOf = (columns: readonly Column[], count: number): InputRows => {
    at += count;
    const texts = new LentTexts(source.scratch, pages);
    const decoded = columns.map((column, index) =>
      areTexts[index] ? texts.decode(column) : decodedColumn(column),
    );
    return { fragmentId: fragment.id, offsets: rows.subarray(at - count, at), columns: decoded, texts };
  };
  const selection = { fragment, rows, seenRows: fragment.physicalRows };
  /** Rows that were read, and are too few for a batch. */
  let rest: BatchRows | null = null;
  for await (const read of readRows(source, projection, selection, signal, true)) {
    const batch: BatchRows = rest === null ? read : joined(rest, read);
    const { columns, rowCount } = batch;
    rest = null;
    pages.goOn(read.columns);
    for (let start = 0; start < rowCount; ) {
      const count = Math.min(batchSize.rows, rowCount - start);
      const isWhole = start === 0 && count === rowCount;
      const cutOut = isWhole ? columns : columns.map((column) => sliceColumn(column, start, count));
      if (count < leastRows)
        rest = { columns: cutOut.map((column) => decodedColumn(column)), rowCount: count };
      else yield batchOf(cutOut, count);
      start += count;
    }
  }
  if (rest !== null) yield batchOf(rest.columns, rest.rowCount);
  pages.goOn([]);
}

const joined = (first: BatchRows, second: BatchRows): BatchRows => ({
  columns: first.columns.map((column, index) => concatColumns([column, second.columns[index]])),
  rowCount: first.rowCount + second.rowCount,
});

async function computeTimed(
  { scratch }: FragmentSource,
  meant: MeantBackfill,
  rows: InputRows,
  { batchSize, callsAtOnce, signal, onFailure }: ValuesOptions,
): Promise<ComputedRows> {
  const startMs = performance.now();
  try {
    const lent = new Loan(scratch);
    const lend = (byteLength: number): Uint8Array => lent.lend(byteLength);
    const calls = { lend, rowsAtOnce: callsAtOnce, signal, onFailure };
    const column = await meant.compute(rows, calls);
    batchSize.note(rows.offsets.length, performance.now() - startMs);
    return { offsets: rows.offsets, column, release: () => lent.giveBack() };
  } catch (error) {
    onFailure(error);
    throw error;
  }
}
