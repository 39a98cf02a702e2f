/**
 * Computes the values of one fragment. It cuts the rows into tasks, and tasks into batches. Some batches run
 * at a time. Computed values are saved to checkpoint files now and then; rows that earlier runs saved are not
 * computed again.
 */

import { DataType } from "apache-arrow";
import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { type Limit, mapAhead, runParallel } from "../../async/parallel.js";
import { performance } from "../../async/timers.js";
import { lowerBound } from "../../bytes/search.js";
import { hasSharedMemory, isSharedMemory } from "../../bytes/sharedCopy.js";
import { CorruptFileError } from "../../errors.js";
import { trimmedColumn } from "../../file/writing/heldColumns.js";
import type { DataFragment } from "../../format/table.js";
import { Arena, type Lender } from "../../io/memory/arena.js";
import { unfilledBytes } from "../../platform/native.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import type { BatchRows } from "../../query/scan/scan.js";
import { TransactionConflictError } from "../../table/commit/conflictError.js";
import { readRows } from "../changes/readRows.js";
import type { BatchSize } from "./batchSize.js";
import { CheckpointGoneError, type OffsetSpan } from "./checkpointFiles.js";
import type { ComputedRows } from "./computedRows.js";
import { ComputedValues, type ComputedValuesOptions } from "./computedValues.js";
import type { EarlyFile } from "./earlyFile.js";
import type { InputRows } from "./functionCalls.js";
import type { ResolvedBackfill } from "./resolvedBackfill.js";

/** Minimum rows that are read at a time. Small, so that threads can decode the next rows meanwhile. */
const READ_ROWS = 2048;

export interface ValuesOptions extends ComputedValuesOptions {
  /** Digest of the fragment's content. */
  readonly content: string;
  readonly batchSize: BatchSize;
  /** Minimum rows of a batch, except for the last one. */
  readonly leastRows: number;
  /** Maximum rows of a task. */
  readonly taskRows: number;
  /** Bounds the running tasks of all fragments. */
  readonly taskLimit: Limit;
  /** Tasks of one fragment that are prepared at a time. */
  readonly tasksAtOnce: number;
  /** Calls that run at a time in a task. If the function computes row by row, a call is a row. */
  readonly callsAtOnce: number;
  /** Gets the values at once if one task computes all rows of the fragment; null: no file does. */
  readonly early: EarlyFile | null;
  /** Range of the rows, if other tasks compute the rest of the fragment. */
  readonly span?: OffsetSpan;
  /** Lends memory for the values until their commit; null: the garbage collector frees it. */
  readonly scratch: Lender | null;
  readonly signal: AbortSignal;
  /** Called with the number of further rows that have a value, and true if an earlier run computed them. */
  readonly onRows: (count: number, isRestored: boolean) => void;
  /** Rejects if the values are not wanted any more. */
  readonly requireWanted: () => Promise<void>;
}

/** @returns the values of these rows, and maybe of others; some are saved, or are being saved */
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
    // Distinct rows of this number are all rows of the fragment, in order.
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

/** True if the fragment must be filled again. */
export const isConflict = (error: unknown): boolean =>
  error instanceof CheckpointGoneError || error instanceof TransactionConflictError;

/**
 * Does a part of the work. Before it waits for other calls, it reports an error that fails the whole work.
 */
async function telling<Result>(
  { onFailure }: Pick<ValuesOptions, "onFailure">,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    // Apparent damage may be a version that is gone.
    if (!isConflict(error) && !(error instanceof CorruptFileError)) onFailure(error);
    throw error;
  }
}

/** Returns the rows that earlier runs have not saved, cut into tasks. */
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
      // Its rows were deleted when it was saved, and restored since.
      await saved.remove();
      continue;
    }
    if (start > next) missing.push(wanted.subarray(next, start));
    next = end;
    values.addSaved(saved);
    onRows(end - start, true);
  }
  if (next < wanted.length) missing.push(wanted.subarray(next));
  return missing.flatMap((rows) => cut(rows, taskRows));
}

function* taskStarts(rowCount: number, taskRows: number): Generator<number> {
  for (let start = 0; start < rowCount; start += taskRows) yield start;
}

