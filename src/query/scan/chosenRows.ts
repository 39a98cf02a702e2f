/** Reads chosen rows of a fragment: only these, or all rows of the fragment if that is faster. */

import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { DataFragment } from "../../format/table.js";
import type { MemoryShare } from "../../memory.js";
import { blobReading } from "../../rows/readColumns.js";
import { takeColumns } from "../../rows/takeColumns.js";
import type { RowsPlan } from "../columns/columnReads.js";
import { type FragmentSource, openFragment } from "../columns/fragmentColumns.js";
import {
  type BatchRows,
  physicalRow,
  type RowPlaces,
  rowAddresses,
  type ScannedRows,
  type ScanRequest,
  scanColumns,
} from "./scan.js";

/** Rows that are read at once if only some rows of a fragment are. */
const TAKEN_ROWS = 32_768;
/** Maximum rows of a batch of all rows of a fragment. */
const DENSE_ROWS = 65_536;
/** Fraction of selected rows from which on all rows are read. */
export const DENSE_PART = 1 / 8;
/**
 * Prefix for the names of the memory uses of reading rows: reading the filter's columns has the same uses.
 */
const OF_ROWS = "rows: ";

type ReadRequest = Pick<ScanRequest, "projection" | "readAhead" | "memory" | "signal">;

/** Rows of one fragment. */
export interface Selection {
  readonly fragment: DataFragment;
  /** Physical offsets, ascending. */
  readonly rows: Uint32Array;
  /** Number of rows that were read to choose these. */
  readonly seenRows: number;
}

/** True if so large a part of the rows is wanted that reading all of them is faster. */
export const isDense = (rows: Uint32Array, rowCount: number, plan: RowsPlan): boolean =>
  rows.length >= rowCount * DENSE_PART && !plan.hasBlobs;

/** Yields the chosen rows, in their order. */
export const readChosenRows = (source: FragmentSource, request: ReadRequest, selection: Selection) =>
  isDense(selection.rows, selection.seenRows, request.projection)
    ? scanSelected(source, request, selection)
    : takenBatches(source, request.projection, selection.fragment, selection.rows, request.signal);

/** Reads all rows of the fragment, and keeps the selected ones. */
function scanSelected(
  source: FragmentSource,
  request: ReadRequest,
  { fragment, rows }: Selection,
): AsyncGenerator<BatchRows> {
  const { projection, readAhead, memory, signal } = request;
  const batches = scanColumns(source, {
    fragments: [fragment],
    projection: { ...projection, withAddresses: true },
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: DENSE_ROWS,
    readAhead,
    memory: memory && ofRows(memory),
    signal,
  });
  return pickScanned(batches, rows);
}

/** Returns a share of memory for reading rows, beside that for reading the filter's columns. */
function ofRows(memory: MemoryShare): MemoryShare {
  return {
    spareBytes: (use) => memory.spareBytes(OF_ROWS + use),
    hold: (use, byteLength) => memory.hold(OF_ROWS + use, byteLength),
    note: (use, byteLength) => memory.note(OF_ROWS + use, byteLength),
  };
}

/** Yields some rows of a fragment, ascending, by reading only these. */
export async function* takenBatches(
  source: FragmentSource,
  plan: RowsPlan,
  fragment: DataFragment,
  rows: Uint32Array,
  signal: AbortSignal | undefined,
): AsyncGenerator<ScannedRows> {
  for (let start = 0; start < rows.length; start += TAKEN_ROWS)
    yield takeFragmentRows(source, plan, fragment, rows.slice(start, start + TAKEN_ROWS), signal);
}

/** Reads some rows of a fragment, ascending and few enough for one batch. */
export async function takeFragmentRows(
  source: FragmentSource,
  plan: RowsPlan,
  fragment: DataFragment,
  picked: Uint32Array,
  signal: AbortSignal | undefined,
): Promise<ScannedRows> {
  const stored = await openFragment(source, fragment, plan.leaves);
  const rowCount = picked.length;
  const places = { fragmentId: fragment.id, start: 0, picked };
  const taken = await takeColumns(source, plan, stored, picked, signal);
  const columns = plan.hasBlobs
    ? await (await blobReading.get()).readBlobs(source, plan, taken)
    : taken.columns;
  return { columns: [...columns, rowAddresses(places, rowCount)], rowCount, places };
}

/** Yields the rows of a fragment at ascending physical offsets. The batches must contain all of them. */
export async function* pickScanned(
  batches: AsyncIterable<ScannedRows>,
  wanted: Uint32Array,
): AsyncGenerator<BatchRows> {
  let next = 0;
  for await (const { columns, rowCount, places } of batches) {
    if (next === wanted.length) return;
    if (areAllWanted(places, rowCount, wanted, next)) {
      next += rowCount;
      yield { columns, rowCount };
      continue;
    }
    const rows = rowsAt(places, rowCount, wanted, next);
    const count = rows.length;
    if (count === 0) continue;
    next += count;
    const taken = count === rowCount ? columns : columns.map((column) => takeColumn(column, rows));
    yield { columns: taken, rowCount: count };
  }
}

/**
 * True if all rows of a gapless batch are wanted: then its first and last row are `rowCount - 1` apart in
 * `wanted`.
 */
const areAllWanted = ({ start, picked }: RowPlaces, rowCount: number, wanted: Uint32Array, next: number) =>
  picked === null &&
  rowCount > 0 &&
  wanted[next] === start &&
  wanted[next + rowCount - 1] === start + rowCount - 1;

/**
 * Returns the rows of a batch whose physical offsets are in the ascending list `wanted`, from index `next`
 * on.
 */
function rowsAt(places: RowPlaces, rowCount: number, wanted: Uint32Array, next: number): Uint32Array {
  const rows = new Uint32Array(Math.min(rowCount, wanted.length - next));
  let count = 0;
  for (let row = 0, index = next; row < rowCount && index < wanted.length; ) {
    const ahead = wanted[index] - physicalRow(places, row);
    if (ahead === 0) {
      rows[count++] = row;
      index++;
    }
    row += places.picked === null && ahead > 0 ? ahead : 1;
  }
  return rows.subarray(0, count);
}
