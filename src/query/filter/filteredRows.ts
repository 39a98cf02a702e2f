/**
 * Reads the rows that a filter selects. The columns that the filter needs are read first, fragment by
 * fragment, and what is wanted of them is kept where it is little. The others are read for the rows that it
 * selects only, or for all rows of the fragment where that is quicker.
 *
 * Rows come in the order in which they lie on disk. Offset and limit count the rows that the filter selects.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { leafOf } from "../../arrow/columns/spine.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { concatWords } from "../../bytes/concatWords.js";
import type { DataFragment } from "../../format/table.js";
import type { MemoryShare } from "../../memory.js";
import { readBlobs } from "../../rows/blobValues.js";
import { takeColumns } from "../../rows/takeColumns.js";
import type { RowsPlan } from "../columns/columnReads.js";
import { type FragmentSource, openFragment } from "../columns/fragmentColumns.js";
import {
  type BatchRows,
  physicalRow,
  pickScanned,
  type RowPlaces,
  rowAddresses,
  type ScanRequest,
  scanColumns,
} from "../scan/scan.js";
import { type FilterRequest, type SelectedBatch, selectedBatches } from "./filter.js";

/** Maximum rows of a batch of all rows of a fragment. */
const DENSE_ROWS = 65_536;
/** Rows that are read at once where only those are read that the filter selects. */
const TAKEN_ROWS = 32_768;
/** All rows are read where at least this part of them is wanted. */
const DENSE_PART = 1 / 8;
/**
 * Values of the filter's columns are kept up to so many bytes for a fragment; beyond that, they are read
 * again.
 */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** Name of this use of memory. */
const KEPT = "values of the filter's columns";
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
  const { projection } = request;
  const shared = sharedOutputs(projection, request.filter.projection).map((output, index) =>
    hasDictionary(projection, index) ? undefined : output,
  );
  const kept = shared.filter((output) => output !== undefined);
  const others = kept.length === 0 ? projection : withoutOutputs(projection, shared);
  try {
    for await (const selection of selections(source, request, kept)) {
      if (selection.kept === null) {
        yield* readRows(own, request, selection);
        continue;
      }
      let start = 0;
      for await (const { columns, rowCount } of readRows(
        own,
        { ...request, projection: others },
        selection,
      )) {
        const values = selection.kept.map((column) => sliceColumn(column, start, rowCount));
        start += rowCount;
        let [nextKept, nextOther] = [0, 0];
        const joined = shared.map((output) =>
          output === undefined ? columns[nextOther++] : values[nextKept++],
        );
        yield { columns: [...joined, ...columns.slice(nextOther)], rowCount };
      }
    }
  } finally {
    request.memory?.note(KEPT, 0);
  }
}

const readRows = (source: FragmentSource, request: RowsRequest, selection: Selection) =>
  isDense(selection.rows, selection.seenRows, request.projection)
    ? scanSelected(source, request, selection)
    : takeSelected(source, request.projection, selection, request.signal);

/** For each output of a plan, the one of the filter's plan that holds the same, if there is one. */
type SharedOutputs = readonly (number | undefined)[];

function sharedOutputs(wanted: RowsPlan, own: RowsPlan): SharedOutputs {
  if (wanted.hasBlobs) return wanted.outputs.map(() => undefined);
  // The leaves and the depth tell one output from another: a struct and its only member have the same leaves.
  const keyOf = ({ outputs, leaves }: RowsPlan, output: number) =>
    `${outputs[output].members.length}:${outputs[output].leaves.map((leaf) => leaves[leaf].fieldId)}`;
  const places = new Map(own.outputs.map((_, output) => [keyOf(own, output), output]));
  return wanted.outputs.map((_, output) => places.get(keyOf(wanted, output)));
}

/**
 * The outputs of the filter's plan that hold those of another and the addresses; null where the filter does
 * not read all of them.
 */
export function coveredOutputs(wanted: RowsPlan, own: RowsPlan): number[] | null {
  if (wanted.hasBlobs) return null;
  const found = sharedOutputs(wanted, own).filter((output) => output !== undefined);
  return found.length === wanted.outputs.length ? [...found, own.outputs.length] : null;
}

/**
 * Whether an output is made of columns whose type is a dictionary: their values may lie in memory of a batch.
 */
const hasDictionary = ({ outputs, leaves }: RowsPlan, output: number): boolean =>
  outputs[output].leaves.some((leaf) => leafOf(leaves[leaf].layout).kind === "dictionary");

