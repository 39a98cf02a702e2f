/**
 * Reads rows of a fragment as stored, to write them elsewhere. If most rows are wanted, it reads all and
 * drops the rest; if few are wanted, it reads only these. Batches are bounded in rows and in bytes.
 */

import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { type FragmentSource, openFragment } from "../../query/columns/fragmentColumns.js";
import type { Projection } from "../../query/columns/projection.js";
import { isDense, type Selection } from "../../query/filter/filteredRows.js";
import { type BatchRows, pickScanned, scanColumns } from "../../query/scan/scan.js";
import { readBlobBatches } from "../../rows/blobValues.js";
import { STREAMED } from "../../rows/readAhead.js";
import { takeColumns } from "../../rows/takeColumns.js";

/** Default maximum rows of a batch. */
const BATCH_ROWS = 16_384;
/** Maximum bytes of a batch, unless a single row has more. */
const BATCH_BYTES = 16 * 1024 * 1024;
/** Rows of the first batch, whose size tells how large the next ones may be. */
const FIRST_ROWS = 1024;

export interface ReadRowsOptions {
  /** Maximum rows of a batch when all rows are read. Default: 16,384. */
  readonly scannedRows?: number;
}

/** @param projection stored columns, without addresses */
export function readRows(
  source: FragmentSource,
  projection: Projection,
  selection: Selection,
  signal: AbortSignal | undefined,
  options: ReadRowsOptions = {},
): AsyncGenerator<BatchRows, void, undefined> {
  const { rows, fragment } = selection;
  return isDense(rows, fragment.physicalRows, projection)
    ? scanSome(source, projection, selection, signal, options)
    : takeSome(source, projection, selection, signal);
}

function scanSome(
  source: FragmentSource,
  projection: Projection,
  { fragment, rows }: Selection,
  signal: AbortSignal | undefined,
  { scannedRows = BATCH_ROWS }: ReadRowsOptions,
): AsyncGenerator<BatchRows, void, undefined> {
  const batches = scanColumns(source, {
    fragments: [fragment],
    projection,
    batchRows: scannedRows,
    batchBytes: BATCH_BYTES,
    readAhead: STREAMED,
    signal,
  });
  return pickScanned(batches, rows);
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
