/** Reads rows of a fragment as stored: all of them if most are wanted. Bounds batches in rows and bytes. */

import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { type FragmentSource, openFragment } from "../../query/columns/fragmentColumns.js";
import type { Projection } from "../../query/columns/projection.js";
import { isDense, pickScanned, type Selection } from "../../query/scan/chosenRows.js";
import { type BatchRows, scanColumns } from "../../query/scan/scan.js";
import { readBlobBatches } from "../../rows/blobValues.js";
import { STREAMED } from "../../rows/readAhead.js";
import { takeColumns } from "../../rows/takeColumns.js";

/** Maximum rows of a batch. */
const BATCH_ROWS = 16_384;
/** Maximum bytes of a batch, unless a single row has more. */
const BATCH_BYTES = 16 * 1024 * 1024;
/** Rows of the first batch, whose size tells how large the next ones may be. */
const FIRST_ROWS = 1024;

export interface ReadRowsOptions {
  /** Maximum rows of a batch when all rows are read. */
  readonly batchRows?: number;
  /** True if texts may lie in shared memory that is valid only until the next batch is requested. */
  readonly lendsTexts?: boolean;
}

/** @param projection stored columns, without addresses */
export function readRows(
  source: FragmentSource,
  projection: Projection,
  selection: Selection,
  signal: AbortSignal | undefined,
  { batchRows = BATCH_ROWS, lendsTexts }: ReadRowsOptions = {},
): AsyncGenerator<BatchRows> {
  const { rows, fragment } = selection;
  if (!isDense(rows, fragment.physicalRows, projection)) {
    return takeSome(source, projection, selection, signal);
  }
  const bounds = { batchRows, batchBytes: BATCH_BYTES, readAhead: STREAMED, lendsTexts, signal };
  return pickScanned(scanColumns(source, { fragments: [fragment], projection, ...bounds }), rows);
}

async function* takeSome(
  source: FragmentSource,
  projection: Projection,
  { fragment, rows }: Selection,
  signal: AbortSignal | undefined,
): AsyncGenerator<BatchRows> {
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
