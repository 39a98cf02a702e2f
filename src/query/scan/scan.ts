/**
 * Reads the rows of one version batch by batch, in their order on disk. Reads only rows that are wanted and
 * not deleted. While it reads one fragment, it opens the next ones. A batch never crosses a fragment.
 */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { lazyFixedColumn } from "../../arrow/columns/lazyColumn.js";
import { mapAhead } from "../../async/parallel.js";
import type { DataFragment } from "../../format/table.js";
import { Arena } from "../../io/memory/arena.js";
import type { RowSpan } from "../../rows/openColumns.js";
import { type ReadOptions, readColumns } from "../../rows/readColumns.js";
import type { RowsPlan } from "../columns/columnReads.js";
import { type FragmentSource, openFragment } from "../columns/fragmentColumns.js";
import { selectSpan } from "./fragmentRows.js";

/** Number of fragments opened ahead of the one being read. */
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

/** A scan of all rows, unless it has an offset or a limit. */
type RowsRequest = Omit<ScanRequest, "offset" | "limit"> & Partial<ScanRequest>;

/** Wanted rows of a fragment. */
interface FragmentSpan extends RowSpan {
  readonly fragmentId: number;
}

/** Location of the rows of a batch, all in one fragment. */
export interface RowPlaces {
  readonly fragmentId: number;
  /** Physical offset of the first row, or of row 0 of the picked ones. */
  readonly start: number;
  /** Rows relative to `start`, ascending; null for all rows from `start` on. */
  readonly picked: Uint32Array | null;
}

/** Returns the physical offset of a row of a batch. */
export const physicalRow = ({ start, picked }: RowPlaces, row: number): number =>
  start + (picked === null ? row : picked[row]);

/** Returns the physical offsets of the first rows of a batch. */
export function offsetsOfRows({ start, picked }: RowPlaces, rowCount: number): Uint32Array {
  const offsets = new Uint32Array(rowCount);
  if (picked === null) for (let row = 0; row < rowCount; row++) offsets[row] = start + row;
  else for (let row = 0; row < rowCount; row++) offsets[row] = start + picked[row];
  return offsets;
}

/** Columns of a batch: the outputs, and then the row addresses if they are wanted. */
export interface BatchRows {
  readonly columns: readonly Column[];
  readonly rowCount: number;
}

/** A batch of a scan, with its rows in their order on disk. */
export interface ScannedRows extends BatchRows {
  readonly places: RowPlaces;
}

/** Yields the rows as columns of the engine. */
export async function* scanColumns(
  source: FragmentSource,
  request: RowsRequest,
): AsyncGenerator<ScannedRows> {
  const { projection, batchRows, batchBytes, keeps } = request;
  const { readAhead, memory, isTransient, lendsTexts, signal } = request;
  const isScanned = request.limit === undefined || request.limit === Number.POSITIVE_INFINITY;
  const spans = mapAhead(
    wantedFragments(source, request),
    async ({ fragment, start, end, skipped }): Promise<FragmentSpan> => {
      const arena = isTransient === true && isScanned ? new Arena(source.scratch) : undefined;
      const stored = await openFragment(source, fragment, projection.leaves, isScanned, arena);
      return { fragmentId: fragment.id, stored, start, end, skipped, arena };
    },
    { weigh: () => 1, maxWeight: OPEN_FRAGMENTS },
  );
  // All members are named, so that all these objects have one shape.
  const options: ReadOptions = {
    batchRows,
    batchBytes,
    keeps,
    returned: projection.measured,
    readAhead,
    memory,
    isTransient,
    lendsTexts,
    signal,
  };
  const batches = readColumns(source, projection, spans, options);
  try {
    for await (const { columns, rowCount, span, positions } of batches) {
      const places = { fragmentId: span.fragmentId, start: positions.start, picked: positions.picked };
      if (!projection.withAddresses) {
        yield { columns, rowCount, places };
        continue;
      }
      memory?.note(ADDRESSES, rowCount * ADDRESS_BYTES);
      yield { columns: [...columns, rowAddresses(places, rowCount)], rowCount, places };
    }
  } finally {
    memory?.note(ADDRESSES, 0);
  }
}

/** Yields the fragments with wanted rows, each with the span of these rows and with its deleted rows. */
async function* wantedFragments(source: FragmentSource, request: RowsRequest) {
  let { offset: skip = 0, limit: take = Number.POSITIVE_INFINITY } = request;
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

/** Makes row addresses: fragment id high, physical offset low. Lazy, as most filters never read them. */
export function rowAddresses(places: RowPlaces, rowCount: number): FixedColumn {
  const pick = (rows: Uint32Array | null): Uint8Array => {
    const { fragmentId } = places;
    const offsets =
      rows === null ? offsetsOfRows(places, rowCount) : rows.map((row) => physicalRow(places, row));
    const words = new Uint32Array(offsets.length * 2);
    for (let row = 0; row < offsets.length; row++) {
      words[2 * row] = offsets[row];
      words[2 * row + 1] = fragmentId;
    }
    return new Uint8Array(words.buffer);
  };
  const lazy = { kind: "computed", decode: () => pick(null), pick } as const;
  return lazyFixedColumn(lazy, ADDRESS_BYTES, rowCount, null);
}
