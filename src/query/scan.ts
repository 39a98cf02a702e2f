/**
 * Reads the rows of one version, batch by batch, in the order in which they lie on disk. Only rows are read that are
 * wanted and not deleted. The next fragments are opened while one is read. A batch never crosses a fragment.
 */

import type { Column, FixedColumn } from "../arrow/columns/column.js";
import { mapAhead } from "../async/parallel.js";
import type { DataFragment } from "../format/table.js";
import type { RowSpan } from "../rows/openColumns.js";
import { type ReadOptions, type RowBatch, readColumns } from "../rows/readColumns.js";
import type { RowsPlan } from "./columnReads.js";
import { type FragmentSource, openFragment } from "./fragmentColumns.js";
import { selectSpan } from "./fragmentRows.js";

/** Fragments opened ahead of the one being read. */
const OPEN_FRAGMENTS = 8;

/** Name of this use of memory. */
const ADDRESSES = "row addresses";
/** Bytes of a row address. */
const ADDRESS_BYTES = 8;

export interface ScanRequest extends Omit<ReadOptions, "returned"> {
  readonly fragments: readonly DataFragment[];
  readonly projection: RowsPlan;
  readonly offset: number;
  readonly limit: number;
}

/** Wanted rows of a fragment. */
interface FragmentSpan extends RowSpan {
  readonly fragmentId: number;
}

/** The columns of a batch: the outputs of what is read, and the addresses of rows after them if they are wanted. */
export interface BatchRows {
  readonly columns: readonly Column[];
  readonly rowCount: number;
}

/** The rows as columns of the engine. */
export function scanColumns(
  source: FragmentSource,
  request: ScanRequest,
): AsyncGenerator<BatchRows, void, undefined> {
  const { projection } = request;
  const isScanned = request.limit === Number.POSITIVE_INFINITY;
  const spans = mapAhead(
    wantedFragments(source, request),
    async ({ fragment, start, end, skipped }): Promise<FragmentSpan> => {
      const stored = await openFragment(source, fragment, projection.leaves, isScanned);
      return { fragmentId: fragment.id, stored, start, end, skipped };
    },
    { weigh: () => 1, maxWeight: OPEN_FRAGMENTS },
  );
  const batches = readColumns(source, projection, spans, { ...request, returned: projection.measured });
  return projection.withAddresses ? withAddresses(batches, request) : batches;
}

/** The fragments with wanted rows: for each the span of physical rows that holds them, and its deleted rows. */
async function* wantedFragments(source: FragmentSource, request: ScanRequest) {
  let skip = request.offset;
  let take = request.limit;
  for (const fragment of request.fragments) {
    if (take <= 0) return;
    const deleted = fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
    const span = selectSpan(fragment.physicalRows, deleted, skip, take);
    const live = fragment.physicalRows - (deleted?.length ?? 0);
    skip -= Math.min(skip, live);
    if (span === null) continue;
    take -= span.liveRows;
    yield { fragment, start: span.start, end: span.end, skipped: deleted };
  }
}

async function* withAddresses(
  batches: AsyncIterable<RowBatch<FragmentSpan>>,
  { memory }: ScanRequest,
): AsyncGenerator<BatchRows, void, undefined> {
  try {
    for await (const batch of batches) {
      memory?.note(ADDRESSES, batch.rowCount * ADDRESS_BYTES);
      yield { columns: [...batch.columns, rowAddresses(batch)], rowCount: batch.rowCount };
    }
  } finally {
    memory?.note(ADDRESSES, 0);
  }
}

/** Row addresses: the fragment's id in the upper 32 bits, the physical offset in the lower. */
function rowAddresses({ rowCount, span, positions }: RowBatch<FragmentSpan>): FixedColumn {
  const { start, picked } = positions;
  const words = new Uint32Array(rowCount * 2);
  for (let row = 0; row < rowCount; row++) {
    words[2 * row] = start + (picked === null ? row : picked[row]);
    words[2 * row + 1] = span.fragmentId;
  }
  const values = new Uint8Array(words.buffer);
  return { kind: "fixed", length: rowCount, validity: null, byteWidth: ADDRESS_BYTES, values };
}
