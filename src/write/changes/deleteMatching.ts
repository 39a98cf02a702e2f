/** Deletes the rows that a filter selects: marks them in their fragments and writes no rows. */

import { mapAhead } from "../../async/parallel.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import type { Filter } from "../../query/filter/filter.js";
import { selectedRows } from "../../query/filter/filteredRows.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import type { Selection } from "../../query/scan/chosenRows.js";
import { STREAMED } from "../../rows/readAhead.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { type CommittedRowChange, commitRowChange, type RowChange } from "./commitRowChange.js";
import type { DeletionMarks } from "./deletionFiles.js";

/** Fragments in which rows are marked at the same time. */
const FRAGMENTS_AHEAD = 8;

export interface MatchOptions {
  readonly signal?: AbortSignal;
  /** Called with the number of scanned rows, including deleted ones. */
  readonly onRows?: (done: number, total: number) => void;
}

interface Deletion extends RowChange {
  readonly deletedRows: number;
}

/** @param filterOn plans the filter on a version; called again after another writer commits first */
export function deleteMatching(
  target: ChangeTarget<ReaderEnvironment>,
  filterOn: (base: OpenVersion<ReaderEnvironment>) => Promise<Filter>,
  predicate: string,
  options: MatchOptions,
): Promise<CommittedRowChange<Deletion>> {
  return commitRowChange(
    target,
    async (base, marks, source): Promise<Deletion> => {
      for await (const _ of markSelected(base, source, await filterOn(base), marks, options));
      return { written: [], operation: { kind: "delete", predicate }, deletedRows: marks.rowCount };
    },
    { signal: options.signal },
  );
}

/** Marks the rows that a filter selects, some fragments ahead of the caller, and yields them. */
export async function* markSelected(
  base: OpenVersion,
  source: FragmentSource,
  filter: Filter,
  marks: DeletionMarks,
  { signal, onRows }: MatchOptions,
): AsyncGenerator<Selection> {
  const { manifest } = base.file;
  const { fragments } = manifest;
  const numbers = new RowNumbers(source, manifest, base.path);
  let total = 0;
  const ends = new Map(fragments.map(({ id, physicalRows }) => [id, (total += physicalRows)]));
  onRows?.(0, total);
  const marked = mapAhead(
    selectedRows(source, { fragments, filter, numbers, readAhead: STREAMED, signal }),
    async (selection) => {
      await marks.mark(selection.fragment, selection.rows);
      return selection;
    },
    { weigh: () => 1, maxWeight: FRAGMENTS_AHEAD, signal },
  );
  for await (const selection of marked) {
    yield selection;
    onRows?.(ends.get(selection.fragment.id) ?? 0, total);
  }
  // The last fragments may have no selected row.
  onRows?.(total, total);
}
