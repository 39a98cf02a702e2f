/** Selects rows of a fragment, such as those that a backfill computes. */

import type { DataFragment } from "../../format/table.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { selectedRows } from "../../query/filter/filteredRows.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { STREAMED } from "../../rows/readAhead.js";
import { unskipped } from "../../rows/rowPositions.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { ResolvedBackfill } from "./resolvedBackfill.js";

/** @returns physical offsets of the rows, ascending */
export async function selectedOffsets(
  base: OpenVersion<ReaderEnvironment>,
  { filter, selectsAll }: Pick<ResolvedBackfill, "filter"> & Partial<Pick<ResolvedBackfill, "selectsAll">>,
  fragment: DataFragment,
  signal: AbortSignal,
): Promise<Uint32Array> {
  const source = versionSource(base);
  const { physicalRows } = fragment;
  if (physicalRows > 0 && selectsAll?.(fragment) === true) {
    return unskipped(0, physicalRows, (await source.readDeletions(fragment)) ?? new Uint32Array(0));
  }
  const numbers = new RowNumbers(source, base.file.manifest, base.path);
  const request = { fragments: [fragment], filter, numbers, readAhead: STREAMED, signal };
  let selected: Uint32Array = new Uint32Array(0);
  for await (const { rows } of selectedRows(source, request)) selected = rows;
  return selected;
}
