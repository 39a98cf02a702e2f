/** Finds the live rows of a version by their row ids, and reads rows that were found. */

import type { FixedColumn } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { lowerBound } from "../../bytes/search.js";
import { type RowIds, RowIdsBuilder } from "../../indexes/rowIds.js";
import { stableIdsOf } from "../../table/fragments/rowOrigins.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { addressesOf, addressWords, wordPairs } from "../columns/rowAddresses.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import { readChosenRows } from "../scan/chosenRows.js";
import { placesOfIds, type RowsOfFragment } from "../scan/rowPlaces.js";
import type { BatchRows, ScanRequest } from "../scan/scan.js";

const WORD = 2 ** 32;
/** Ids between two checks of the event loop. */
const IDS_AT_ONCE = 8192;
/** Maximum rows of a batch that repeats rows. */
const REPEATED_ROWS = 8192;
/** Approximate maximum bytes of such a batch, unless a single row is larger. */
const REPEATED_BYTES = 8 * 1024 * 1024;

/** Returns the set of some ids. @param ids pairs of words: low, high */
export async function rowIdSet(ids: Uint32Array): Promise<RowIds> {
  const builder = new RowIdsBuilder();
  const count = ids.length / 2;
  for (let start = 0; start < count; start += IDS_AT_ONCE) {
    builder.add(ids, start, Math.min(count, start + IDS_AT_ONCE));
    await yieldToEventLoop();
  }
  return builder.finish();
}

/** Returns the live rows with some ids, in the table's order. Leaves out ids without a live row. */
export async function rowsWithIds(
  source: FragmentSource,
  { manifest, path }: Pick<ManifestFile, "manifest" | "path">,
  ids: RowIds,
): Promise<RowsOfFragment[]> {
  const { fragments, nextRowId } = manifest;
  const addresses = hasStableRowIds(manifest)
    ? await placesOfIds(ids, nextRowId, fragments, (fragment) => stableIdsOf(fragment, path))
    : ids;
  const wanted = new Set(addresses.highWords());
  const parts: RowsOfFragment[] = [];
  for (const fragment of fragments) {
    if (!wanted.has(fragment.id)) continue;
    const rows = addresses.lows(fragment.id, fragment.physicalRows);
    const deleted =
      rows.length === 0 || fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
    const live = deleted === null ? rows : rows.filter((row) => deleted[lowerBound(deleted, row)] !== row);
    if (live.length > 0) parts.push({ fragment, rows: live });
  }
  return parts;
}

/** Returns the ids of rows that were found, in the order of these rows. */
export function idsOfRows(parts: readonly RowsOfFragment[], numbers: RowNumbers): Promise<FixedColumn> {
  const words = new Uint32Array(2 * parts.reduce((sum, { rows }) => sum + rows.length, 0));
  let position = 0;
  for (const { fragment, rows } of parts) {
    words.set(addressWords(addressesOf(fragment.id, rows)), position);
    position += 2 * rows.length;
  }
  return numbers.column("_rowid", wordPairs(words));
}

/** Returns the index of each id in a column of ids; -1 for an id that is missing. */
export function indexesOfIds(ids: Uint32Array, idColumn: FixedColumn): Int32Array {
  const words = addressWords(idColumn);
  const positions = new Map<bigint | number, number>();
  // Ids of 54 bits or more are not exact as numbers.
  const keyOf = (pairs: Uint32Array, index: number): bigint | number =>
    pairs[2 * index + 1] < 2 ** 21
      ? pairs[2 * index + 1] * WORD + pairs[2 * index]
      : (BigInt(pairs[2 * index + 1]) << 32n) | BigInt(pairs[2 * index]);
  for (let index = 0; index < idColumn.length; index++) positions.set(keyOf(words, index), index);
  return Int32Array.from({ length: ids.length / 2 }, (_, index) => positions.get(keyOf(ids, index)) ?? -1);
}

/**
 * Reads rows that were found, in their order, with their addresses last.
 * @param repeats how often each row comes; null for once
 */
export async function* readFoundRows(
  source: FragmentSource,
  request: Pick<ScanRequest, "projection" | "readAhead" | "memory" | "signal">,
  parts: readonly RowsOfFragment[],
  repeats: Uint32Array | null,
): AsyncGenerator<BatchRows> {
  let first = 0;
  for (const { fragment, rows } of parts) {
    const chosen = { fragment, rows, seenRows: fragment.physicalRows };
    for await (const batch of readChosenRows(source, request, chosen)) {
      if (repeats === null) yield batch;
      else yield* repeatedRows(batch, repeats.subarray(first, first + batch.rowCount));
      first += batch.rowCount;
    }
  }
}

/** Yields the rows of a batch, each as often as told, in batches of bounded size. */
function* repeatedRows({ columns, rowCount }: BatchRows, repeats: Uint32Array): Generator<BatchRows> {
  const bytes = columns.reduce((sum, column) => sum + columnBytes(column), 0);
  const most = Math.max(1, Math.min(REPEATED_ROWS, Math.floor((REPEATED_BYTES * rowCount) / (bytes + 1))));
  let positions: number[] = [];
  const taken = (): BatchRows => {
    const chosen = Uint32Array.from(positions);
    positions = [];
    return { columns: columns.map((column) => takeColumn(column, chosen)), rowCount: chosen.length };
  };
  for (let row = 0; row < rowCount; row++) {
    for (let count = 0; count < repeats[row]; count++) {
      positions.push(row);
      if (positions.length === most) yield taken();
    }
  }
  if (positions.length > 0) yield taken();
}
