/** Reads the columns of a filter for rows from indexes that need a recheck. */

import { mapAhead } from "../../async/parallel.js";
import type { DataFragment } from "../../format/table.js";
import { takeColumns } from "../../rows/takeColumns.js";
import type { RowsPlan } from "../columns/columnReads.js";
import { type FragmentSource, openFragment } from "../columns/fragmentColumns.js";
import { addressesOf } from "../columns/rowAddresses.js";
import type { ScannedRows } from "../scan/scan.js";
import type { CandidateRows, IndexedRows } from "./indexedRows.js";

/** Rows per read. */
const TAKEN_ROWS = 32_768;
/** Fraction of candidate rows from which on a fragment is scanned. */
const SCANNED_PART = 1 / 8;
/** Fragments looked up and read ahead. */
const FRAGMENTS_AHEAD = 8;

/** Consecutive fragments to scan, or rows of one fragment. */
type FilterRows =
  | { readonly kind: "scan"; readonly fragments: readonly DataFragment[] }
  | { readonly kind: "rows"; readonly candidates: CandidateRows; readonly rows: Uint32Array };

/** Yields the rows of all fragments in order, without empty fragments. */
export async function* filterRows(
  indexed: IndexedRows,
  source: FragmentSource,
  fragments: readonly DataFragment[],
  signal: AbortSignal | undefined,
): AsyncGenerator<FilterRows> {
  let scanned: DataFragment[] = [];
  const candidatesIn = fragments.filter((fragment) => !indexed.hasNone(fragment));
  const ahead = mapAhead(candidatesIn, (fragment) => indexed.rowsOf(source, fragment), {
    weigh: () => 1,
    maxWeight: FRAGMENTS_AHEAD,
    ...(signal && { signal }),
  });
  for await (const candidates of ahead) {
    const { fragment, rows, isExact } = candidates;
    if (rows === null || (!isExact && rows.length >= fragment.physicalRows * SCANNED_PART)) {
      scanned.push(fragment);
      continue;
    }
    if (rows.length === 0) continue;
    if (scanned.length > 0) yield { kind: "scan", fragments: scanned };
    scanned = [];
    yield { kind: "rows", candidates, rows };
  }
  if (scanned.length > 0) yield { kind: "scan", fragments: scanned };
}

/** Yields the columns of a filter for some rows of a fragment, then their addresses. */
export async function* takenColumns(
  source: FragmentSource,
  projection: RowsPlan,
  fragment: DataFragment,
  rows: Uint32Array,
  signal: AbortSignal | undefined,
): AsyncGenerator<ScannedRows> {
  const stored = await openFragment(source, fragment, projection.leaves);
  for (let start = 0; start < rows.length; start += TAKEN_ROWS) {
    const some = rows.slice(start, start + TAKEN_ROWS);
    const { columns } = await takeColumns(source, projection, stored, some, signal);
    yield {
      columns: [...columns, addressesOf(fragment.id, some)],
      rowCount: some.length,
      places: { fragmentId: fragment.id, start: 0, picked: some },
    };
  }
}
