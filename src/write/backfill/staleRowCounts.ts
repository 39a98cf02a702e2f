/** Counts the rows of a computed column that have no value, or an outdated one. */

import { runAsync } from "../../async/eventLoop.js";
import { col } from "../../expression/build.js";
import { formatFieldPath } from "../../ident.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { type FilterRequest, planFilter } from "../../query/filter/filter.js";
import { selectedRows } from "../../query/filter/filteredRows.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { STREAMED } from "../../rows/readAhead.js";
import { fieldIdsOf } from "../../schema/fieldPaths.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { readFittingRecord } from "./fittingRecord.js";
import { outdatedRows } from "./outdatedRows.js";
import { areStored } from "./storedFields.js";

export interface StaleRows {
  readonly staleRows: number;
  /** Ids, ascending. */
  readonly staleFragments: number[];
}

/** Reads the column in the fragments that have it. */
export async function countStaleRows(
  base: OpenVersion<ReaderEnvironment>,
  field: TableField,
  options: Pick<FilterRequest, "signal" | "onSeen">,
): Promise<StaleRows> {
  const { manifest, path } = base.file;
  const source = versionSource(base);
  const fields = decodeSchema(manifest.fields, path);
  const filter = await runAsync(
    planFilter(col(formatFieldPath([field.name])).isNull(), {}, fields, "column"),
  );
  const ids = new Set(fieldIdsOf(field));
  const counts = new Map<number, number>();
  const stored = manifest.fragments.filter((fragment) => {
    if (areStored(fragment.files, ids)) return true;
    const live = liveRowCount(fragment);
    if (live > 0) counts.set(fragment.id, live);
    return false;
  });
  const numbers = new RowNumbers(source, manifest, base.path);
  const request = { fragments: stored, filter, numbers, readAhead: STREAMED, ...options };
  const marks = await outdatedRows(base, field, await readFittingRecord(base, field), options.signal);
  const nullRows = new Map<number, Uint32Array>();
  for await (const { fragment, rows } of selectedRows(source, request)) {
    counts.set(fragment.id, rows.length);
    if (marks.has(fragment.id)) nullRows.set(fragment.id, rows);
  }
  for (const fragment of stored) {
    const marked = marks.get(fragment.id);
    if (marked === undefined) continue;
    const nulls = nullRows.get(fragment.id) ?? [];
    const stale =
      marked === "all"
        ? liveRowCount(fragment)
        : liveUnion(marked, nulls, (await source.readDeletions(fragment)) ?? []);
    if (stale > 0) counts.set(fragment.id, stale);
  }
  return {
    staleRows: [...counts.values()].reduce((sum, count) => sum + count, 0),
    staleFragments: [...counts.keys()].sort((a, b) => a - b),
  };
}

/** Counts the live rows that are in one of two lists. */
function liveUnion(marked: Iterable<number>, nulls: Iterable<number>, deleted: Iterable<number>): number {
  const rows = new Set([...marked, ...nulls]);
  for (const row of deleted) rows.delete(row);
  return rows.size;
}
