/**
 * Reads the rows that a filter selects. The columns that the filter needs are read first, fragment by fragment. The
 * others are read for the rows that it selects only, or for all rows of the fragment where that is quicker.
 *
 * Rows come in the order in which they lie on disk. Offset and limit count the rows that the filter selects.
 */

import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { concatWords } from "../../bytes/concatWords.js";
import type { DataFragment } from "../../format/table.js";
import type { MemoryShare } from "../../memory.js";
import { readBlobs } from "../../rows/blobValues.js";
import { takeColumns } from "../../rows/takeColumns.js";
import type { RowsPlan } from "../columns/columnReads.js";
import { type FragmentSource, openFragment } from "../columns/fragmentColumns.js";
import { addressesOf } from "../columns/rowAddresses.js";
import {
  type BatchRows,
  physicalRow,
  pickScanned,
  type RowPlaces,
  type ScanRequest,
  scanColumns,
} from "../scan/scan.js";
import { type FilterRequest, selectedBatches } from "./filter.js";

/** Maximum rows of a batch of all rows of a fragment. */
const DENSE_ROWS = 65_536;
/** Rows that are read at once where only those are read that the filter selects. */
const TAKEN_ROWS = 32_768;
/** All rows are read where at least this part of them is wanted. */
const DENSE_PART = 1 / 8;
/** Prefix of the names of uses of memory by the rows, beside those of the filter's columns. */
const OF_ROWS = "rows: ";

type RowsRequest = ScanRequest & FilterRequest;

/** The columns of the selected rows, with their addresses last. */
export async function* filteredRows(
  source: FragmentSource,
  request: RowsRequest,
): AsyncGenerator<BatchRows, void, undefined> {
  const covered = coveredOutputs(request.projection, request.filter.projection);
  if (covered !== null) {
    const byId = new Map(request.fragments.map((fragment) => [fragment.id, fragment]));
    for await (const batch of selectedBatches(source, request)) {
      const { columns, rows, rowCount, places, seenRows } = batch;
      if (!batch.isRead) {
        const fragment = byId.get(places.fragmentId);
        const found = physicalRows(places, rows, rowCount);
        if (fragment !== undefined) yield* readRows(source, request, { fragment, rows: found, seenRows });
        continue;
      }
      const wanted = covered.map((output) => columns[output]);
      yield {
        columns: rows === null ? wanted : wanted.map((column) => takeColumn(column, rows)),
        rowCount: rows === null ? rowCount : rows.length,
      };
    }
    return;
  }
  const rows = readSelected(source, request);
  yield* request.observer?.rows("select", rows) ?? rows;
}

async function* readSelected(
  source: FragmentSource,
  request: RowsRequest,
): AsyncGenerator<BatchRows, void, undefined> {
  const own = request.observer?.source("select", source) ?? source;
  for await (const selection of selections(source, request)) yield* readRows(own, request, selection);
}

const readRows = (source: FragmentSource, request: RowsRequest, selection: Selection) =>
  isDense(selection.rows, selection.seenRows, request.projection)
    ? scanSelected(source, request, selection)
    : takeSelected(source, request.projection, selection, request.signal);

/**
 * The outputs of the filter's plan that hold those of another and the addresses; null where the filter does not read all
 * of them.
 */
export function coveredOutputs(wanted: RowsPlan, own: RowsPlan): number[] | null {
  if (wanted.hasBlobs) return null;
  // The leaves and the depth tell one output from another: a struct and its only member have the same leaves.
  const keyOf = ({ outputs, leaves }: RowsPlan, output: number) =>
    `${outputs[output].members.length}:${outputs[output].leaves.map((leaf) => leaves[leaf].fieldId)}`;
  const places = new Map(own.outputs.map((_, output) => [keyOf(own, output), output]));
  const covered = wanted.outputs.map((_, output) => places.get(keyOf(wanted, output)));
  const found = covered.filter((output) => output !== undefined);
  return found.length === covered.length ? [...found, own.outputs.length] : null;
}

/** Selected rows of one fragment. */
export interface Selection {
  readonly fragment: DataFragment;
  /** Physical offsets, ascending. */
  readonly rows: Uint32Array;
  /** Rows that the filter looked at. */
  readonly seenRows: number;
}

/** Whether wanted rows are so many of `rowCount` that all are read, and the others left out. */
export const isDense = (rows: Uint32Array, rowCount: number, plan: RowsPlan): boolean =>
  rows.length >= rowCount * DENSE_PART && !plan.hasBlobs;

/** The rows that a filter selects, fragment by fragment; fragments without any are left out. */
export function selectedRows(
  source: FragmentSource,
  request: FilterRequest,
): AsyncGenerator<Selection, void, undefined> {
  return selections(source, { ...request, offset: 0, limit: Number.POSITIVE_INFINITY });
}

/** The selected rows of each fragment that has some. */
async function* selections(
  source: FragmentSource,
  request: FilterRequest & Pick<ScanRequest, "offset" | "limit">,
): AsyncGenerator<Selection, void, undefined> {
  const byId = new Map(request.fragments.map((fragment) => [fragment.id, fragment]));
  let fragmentId = -1;
  let parts: Uint32Array[] = [];
  let seenRows = 0;
  const selected = (): Selection[] => {
    const fragment = byId.get(fragmentId);
    return fragment === undefined ? [] : [{ fragment, seenRows, rows: concatWords(parts) }];
  };
  for await (const batch of selectedBatches(source, { ...request, isTransient: true })) {
    const { places, rowCount, rows } = batch;
    if (places.fragmentId !== fragmentId) {
      yield* selected();
      fragmentId = places.fragmentId;
      parts = [];
      seenRows = 0;
    }
    seenRows += batch.seenRows;
    parts.push(physicalRows(places, rows, rowCount));
  }
  yield* selected();
}

/** @param rows of the batch; null for all */
function physicalRows(places: RowPlaces, rows: Uint32Array | null, rowCount: number): Uint32Array {
  const physical = new Uint32Array(rows === null ? rowCount : rows.length);
  for (let index = 0; index < physical.length; index++) {
    physical[index] = physicalRow(places, rows === null ? index : rows[index]);
  }
  return physical;
}

/** Reads all rows of the fragment, and keeps those that are selected. */
function scanSelected(
  source: FragmentSource,
  request: RowsRequest,
  { fragment, rows }: Selection,
): AsyncGenerator<BatchRows, void, undefined> {
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

/** A share of memory in which the uses of reading rows stand beside those of reading the filter's columns. */
function ofRows(memory: MemoryShare): MemoryShare {
  return {
    spareBytes: (use) => memory.spareBytes(OF_ROWS + use),
    hold: (use, byteLength) => memory.hold(OF_ROWS + use, byteLength),
    note: (use, byteLength) => memory.note(OF_ROWS + use, byteLength),
  };
}

/** Reads the selected rows only. */
async function* takeSelected(
  source: FragmentSource,
  plan: RowsPlan,
  { fragment, rows }: Selection,
  signal: AbortSignal | undefined,
): AsyncGenerator<BatchRows, void, undefined> {
  const stored = await openFragment(source, fragment, plan.leaves);
  for (let start = 0; start < rows.length; start += TAKEN_ROWS) {
    const some = rows.slice(start, start + TAKEN_ROWS);
    const taken = await takeColumns(source, plan, stored, some, signal);
    const columns = plan.hasBlobs ? await readBlobs(source, plan, taken) : taken.columns;
    yield { columns: [...columns, addressesOf(fragment.id, some)], rowCount: some.length };
  }
}
