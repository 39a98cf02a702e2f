/**
 * Reads given rows of a fragment as they are stored, to write them elsewhere. Where they are many, all rows are read
 * and the others left out; where they are few, only these. Batches are bounded in rows and in bytes.
 */

import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { columnBytes } from "../../file/writing/writer.js";
import type { Selection } from "../../query/filteredRows.js";
import { type FragmentSource, openFragment } from "../../query/fragmentColumns.js";
import type { Projection } from "../../query/projection.js";
import { type BatchRows, rowsAt, scanColumns } from "../../query/scan.js";
import { readBlobBatches } from "../../rows/blobValues.js";
import { STREAMED } from "../../rows/readAhead.js";
import { takeColumns } from "../../rows/takeColumns.js";

/** Maximum rows of a batch. */
const BATCH_ROWS = 16_384;
/** Bytes of a batch, unless a single row has more. */
const BATCH_BYTES = 16 * 1024 * 1024;
/** Rows of the first batch, whose size tells how many the next ones may have. */
const FIRST_ROWS = 1024;
/** All rows are read where at least this part of them is wanted. */
const DENSE_PART = 1 / 8;

/** @param projection of the columns as they are stored, without addresses */
export function readRows(
  source: FragmentSource,
  projection: Projection,
  selection: Selection,
  signal: AbortSignal | undefined,
): AsyncGenerator<BatchRows, void, undefined> {
  const { rows, fragment } = selection;
  const isDense = rows.length >= fragment.physicalRows * DENSE_PART && !projection.hasBlobs;
  return isDense
    ? scanSome(source, projection, selection, signal)
    : takeSome(source, projection, selection, signal);
}

async function* scanSome(
  source: FragmentSource,
  projection: Projection,
  { fragment, rows }: Selection,
  signal: AbortSignal | undefined,
): AsyncGenerator<BatchRows, void, undefined> {
  const batches = scanColumns(source, {
    fragments: [fragment],
    projection,
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: BATCH_ROWS,
    batchBytes: BATCH_BYTES,
    readAhead: STREAMED,
    signal,
  });
  let next = 0;
  for await (const { columns, rowCount, places } of batches) {
    if (next === rows.length) return;
    const wanted = rowsAt(places, rowCount, rows, next);
    const count = wanted.length;
    if (count === 0) continue;
    next += count;
    yield {
      columns: count === rowCount ? columns : columns.map((column) => takeColumn(column, wanted)),
      rowCount: count,
    };
  }
}

async function* takeSome(
  source: FragmentSource,
  projection: Projection,
  { fragment, rows }: Selection,
  signal: AbortSignal | undefined,
): AsyncGenerator<BatchRows, void, undefined> {
  const stored = await openFragment(source, fragment, projection.leaves);
  let batchRows = FIRST_ROWS;
  for (let start = 0; start < rows.length; ) {
    const some = rows.slice(start, start + batchRows);
    start += some.length;
    const taken = await takeColumns(source, projection, stored, some, signal);
    const bytes = taken.columns.reduce((sum, column) => sum + columnBytes(column), 0);
    batchRows = Math.max(
      1,
      Math.min(BATCH_ROWS, Math.floor((BATCH_BYTES * some.length) / Math.max(bytes, 1))),
    );
    if (projection.hasBlobs) yield* readBlobBatches(source, projection, taken, {});
    else yield taken;
  }
}
