/**
 * Reads the rows that a filter selects. Reads the filter's columns first, fragment by fragment, and keeps the
 * selected values of them if they are few. Reads the other columns for the selected rows only, or for all
 * rows of the fragment if that is faster. Rows come in their order on disk. Offset and limit count selected
 * rows.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { leafOf } from "../../arrow/columns/spine.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { concatWords } from "../../bytes/concatWords.js";
import type { MemoryShare } from "../../memory.js";
import type { RowsPlan } from "../columns/columnReads.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { DENSE_PART, isDense, readChosenRows, type Selection, takeFragmentRows } from "../scan/chosenRows.js";
import type { RowsOfFragment } from "../scan/rowPlaces.js";
import { type BatchRows, physicalRow, type RowPlaces, type ScanRequest } from "../scan/scan.js";
import { type FilterRequest, lookedUpRows, type SelectedBatch, selectedBatches } from "./filter.js";

/**
 * Maximum bytes of kept values of the filter's columns per fragment; above it, these columns are read again.
 */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** Name of this use of memory. */
const KEPT = "values of the filter's columns";
/** Maximum rows of a fragment that are read without a stream. */
const FEW_ROWS = 64;
type RowsRequest = ScanRequest & FilterRequest;

/** Yields the columns of the selected rows, with their addresses last. */
export async function* filteredRows(source: FragmentSource, request: RowsRequest): AsyncGenerator<BatchRows> {
  yield* await openFiltered(source, request);
}

/**
 * Begins to read the selected rows, as {@link filteredRows}. A few rows that were looked up come as promises,
 * because a stream would take longer than reading them.
 */
export async function openFiltered(
  source: FragmentSource,
  request: RowsRequest,
): Promise<AsyncIterable<BatchRows> | Iterable<Promise<BatchRows>>> {
  const lookedUp = await lookedUpRows(source, request);
  if (lookedUp === null) return evaluatedRows(source, request);
  const selections = [...withinLimit(lookedUp, request)];
  // An index only estimates its rows: a value that is frequent in one page counts as one row.
  const isFew = ({ rows, seenRows }: Selection) =>
    rows.length <= FEW_ROWS && !isDense(rows, seenRows, request.projection);
  return selections.every(isFew)
    ? takenRows(source, request, selections)
    : chosenRows(source, request, selections);
}

function* takenRows(
  source: FragmentSource,
  { projection, signal }: RowsRequest,
  selections: readonly Selection[],
): Generator<Promise<BatchRows>> {
  for (const { fragment, rows } of selections)
    yield takeFragmentRows(source, projection, fragment, rows, signal);
}

async function* chosenRows(
  source: FragmentSource,
  request: RowsRequest,
  selections: readonly Selection[],
): AsyncGenerator<BatchRows> {
  for (const selection of selections) yield* readChosenRows(source, request, selection);
}