const cut = (rows: Uint32Array, taskRows: number): Uint32Array[] =>
  Array.from(taskStarts(rows.length, taskRows), (start) => rows.subarray(start, start + taskRows));

/** True if a list of ascending numbers contains all numbers of another. */
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
  /** Gets the values at once; null: no file does. */
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
  const compute = (rows: InputRows): Promise<ComputedRows> =>
    telling(options, async () => {
      const computed = await computeTimed(resolved, rows, options);
      // First: `values` may release the memory at once, and the file still has to copy it.
      if (task.early !== null) computed.memory?.share();
      // Not awaited in order: earlier calls may still run.
      await values.add(computed);
      return computed;
    });
  const batches = mapAhead(inputBatches(source, resolved, task, options), compute, {
    weigh: () => 1,
    maxWeight: resolved.isByRow ? 1 : callsAtOnce,
    signal,
  });
  for await (const computed of batches) {
    await telling(options, async () => {
      await task.early?.add(computed);
      onRows(computed.offsets.length, false);
      await requireWanted();
    });
    await yieldToEventLoop();
  }
}

async function* inputBatches(
  source: FragmentSource,
  { projection, isByRow }: ResolvedBackfill,
  { fragment, rows }: Task,
  { batchSize, leastRows, signal }: ValuesOptions,
): AsyncGenerator<InputRows> {
  let slot = 0;
  // A function of rows gets texts as strings, one row at a time.
  const areStrings = projection.schema.fields.map(
    ({ type }) => isByRow && (DataType.isUtf8(type) || DataType.isLargeUtf8(type)),
  );
  const batchOf = (columns: readonly Column[], count: number): InputRows => {
    slot += count;
    return {
      fragmentId: fragment.id,
      offsets: rows.subarray(slot - count, slot),
      columns: columns.map((column, index) => (areStrings[index] ? column : keptColumn(column))),
    };
  };
  const selection = { fragment, rows, seenRows: fragment.physicalRows };
  /** Rows that were read and are too few for a batch. */
  let rest: BatchRows | null = null;
  const scannedRows = Math.max(1, Math.floor(READ_ROWS / batchSize.most)) * batchSize.most;
  const reading = { batchRows: scannedRows, lendsTexts: true };
  for await (const read of readRows(source, projection, selection, signal, reading)) {
    const batch: BatchRows = rest === null ? read : joined(rest, read);
    const { columns, rowCount } = batch;
    rest = null;
    for (let start = 0; start < rowCount; ) {
      const count = Math.min(batchSize.rows, rowCount - start);
      const isWhole = start === 0 && count === rowCount;
      const cutOut = isWhole ? columns : columns.map((column) => sliceColumn(column, start, count));
      if (count < leastRows) rest = { columns: cutOut.map(keptColumn), rowCount: count };
      else yield batchOf(cutOut, count);
      start += count;
    }
  }
  if (rest !== null) yield batchOf(rest.columns, rest.rowCount);
}

/** Returns the column with memory of its own in place of memory that threads lend. */
const keptColumn = (column: Column): Column =>
  hasSharedMemory(column) ? trimmedColumn(column, ownBytes) : column;

function ownBytes(bytes: Uint8Array): Uint8Array {
  if (!isSharedMemory(bytes.buffer)) return bytes;
  const copy = unfilledBytes(bytes.length);
  copy.set(bytes);
  return copy;
}

const joined = (first: BatchRows, second: BatchRows): BatchRows => ({
  columns: first.columns.map((column, index) => concatColumns([column, second.columns[index]])),
  rowCount: first.rowCount + second.rowCount,
});

async function computeTimed(
  resolved: ResolvedBackfill,
  rows: InputRows,
  { batchSize, callsAtOnce, scratch, signal, onFailure }: ValuesOptions,
): Promise<ComputedRows> {
  const startMs = performance.now();
  const memory = scratch === null ? null : new Arena(scratch);
  const calls = { rowsAtOnce: callsAtOnce, memory, signal, onFailure };
  const column = await resolved.compute(rows, calls);
  batchSize.note(rows.offsets.length, performance.now() - startMs);
  return { offsets: rows.offsets, column, memory };
}
