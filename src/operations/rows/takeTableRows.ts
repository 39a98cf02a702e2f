/** TakeTableRows: returns rows by row ids or offsets. This operation is not in the namespace spec. */

import { runAsync } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import type { TakeTableRowsRequest } from "../../namespace/queries.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { projectionOf } from "../../query/columns/tableProjections.js";
import { readFoundRows, rowIdSet, rowsWithIds } from "../../query/filter/identifiedRows.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import { batchRowsOf, returnedBatches } from "../../query/run/runQuery.js";
import { type RowsOfFragment, rowsAtOffsets } from "../../query/scan/rowPlaces.js";
import { KEPT } from "../../rows/readAhead.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import type { OperationBody } from "../operation.js";
import { isAbsent, optionalBoolean, optionalCount } from "../request.js";
import { requireRowOffsets } from "../requestValues.js";
import { requireSnapshot } from "../snapshot.js";
import { reportedBatches } from "./reportedBatches.js";
import { resultOfBatches } from "./resultForms.js";
import { countedOffsets, requireRowIds } from "./rowIdList.js";

/** Rows that a request names. */
interface NamedRows {
  find(source: FragmentSource, file: ManifestFile): Promise<RowsOfFragment[]>;
  /** Number of times that each row comes; null for once. */
  readonly repeats: Uint32Array | null;
}

export const takeTableRows: OperationBody<"takeTableRows"> = async (context, request, access) => {
  const { signal, memory } = request;
  const named = await readNamedRows(request);
  const withRowId = optionalBoolean(request.withRowId, "withRowId") ?? false;
  const batchSize = optionalCount(request.batchSize, "batchSize", 1) ?? Number.POSITIVE_INFINITY;
  const batchBytes = optionalCount(request.batchBytes, "batchBytes", 1);
  const maxColumns = optionalCount(request.maxColumns, "maxColumns", 1);
  const snapshot = await requireSnapshot(context, request, access);
  const { manifest } = snapshot.file;
  const selecting = projectionOf(snapshot.file, request.columns, { withRowId, maxColumns });
  const projection = await runAsync(selecting, signal);
  const batchRows = batchRowsOf(projection, batchSize);
  const source = versionSource(snapshot);
  const numbers = new RowNumbers(source, manifest, snapshot.path);
  const find = () => named.find(source, snapshot.file);
  const reading = { operation: "takeTableRows", request, versions: [snapshot] };
  return resultOfBatches(projection.schema, (isKept) => {
    const readAhead = isKept ? KEPT : context.streams.open();
    const options = { projection, batchRows, batchBytes, memory, signal, readAhead };
    const open = async () => readFoundRows(source, options, await find(), named.repeats);
    return reportedBatches(() => returnedBatches(open, options, numbers), reading);
  });
};

/** @throws InvalidInputError unless the request has one list of integers */
async function readNamedRows({ rowIds, offsets }: TakeTableRowsRequest): Promise<NamedRows> {
  if (isAbsent(rowIds) === isAbsent(offsets)) {
    throw new InvalidInputError("rowIds and offsets: give one of them");
  }
  if (!isAbsent(rowIds)) {
    const ids = await rowIdSet(await requireRowIds(rowIds));
    return { find: (source, file) => rowsWithIds(source, file, ids), repeats: null };
  }
  const { distinct, repeats } = countedOffsets(requireRowOffsets(offsets, "offsets"));
  return {
    find: (source, { manifest }) => rowsAtOffsets(distinct, manifest.fragments, source),
    repeats,
  };
}