async function* evaluatedRows(source: FragmentSource, request: RowsRequest): AsyncGenerator<BatchRows> {
  const covered = coveredOutputs(request.projection, request.filter.projection);
  if (covered !== null) {
    const byId = new Map(request.fragments.map((fragment) => [fragment.id, fragment]));
    for await (const batch of selectedBatches(source, request)) {
      const { columns, rows, rowCount, places, seenRows } = batch;
      if (!batch.isRead) {
        const fragment = byId.get(places.fragmentId);
        const foundRows = physicalRows(places, rows, rowCount);
        if (fragment !== undefined)
          yield* readChosenRows(source, request, { fragment, rows: foundRows, seenRows });
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

async function* readSelected(source: FragmentSource, request: RowsRequest): AsyncGenerator<BatchRows> {
  const observed = request.observer?.source("select", source) ?? source;
  const { projection } = request;
  const shared = sharedOutputs(projection, request.filter.projection).map((output, index) =>
    hasDictionary(projection, index) ? undefined : output,
  );
  const kept = shared.filter((output) => output !== undefined);
  const others = kept.length === 0 ? projection : withoutOutputs(projection, shared);
  try {
    for await (const selection of selections(source, request, kept)) {
      if (selection.kept === null) {
        yield* readChosenRows(observed, request, selection);
        continue;
      }
      let start = 0;
      for await (const { columns, rowCount } of readChosenRows(
        observed,
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

/** For each output of a plan, the output of the filter's plan with the same values, if there is one. */
type SharedOutputs = readonly (number | undefined)[];

export function sharedOutputs(wanted: RowsPlan, filterPlan: RowsPlan): SharedOutputs {
  if (wanted.hasBlobs) return wanted.outputs.map(() => undefined);
  // Leaves and depth identify an output: a struct and its only member have the same leaves.
  const keyOf = ({ outputs, leaves }: RowsPlan, output: number) =>
    `${outputs[output].members.length}:${outputs[output].leaves.map((leaf) => leaves[leaf].fieldId)}`;
  const places = new Map(filterPlan.outputs.map((_, output) => [keyOf(filterPlan, output), output]));
  return wanted.outputs.map((_, output) => places.get(keyOf(wanted, output)));
}

/** Returns the filter's outputs that hold the wanted ones and the addresses; null if some are missing. */
export function coveredOutputs(wanted: RowsPlan, filterPlan: RowsPlan): number[] | null {
  if (wanted.hasBlobs) return null;
  const outputs = sharedOutputs(wanted, filterPlan).filter((output) => output !== undefined);
  return outputs.length === wanted.outputs.length ? [...outputs, filterPlan.outputs.length] : null;
}

/** True if an output has columns of dictionary type: their values may lie in memory of a batch. */
const hasDictionary = ({ outputs, leaves }: RowsPlan, output: number): boolean =>
  outputs[output].leaves.some((leaf) => leafOf(leaves[leaf].layout).kind === "dictionary");

/** Returns the plan without the shared outputs, and without leaves that only these need. */
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

/** Selected rows with some of their values. */
interface KeptSelection extends Selection {
  /** Values of some of the filter's columns in these rows; null if they were not kept. */
  readonly kept: readonly Column[] | null;
}

/** Yields the rows that a filter selects, fragment by fragment. Leaves out fragments without such rows. */
export async function* selectedRows(
  source: FragmentSource,
  request: FilterRequest,
): AsyncGenerator<Selection> {
  const all = { ...request, offset: 0, limit: Number.POSITIVE_INFINITY };
  const lookedUp = await lookedUpRows(source, request);
  yield* lookedUp === null ? selections(source, all, []) : withinLimit(lookedUp, all);
}

/** Yields rows that were looked up, from the offset on and up to the limit. */
function* withinLimit(
  lookedUp: readonly RowsOfFragment[],
  { offset, limit }: Pick<ScanRequest, "offset" | "limit">,
): Generator<Selection> {
  let skip = offset;
  let left = limit;
  for (const { fragment, rows } of lookedUp) {
    const some = rows.subarray(Math.min(skip, rows.length), Math.min(skip + left, rows.length));
    skip -= Math.min(skip, rows.length);
    left -= some.length;
    if (some.length > 0) yield { fragment, rows: some, seenRows: fragment.physicalRows };
  }
}

/** Yields the selected rows of each fragment, with the values of `keptOutputs` of the filter's plan. */
async function* selections(
  source: FragmentSource,
  request: FilterRequest & Pick<ScanRequest, "offset" | "limit">,
  keptOutputs: readonly number[],
): AsyncGenerator<KeptSelection> {
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

/** Collects values of the filter's columns in the selected rows of a fragment, while they are few. */
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

  /** Copies what it keeps: the batch may be overwritten afterwards. */
  add({ isRead, columns, rows, rowCount }: SelectedBatch): void {
    if (!this.#isComplete || this.#outputs.length === 0) return;
    // If most rows are wanted, reading all rows at once is faster.
    if (!isRead || rows === null || rows.length >= rowCount * DENSE_PART) {
      this.#drop();
      return;
    }
    for (const [index, output] of this.#outputs.entries()) {
      // The dictionary of a page is valid only as long as the batch.
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

  /** Returns the values since the last call; null if some are missing. */
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
