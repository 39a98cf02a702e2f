/** Reads the columns of a filter for rows that indexes found, where the filter still has to be computed for them. */

import { mapAhead } from "../../async/parallel.js";
import type { DataFragment } from "../../format/table.js";
import { takeColumns } from "../../rows/takeColumns.js";
import type { RowsPlan } from "../columns/columnReads.js";
import { type FragmentSource, openFragment } from "../columns/fragmentColumns.js";
import { addressesOf } from "../columns/rowAddresses.js";
import type { ScannedRows } from "../scan/scan.js";
import type { CandidateRows, IndexedRows } from "./indexedRows.js";

/** Rows that are read at once. */
const TAKEN_ROWS = 32_768;
/** All rows of a fragment are looked at where at least this part of them would be. */
const SCANNED_PART = 1 / 8;
/** Fragments that are looked up, and read, ahead of the one that is handed on. */
const FRAGMENTS_AHEAD = 8;

/** Fragments that follow each other, all of whose rows are looked at; or rows of one fragment. */
type FoundRows =
  | { readonly kind: "scan"; readonly fragments: readonly DataFragment[] }
  | { readonly kind: "rows"; readonly found: CandidateRows; readonly rows: Uint32Array };

/** The rows of all fragments, in their order; fragments without rows are left out. */
export async function* foundRows(
  indexed: IndexedRows,
  source: FragmentSource,
  fragments: readonly DataFragment[],
  signal: AbortSignal | undefined,
): AsyncGenerator<FoundRows, void, undefined> {
  let scanned: DataFragment[] = [];
  const looked = fragments.filter((fragment) => !indexed.hasNone(fragment));
  const ahead = mapAhead(looked, (fragment) => indexed.rowsOf(source, fragment), {
    weigh: () => 1,
    maxWeight: FRAGMENTS_AHEAD,
    ...(signal && { signal }),
  });
  for await (const found of ahead) {
    const { fragment, rows, isExact } = found;
    if (rows === null || (!isExact && rows.length >= fragment.physicalRows * SCANNED_PART)) {
      scanned.push(fragment);
      continue;
    }
    if (rows.length === 0) continue;
    if (scanned.length > 0) yield { kind: "scan", fragments: scanned };
    scanned = [];
    yield { kind: "rows", found, rows };
  }
  if (scanned.length > 0) yield { kind: "scan", fragments: scanned };
}

/** The columns of a filter, and the addresses after them, of some rows of a fragment. */
export async function* takenColumns(
  source: FragmentSource,
  projection: RowsPlan,
  fragment: DataFragment,
  rows: Uint32Array,
  signal: AbortSignal | undefined,
): AsyncGenerator<ScannedRows, void, undefined> {
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
