/**
 * Computes the values of one fragment. Its rows are cut into tasks, and these into batches, of which some are
 * under way at a time. What is computed is saved to checkpoint files from time to time; rows that earlier
 * runs have saved are not computed again.
 */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { type Limit, mapAhead, runParallel } from "../../async/parallel.js";
import { performance } from "../../async/timers.js";
import { lowerBound } from "../../bytes/search.js";
import { CorruptFileError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { Arena } from "../../io/memory/arena.js";
import { Slabs } from "../../io/memory/slabs.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import type { BatchRows } from "../../query/scan/scan.js";
import { TransactionConflictError } from "../../table/commit/conflict.js";
import { readRows } from "../changes/readRows.js";
import type { BatchSize } from "./batchSize.js";
import { CheckpointGoneError, type OffsetSpan } from "./checkpointFiles.js";
import type { ComputedRows } from "./computedRows.js";
import { ComputedValues, type ComputedValuesOptions } from "./computedValues.js";
import type { EarlyFile } from "./earlyFile.js";
import type { InputRows } from "./functionCalls.js";
import type { ResolvedBackfill } from "./resolvedBackfill.js";

/**
 * Rows that are read at a time, unless a batch has more; else as many batches as they hold. Few: those that
 * are read next may have been decoded by a thread in the meantime.
 */
const READ_ROWS = 2048;

export interface ValuesOptions extends ComputedValuesOptions {
  /** Digest of the fragment's content. */
  readonly content: string;
  readonly batchSize: BatchSize;
  /** Rows of a batch at least, while there are so many. */
  readonly leastRows: number;
  /** Rows of a task. */
  readonly taskRows: number;
  /** Bounds the tasks under way, of all fragments. */
  readonly taskLimit: Limit;
  /** Tasks of one fragment that are prepared at a time. */
  readonly tasksAtOnce: number;
  /** Calls, or rows of a function that computes row by row, under way in a task. */
  readonly callsAtOnce: number;
  /**
   * Gets the values as they come, where all rows of the fragment are computed in one task; null: nothing
   * does.
   */
  readonly early: EarlyFile | null;
  /** Range of the rows, where others compute the rest of the fragment meanwhile. */
  readonly span?: OffsetSpan;
  readonly signal: AbortSignal;
  /** Told of rows that have a value now. */
  readonly onRows: (count: number) => void;
  /** Rejects where the values are of no use any more. */
  readonly requireWanted: () => Promise<void>;
}

/**
 * @param wanted physical offsets of the rows to compute, ascending
 * @returns the values of them all, and maybe of others; some are saved, or on their way to disk
 */
export async function fragmentValues(
  source: FragmentSource,
  resolved: ResolvedBackfill,
  fragment: DataFragment,
  wanted: Uint32Array,
  options: ValuesOptions,
): Promise<ComputedValues> {
  const { content, taskLimit, tasksAtOnce, signal, early } = options;
  const values = new ComputedValues(content, wanted.length, options);
  try {
    const missing = await missingRows(fragment, wanted, values, options);
    // As many rows as the fragment has are all of them, in their order.
    const isWhole = missing[0]?.length === fragment.physicalRows;
    const tasks = missing.map((rows): Task => ({ fragment, rows, early: isWhole ? early : null }));
    const compute = (index: number): Promise<void> =>
      telling(options, () =>
        taskLimit.run(() => computeTask(source, resolved, tasks[index], values, options)),
      );
    await runParallel(tasks.length, tasksAtOnce, compute, signal);
    early?.complete();
    return values;
  } catch (error) {
    await values.rescue();
    throw error;
  }
}

/** True if an error means that a fragment has to be done again. */
export const isConflict = (error: unknown): boolean =>
  error instanceof CheckpointGoneError || error instanceof TransactionConflictError;

/**
 * Does a part of the work. An error that fails all of it is told before other calls and tasks are waited for.
 */
async function telling<Result>(
  { onFailure }: Pick<ValuesOptions, "onFailure">,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    // What seems to be damage may be a version that is gone.
    if (!isConflict(error) && !(error instanceof CorruptFileError)) onFailure(error);
    throw error;
  }
}

/**
 * The rows whose values earlier runs have not saved, cut into tasks.
 * @param wanted physical offsets of the rows to compute, ascending
 * @param values gets what earlier runs have saved
 */
export async function missingRows(
  fragment: DataFragment,
  wanted: Uint32Array,
  values: ComputedValues,
  options: Pick<ValuesOptions, "content" | "checkpoints" | "taskRows" | "onRows" | "span">,
): Promise<Uint32Array[]> {
  const { content, checkpoints, taskRows, onRows, span } = options;
  const missing: Uint32Array[] = [];
  let next = 0;
  for (const saved of await checkpoints.recover(content, fragment.physicalRows, span)) {
    const start = lowerBound(wanted, saved.first);
    const end = lowerBound(wanted, saved.last + 1);
    if (!holdsAll(saved.offsets, wanted.subarray(start, end))) {
      // Rows that were deleted when it was saved, and are back.
      await saved.remove();
      continue;
    }
    if (start > next) missing.push(wanted.subarray(next, start));
    next = end;
    values.addSaved(saved);
    onRows(end - start);
  }
  if (next < wanted.length) missing.push(wanted.subarray(next));
  return missing.flatMap((rows) => cut(rows, taskRows));
}

