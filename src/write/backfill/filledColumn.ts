/** The column of a fragment after a backfill: its old values, overlaid with the computed ones. */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { DataFragment } from "../../format/table.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { resolveProjection } from "../../query/columns/projection.js";
import { physicalRow, type ScannedRows, scanColumns } from "../../query/scan/scan.js";
import { STREAMED } from "../../rows/readAhead.js";
import type { TableField } from "../../schema/schema.js";
import { physicalRows } from "../columns/physicalRows.js";
import { CheckpointGoneError } from "./checkpointFiles.js";
import type { ComputedPart, ComputedRows } from "./computedRows.js";

const BATCH_ROWS = 8192;
const BATCH_BYTES = 16 * 1024 * 1024;

export interface FilledColumnOptions {
  /** True if structs may be null; files of 2.0 have no null structs. */
  readonly nullStructs: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Yields one value for each physical row of the fragment. */
export async function* filledColumn(
  source: FragmentSource,
  fragment: DataFragment,
  field: TableField,
  parts: readonly ComputedPart[],
  { nullStructs, signal }: FilledColumnOptions,
): AsyncGenerator<InputBatch> {
  // Parts don't overlap, so this number of rows means all rows.
  if (parts.reduce((sum, { rowCount }) => sum + rowCount, 0) === fragment.physicalRows) {
    yield* wholeRows(parts);
    return;
  }
  const projection = resolveProjection([field], new Map(), undefined);
  const rows = scanColumns(source, {
    fragments: [fragment],
    projection,
    batchRows: BATCH_ROWS,
    batchBytes: BATCH_BYTES,
    readAhead: STREAMED,
    signal,
  });
  const deleted = fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
  const places = { rowCount: fragment.physicalRows, deleted, batchRows: BATCH_ROWS, nullStructs };
  yield* physicalRows(overlaid(rows, parts), [field], places);
}

/** Yields the rows of parts that cover a whole fragment. */
async function* wholeRows(parts: readonly ComputedPart[]): AsyncGenerator<InputBatch> {
  let next = 0;
  for await (const { offsets, column } of rowsOf(parts)) {
    const { length } = offsets;
    // The file was replaced since its part was listed.
    if (length === 0 || offsets[0] !== next || offsets[length - 1] !== next + length - 1) {
      throw new CheckpointGoneError(`values for row ${next} are gone from the checkpoints`);
    }
    next += length;
    yield { columns: [column], rowCount: length };
    await yieldToEventLoop();
  }
}

async function* overlaid(
  batches: AsyncIterable<ScannedRows>,
  parts: readonly ComputedPart[],
): AsyncGenerator<InputBatch> {
  const computed = new ComputedReader(parts);
  try {
    for await (const { columns, rowCount, places } of batches) {
      const offsets = new Uint32Array(rowCount);
      for (let row = 0; row < rowCount; row++) offsets[row] = physicalRow(places, row);
      yield { columns: [await computed.over(columns[0], offsets)], rowCount };
      await yieldToEventLoop();
    }
  } finally {
    await computed.close();
  }
}

/** Reads computed rows in the order of their offsets. */
class ComputedReader {
  readonly #rows: AsyncGenerator<ComputedRows>;
  /** Rows that were read and not used up. */
  #current: ComputedRows | null = null;
  #next = 0;

  constructor(parts: readonly ComputedPart[]) {
    this.#rows = rowsOf(parts);
  }

  /**
   * Returns the values of rows: the computed value, or else the old one.
   * @param offsets of the rows, ascending; above those of the call before
   */
  async over(before: Column, offsets: Uint32Array): Promise<Column> {
    const taken = Uint32Array.from(offsets.keys());
    const columns: Column[] = [before];
    let rowCount = before.length;
    let index = 0;
    while (index < offsets.length) {
      if (this.#current === null) {
        const { done, value } = await this.#rows.next();
        if (done === true) break;
        this.#current = value;
        this.#next = 0;
      }
      const { offsets: currentOffsets, column } = this.#current;
      let isUsed = false;
      while (index < offsets.length && this.#next < currentOffsets.length) {
        const ahead = currentOffsets[this.#next] - offsets[index];
        if (ahead === 0) {
          taken[index] = rowCount + this.#next;
          isUsed = true;
        }
        if (ahead <= 0) this.#next++;
        if (ahead >= 0) index++;
      }
      if (isUsed) {
        columns.push(column);
        rowCount += column.length;
      }
      if (this.#next === currentOffsets.length) this.#current = null;
    }
    return columns.length === 1 ? before : takeColumn(concatColumns(columns), taken);
  }

  async close(): Promise<void> {
    await this.#rows.return(undefined);
  }
}

async function* rowsOf(parts: readonly ComputedPart[]): AsyncGenerator<ComputedRows> {
  for (const part of parts) yield* part.rows();
}
