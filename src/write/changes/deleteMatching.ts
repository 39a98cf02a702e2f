/** Deletes the rows that a filter selects: they are marked in their fragments, and no file with rows is written. */

import { mapAhead } from "../../async/parallel.js";
import type { Filter } from "../../query/filter.js";
import { selectedRows } from "../../query/filteredRows.js";
import type { FragmentSource } from "../../query/fragmentColumns.js";
import { RowNumbers } from "../../query/systemColumns.js";
import type { ReaderEnvironment } from "../../query/versionSource.js";
import { STREAMED } from "../../rows/readAhead.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { type CommittedRowChange, commitRowChange, type RowChange } from "./commitRowChange.js";
import type { DeletionMarks } from "./deletionFiles.js";

/** Fragments in which rows are marked at the same time. */
const FRAGMENTS_AHEAD = 8;

interface Deletion extends RowChange {
  readonly deletedRows: number;
}

/**
 * @param filterOn plans the filter on a version; called again where another writer was first
 * @param predicate the filter as a text, for the record
 */
export function deleteMatching(
  target: ChangeTarget<ReaderEnvironment>,
  filterOn: (base: OpenVersion<ReaderEnvironment>) => Filter,
  predicate: string,
  signal?: AbortSignal,
): Promise<CommittedRowChange<Deletion>> {
  return commitRowChange(
    target,
    async (base, marks, source): Promise<Deletion> => {
      for await (const _ of markSelected(base, source, filterOn(base), marks, signal));
      return { written: [], operation: { kind: "delete", predicate }, deletedRows: marks.rowCount };
    },
    signal,
  );
}

/** Marks the rows that a filter selects, some fragments ahead of the caller, and hands them out. */
export function markSelected(
  base: OpenVersion,
  source: FragmentSource,
  filter: Filter,
  marks: DeletionMarks,
  signal: AbortSignal | undefined,
) {
  const { manifest } = base.file;
  const { fragments } = manifest;
  const numbers = new RowNumbers(source, manifest, base.path);
  return mapAhead(
    selectedRows(source, { fragments, filter, numbers, readAhead: STREAMED, signal }),
    async (selection) => {
      await marks.mark(selection.fragment, selection.rows);
      return selection;
    },
    { weigh: () => 1, maxWeight: FRAGMENTS_AHEAD, signal },
  );
}
