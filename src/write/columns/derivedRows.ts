/** Derives columns from others, batch by batch, with a row for each physical row of the fragment. */

import type { Column } from "../../arrow/columns/column.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { runAsync, type Steps, yieldToEventLoop } from "../../async/eventLoop.js";
import type { DataFragment } from "../../format/table.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import type { Projection } from "../../query/columns/projection.js";
import { type BatchRows, scanColumns } from "../../query/scan/scan.js";
import { STREAMED } from "../../rows/readAhead.js";
import type { TableField } from "../../schema/schema.js";
import { holdsBlobs } from "./computedColumns.js";
import { physicalRows } from "./physicalRows.js";

/** Maximum rows of a batch. */
export const BATCH_ROWS = 16_384;
/** Minimum rows of a batch that is computed. */
const MIN_BATCH_ROWS = 256;
/** Approximate bytes of a batch that is read. */
const BATCH_BYTES = 16 * 1024 * 1024;
/** Rows of a batch times steps per row: the work before the thread yields. */
const BATCH_WORK = 2 ** 20;

export interface Derivation {
  /** Columns to read. */
  readonly projection: Projection;
  /** Fields of the derived columns. */
  readonly fields: readonly TableField[];
  /** Approximate steps per row. */
  readonly steps: number;
  /**
   * Derives a batch from the outputs of the projection. A transient batch is used before the next is derived.
   */
  readonly derive: (columns: readonly Column[], rowCount: number, isTransient: boolean) => Steps<Column[]>;
  /** True if structs may be null; files of 2.0 have no null structs. */
  readonly nullStructs: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Yields the derived columns of all physical rows of a fragment. */
export async function* derivedRows(
  source: FragmentSource,
  fragment: DataFragment,
  derivation: Derivation,
): AsyncGenerator<InputBatch> {
  const { projection, fields, steps, nullStructs, signal } = derivation;
  const batchRows = Math.max(MIN_BATCH_ROWS, Math.min(BATCH_ROWS, Math.floor(BATCH_WORK / steps)));
  const deleted = fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
  // Stand-ins of deleted rows are made of batches that have passed.
  const isTransient = deleted === null && fields.every(isCopied);
  const rows = scanColumns(source, {
    fragments: [fragment],
    projection,
    batchRows,
    batchBytes: BATCH_BYTES,
    readAhead: STREAMED,
    isTransient,
    signal,
  });
  const live = derivedBatches(rows, derivation, isTransient);
  yield* physicalRows(live, fields, { rowCount: fragment.physicalRows, deleted, batchRows, nullStructs });
}

async function* derivedBatches(
  batches: AsyncIterable<BatchRows>,
  { derive, signal }: Derivation,
  isTransient: boolean,
): AsyncGenerator<InputBatch> {
  for await (const { columns, rowCount } of batches) {
    yield { columns: await runAsync(derive(columns, rowCount, isTransient), signal), rowCount, isTransient };
    await yieldToEventLoop();
  }
}

/** True if the writer copies a column's values out of memory that is reused. */
const isCopied = (field: TableField): boolean =>
  field.type.kind !== "dictionary" && !holdsBlobs(field) && field.children.every(isCopied);