function* taskStarts(rowCount: number, taskRows: number): Generator<number> {
  for (let start = 0; start < rowCount; start += taskRows) yield start;
}

const cut = (rows: Uint32Array, taskRows: number): Uint32Array[] =>
  Array.from(taskStarts(rows.length, taskRows), (start) => rows.subarray(start, start + taskRows));

/** True if all of some ascending numbers are among others. */
function holdsAll(numbers: Uint32Array, wanted: Uint32Array): boolean {
  let index = 0;
  for (const each of wanted) {
    while (index < numbers.length && numbers[index] < each) index++;
    if (numbers[index] !== each) return false;
  }
  return true;
}

interface Task {
  readonly fragment: DataFragment;
  readonly rows: Uint32Array;
  /** Gets the values as they come; null where nothing does. */
  readonly early: EarlyFile | null;
}

async function computeTask(
  source: FragmentSource,
  resolved: ResolvedBackfill,
  task: Task,
  values: ComputedValues,
  options: ValuesOptions,
): Promise<void> {
  const { callsAtOnce, signal, onRows, requireWanted } = options;
  const { workers, scratch } = source;
  // Threads make pages of shared memory without a copy.
  const memory = new Slabs(workers !== undefined && workers.size > 0 ? scratch.shared : scratch, scratch);
  const compute = (rows: InputRows): Promise<ComputedRows> =>
    telling(options, async () => {
      const computed = await computeTimed(memory, resolved, rows, options);
      // First: saving them releases their memory, unless the file owns it too.
      if (task.early !== null) computed.arena?.share();
      // At once, though calls before this one may still be under way.
      await values.add(computed);
      return computed;
    });
  const batches = mapAhead(inputBatches(source, resolved, task, options), compute, {
    weigh: () => 1,
    maxWeight: resolved.isByRow ? 1 : callsAtOnce,
    signal,
  });
  try {
    for await (const computed of batches) {
      await telling(options, async () => {
        await task.early?.add(computed);
        onRows(computed.offsets.length);
        await requireWanted();
      });
      await yieldToEventLoop();
    }
  } finally {
    memory.end();
  }
}

async function* inputBatches(
  source: FragmentSource,
  { projection }: ResolvedBackfill,
  { fragment, rows }: Task,
  { batchSize, leastRows, signal }: ValuesOptions,
): AsyncGenerator<InputRows, void, undefined> {
  let slot = 0;
  const batchOf = (columns: readonly Column[], count: number): InputRows => {
    slot += count;
    return {
      fragmentId: fragment.id,
      offsets: rows.subarray(slot - count, slot),
      columns,
    };
  };
  const selection = { fragment, rows, seenRows: fragment.physicalRows };
  /** Rows that were read, and are too few for a batch. */
  let rest: BatchRows | null = null;
  const scannedRows = Math.max(1, Math.floor(READ_ROWS / batchSize.most)) * batchSize.most;
  for await (const read of readRows(source, projection, selection, signal, { scannedRows })) {
    const batch: BatchRows = rest === null ? read : joined(rest, read);
    const { columns, rowCount } = batch;
    rest = null;
    for (let start = 0; start < rowCount; ) {
      const count = Math.min(batchSize.rows, rowCount - start);
      const isWhole = start === 0 && count === rowCount;
      const cutOut = isWhole ? columns : columns.map((column) => sliceColumn(column, start, count));
      if (count < leastRows) rest = { columns: cutOut, rowCount: count };
      else yield batchOf(cutOut, count);
      start += count;
    }
  }
  if (rest !== null) yield batchOf(rest.columns, rest.rowCount);
}

const joined = (first: BatchRows, second: BatchRows): BatchRows => ({
  columns: first.columns.map((column, index) => concatColumns([column, second.columns[index]])),
  rowCount: first.rowCount + second.rowCount,
});

async function computeTimed(
  memory: Slabs,
  resolved: ResolvedBackfill,
  rows: InputRows,
  { batchSize, callsAtOnce, signal, onFailure }: ValuesOptions,
): Promise<ComputedRows> {
  const startMs = performance.now();
  const arena = new Arena(memory);
  const lend = (byteLength: number): Uint8Array => arena.lend(byteLength);
  const calls = { lend, rowsAtOnce: callsAtOnce, signal, onFailure };
  const column = await resolved.compute(rows, calls);
  batchSize.note(rows.offsets.length, performance.now() - startMs);
  return { offsets: rows.offsets, column, arena };
}
