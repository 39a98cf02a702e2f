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
import { Slabs } from "../../io/memory/slabs.js";
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

/** Bytes of computed values of one piece of work that are in memory, saved or about to be. */
export const MAX_UNSAVED_BYTES = 32 * 1024 * 1024;

/**
 * Rows that are read at a time, unless a batch has more; else as many batches as they hold. Few: those that are read next may
 * have been decoded by a thread in the meantime.
 */
const READ_ROWS = 2048;

export interface ValuesOptions {
  readonly batchSize: BatchSize;
  /** Rows of a batch at least, while there are so many. */
  readonly leastRows: number;
  /** Rows of a piece of work. */
  readonly taskRows: number;
  /** Bounds the fragments of which values are computed; what was computed last may still be on its way to disk. */
  readonly fragments: Limit;
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
  const { fragments, tasks, tasksAtOnce, signal, early } = options;
  const parts: ComputedPart[] = [];
  /** Of each piece of work: while it is saved, others are computed, of this fragment or the next. */
  const savings: Promise<readonly ComputedPart[]>[] = [];
  const work = async (piece: Piece): Promise<ComputedPiece> => {
    const computed = await tasks.run(() => pieceOfWork(source, meant, piece, options));
    savings.push(computed.saved);
    return computed;
  };
  try {
    await fragments.run(async () => {
      const pieces = await missingPieces(meant, fragment, wanted, parts, options);
      const computed = mapAhead(pieces, work, { weigh: () => 1, maxWeight: tasksAtOnce, signal });
      let before: Promise<unknown> = Promise.resolve();
      for await (const { saved } of computed) {
        await before;
        before = saved;
      }
      early.complete();
    });
    for (const saved of savings) parts.push(...(await saved));
  } catch (error) {
    await Promise.allSettled(savings);
    throw error;
  }
  return parts.sort((a, b) => a.first - b.first);
}

/**
 * The pieces of work whose values earlier runs have not saved.
 * @param parts gets what they have saved
 */
async function missingPieces(
  meant: MeantBackfill,
  fragment: DataFragment,
  wanted: Uint32Array,
  parts: ComputedPart[],
  { checkpoints, taskRows, onRows, ...options }: ValuesOptions,
): Promise<Piece[]> {
  const content = await meant.sourceOf(fragment);
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
  return pieces.map((rows) => ({ fragment, content, rows, early }));
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

/** A piece of work whose values are computed. */
interface ComputedPiece {
  /** Its parts, once what is to be saved of them is saved. */
  readonly saved: Promise<readonly ComputedPart[]>;
}

async function pieceOfWork(
  source: FragmentSource,
  meant: MeantBackfill,
  piece: Piece,
  options: ValuesOptions,
): Promise<ComputedPiece> {
  const { checkpoints, callsAtOnce, flushMs, savesAll, signal, onRows } = options;
  const parts: ComputedPart[] = [];
  let unsaved: ComputedRows[] = [];
  let unsavedBytes = 0;
  let unsavedSinceMs = 0;
  /** The saving of what was computed before. */
  let saving: Promise<void> = Promise.resolve();
  /** Begins to save, once what was computed before is saved. */
  const save = async (): Promise<void> => {
    await saving;
    if (unsaved.length === 0) return;
    const rows = unsaved;
    unsaved = [];
    unsavedBytes = 0;
    saving = checkpoints.save(piece.content, rows).then(
      (part) => void parts.push(part),
      (error: unknown) => {
        unsaved = [...rows, ...unsaved];
        throw error;
      },
    );
    // The error is thrown where the next ones are to be saved, or at the end.
    saving.catch(() => undefined);
  };
  /** What is computed need not be computed again. The error that ended the work is the one that tells. */
  const rescue = async (): Promise<void> => {
    await saving.catch(() => undefined);
    saving = Promise.resolve();
    await save();
    await saving.catch(() => undefined);
  };
  const { workers, scratch } = source;
  // Threads make pages of shared memory without a copy.
  const values = new Slabs(workers !== undefined && workers.size > 0 ? scratch.shared : scratch, scratch);
  const batches = mapAhead(
    inputBatches(source, meant, piece, options),
    (rows) => computeTimed(values, meant, rows, options),
    { weigh: () => 1, maxWeight: meant.isByRow ? 1 : callsAtOnce, signal },
  );
  try {
    for await (const computed of batches) {
      if (unsaved.length === 0) unsavedSinceMs = performance.now();
      unsaved.push(computed);
      unsavedBytes += columnBytes(computed.column);
      // First: once they are saved, their memory is given back, unless the file has its share of it.
      const room = piece.early?.add(computed);
      const areOld = performance.now() - unsavedSinceMs >= flushMs;
      if (areOld || unsavedBytes >= mostUnsaved(computed, piece)) await save();
      // The next call begins when they are safe.
      if (areOld) await saving;
      await room;
      onRows(computed.offsets.length);
      await breathe();
    }
    values.end();
  } catch (error) {
    await rescue();
    throw error;
  }
  const finish = async (): Promise<readonly ComputedPart[]> => {
    try {
      if (savesAll) await save();
      await saving;
    } catch (error) {
      await rescue();
      throw error;
    }
    return unsaved.length === 0 ? parts : [...parts, partInMemory(unsaved)];
  };
  const saved = finish();
  // Looked at by whoever needs the parts.
  saved.catch(() => undefined);
  return { saved };
}

/**
 * Bytes of values from which on they are saved. Where a piece of work has more than may be in memory, half of these: while they
 * are saved, others are computed.
 */
function mostUnsaved({ offsets, column }: ComputedRows, { rows }: Piece): number {
  const expected = (columnBytes(column) / offsets.length) * rows.length;
  return expected <= MAX_UNSAVED_BYTES ? MAX_UNSAVED_BYTES : MAX_UNSAVED_BYTES / 2;
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
  const scannedRows = Math.max(1, Math.floor(READ_ROWS / batchSize.most)) * batchSize.most;
  const reading = { scannedRows, keepsCodes: true };
  for await (const read of readRows(source, projection, selection, signal, reading)) {
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
  values: Slabs,
  meant: MeantBackfill,
  rows: InputRows,
  { batchSize, callsAtOnce, signal, onFailure }: ValuesOptions,
): Promise<ComputedRows> {
  const startMs = performance.now();
  try {
    const lent = values.pieces();
    const calls = { lend: lent.lend, rowsAtOnce: callsAtOnce, signal, onFailure };
    const column = await meant.compute(rows, calls);
    batchSize.note(rows.offsets.length, performance.now() - startMs);
    return { offsets: rows.offsets, column, lent };
  } catch (error) {
    onFailure(error);
    throw error;
  }
}
