/** CountTableRows: counts live rows from the manifest alone, or the rows that a predicate selects. */

import { RowNumbers } from "../../query/columns/systemColumns.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import { liveRowCount, physicalRowCount } from "../../table/fragments/tableStatistics.js";
import { refuseBufferedRows } from "../../table/versions/bufferedRows.js";
import { filtering, filterOf } from "../filter.js";
import type { OperationBody } from "../operation.js";
import { rowProgress, SeenRows } from "../progress.js";
import { optionalBoolean } from "../request.js";
import { openSnapshot } from "../snapshot.js";

export const countTableRows: OperationBody<"countTableRows"> = async (context, request, access) => {
  const { predicate, signal } = request;
  const useIndexes = optionalBoolean(request.useScalarIndex, "useScalarIndex");
  const onRows = rowProgress(request);
  const snapshot = await openSnapshot(context, request, access);
  if (snapshot === null) return 0;
  await refuseBufferedRows(snapshot);
  const { manifest } = snapshot.file;
  const { fragments } = manifest;
  const total = physicalRowCount(fragments);
  const readRows = new SeenRows(onRows, total);
  let count: number;
  if (predicate !== undefined && predicate !== null) {
    const source = versionSource(snapshot);
    const filter = await filterOf(snapshot, predicate, request.params, "predicate", signal, useIndexes);
    const { countFiltered } = await filtering.get();
    count = await countFiltered(source, {
      fragments,
      filter,
      numbers: new RowNumbers(source, manifest, snapshot.path),
      readAhead: context.streams.open(),
      signal,
      onSeen: readRows.add,
    });
  } else count = fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  readRows.reach(total);
  return count;
};