/** The plan without the outputs that are shared, and without leaves that only these need. */
function withoutOutputs(plan: RowsPlan, shared: SharedOutputs): RowsPlan {
  const outputs = plan.outputs.filter((_, output) => shared[output] === undefined);
  const used = [...new Set(outputs.flatMap((output) => output.leaves))].sort((a, b) => a - b);
  return {
    leaves: used.map((leaf) => plan.leaves[leaf]),
    outputs: outputs.map((output) => ({
      ...output,
      leaves: output.leaves.map((leaf) => used.indexOf(leaf)),
    })),
    hasBlobs: plan.hasBlobs,
    withAddresses: plan.withAddresses,
  };
}

/** Selected rows of one fragment. */
export interface Selection {
  readonly fragment: DataFragment;
  /** Physical offsets, ascending. */
  readonly rows: Uint32Array;
  /** Rows that the filter looked at. */
  readonly seenRows: number;
}

/** With what is kept of them. */
interface KeptSelection extends Selection {
  /** Values of some of the filter's columns in these rows; null where they were not kept. */
  readonly kept: readonly Column[] | null;
}

/** Whether wanted rows are so many of `rowCount` that all are read, and the others left out. */
export const isDense = (rows: Uint32Array, rowCount: number, plan: RowsPlan): boolean =>
  rows.length >= rowCount * DENSE_PART && !plan.hasBlobs;

/** The rows that a filter selects, fragment by fragment; fragments without any are left out. */
export function selectedRows(
  source: FragmentSource,
  request: FilterRequest,
): AsyncGenerator<Selection, void, undefined> {
  return selections(source, { ...request, offset: 0, limit: Number.POSITIVE_INFINITY }, []);
}

/**
 * The selected rows of each fragment that has some.
 * @param keptOutputs of the filter's plan: those whose values are kept
 */
async function* selections(
  source: FragmentSource,
  request: FilterRequest & Pick<ScanRequest, "offset" | "limit">,
  keptOutputs: readonly number[],
): AsyncGenerator<KeptSelection, void, undefined> {
  const byId = new Map(request.fragments.map((fragment) => [fragment.id, fragment]));
  let fragmentId = -1;
  let parts: Uint32Array[] = [];
  let seenRows = 0;
  const kept = new KeptValues(keptOutputs, request.memory);
  const selected = (): KeptSelection[] => {
    const fragment = byId.get(fragmentId);
    if (fragment === undefined) return [];
    return [{ fragment, seenRows, rows: concatWords(parts), kept: kept.take() }];
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
    kept.add(batch);
  }
  yield* selected();
}

/**
 * Collects the values that some of the filter's columns have in the selected rows of a fragment, as long as
 * they are few.
 */
class KeptValues {
  readonly #outputs: readonly number[];
  readonly #memory: MemoryShare | undefined;
  #parts: Column[][];
  #bytes = 0;
  #isComplete = true;

  constructor(outputs: readonly number[], memory: MemoryShare | undefined) {
    this.#outputs = outputs;
    this.#memory = memory;
    this.#parts = outputs.map(() => []);
  }

  /** The batch may be overwritten afterwards. */
  add({ isRead, columns, rows, rowCount }: SelectedBatch): void {
    if (!this.#isComplete || this.#outputs.length === 0) return;
    // Where most rows are wanted, all are read at once, which is quicker than what is saved.
    if (!isRead || rows === null || rows.length >= rowCount * DENSE_PART) {
      this.#drop();
      return;
    }
    for (const [index, output] of this.#outputs.entries()) {
      // A column by itself may have the dictionary of its page, which lasts no longer than the batch.
      const taken = plainColumn(takeColumn(columns[output], rows));
      this.#parts[index].push(taken);
      this.#bytes += columnBytes(taken);
    }
    if (this.#bytes > MAX_KEPT_BYTES) this.#drop();
    this.#memory?.note(KEPT, this.#bytes);
  }

  #drop(): void {
    this.#isComplete = false;
    this.#parts = this.#outputs.map(() => []);
    this.#bytes = 0;
  }

  /** What was collected since the last call; null where it is not all. */
  take(): Column[] | null {
    const isComplete = this.#isComplete && this.#outputs.length > 0;
    const columns = isComplete ? this.#parts.map((parts) => concatColumns(parts)) : null;
    this.#drop();
    this.#isComplete = true;
    return columns;
  }
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
    const addresses = rowAddresses({ fragmentId: fragment.id, start: 0, picked: some }, some.length);
    yield { columns: [...columns, addresses], rowCount: some.length };
  }
}
