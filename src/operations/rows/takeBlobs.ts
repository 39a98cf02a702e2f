/** TakeBlobs: returns lazy blobs of some rows. This operation is not in the namespace spec. */

import { InvalidInputError } from "../../errors.js";
import type { LazyBlob } from "../../namespace/queries.js";
import { type Projection, resolveProjection } from "../../query/columns/projection.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { idsOfRows, indexesOfIds, rowIdSet, rowsWithIds } from "../../query/filter/identifiedRows.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import { openBlobs, openBlobsAt } from "../../query/scan/take.js";
import { decodeSchema } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { isAbsent } from "../request.js";
import { requireRowOffsets, requireString } from "../requestValues.js";
import { requireSnapshot } from "../snapshot.js";
import { requireRowIds } from "./rowIdList.js";

export const takeBlobs: OperationBody<"takeBlobs"> = async (context, request, access) => {
  const { signal } = request;
  if (!isAbsent(request.rowIds) && !isAbsent(request.rowOffsets)) {
    throw new InvalidInputError("rowIds and rowOffsets: give one of them");
  }
  const rowIds = isAbsent(request.rowIds) ? null : await requireRowIds(request.rowIds);
  const rowOffsets = rowIds === null ? requireRowOffsets(request.rowOffsets) : null;
  const column = requireString(request.column, "column");
  const snapshot = await requireSnapshot(context, request, access);
  const { manifest } = snapshot.file;
  const fields = decodeSchema(manifest.fields, snapshot.path);
  const projection = resolveProjection(fields, new Map(), [column]);
  const { leaves, hasBlobs } = projection;
  if (leaves.length !== 1 || !hasBlobs || leaves[0].listFieldIds.length > 0) {
    throw new InvalidInputError(`column: ${column} is not a column of blobs`);
  }
  if (rowIds !== null) return blobsOfIds(snapshot, projection, rowIds, signal);
  return openBlobsAt(versionSource(snapshot), {
    ...{ fragments: manifest.fragments, projection, signal },
    rowOffsets: rowOffsets as Float64Array,
  });
};

/**
 * Returns the blobs of rows in the order of their ids.
 * @param rowIds pairs of words: low, high
 * @throws InvalidInputError naming the first id without a row
 */
async function blobsOfIds(
  snapshot: OpenVersion<OperationContext>,
  projection: Projection,
  rowIds: Uint32Array,
  signal: AbortSignal | undefined,
): Promise<(LazyBlob | null)[]> {
  const source = versionSource(snapshot);
  const { manifest } = snapshot.file;
  const rows = await rowsWithIds(source, snapshot.file, await rowIdSet(rowIds));
  const idsInOrder = await idsOfRows(rows, new RowNumbers(source, manifest, snapshot.path));
  const indexes = indexesOfIds(rowIds, idsInOrder);
  const missing = indexes.indexOf(-1);
  if (missing !== -1) {
    const id = (BigInt(rowIds[2 * missing + 1]) << 32n) | BigInt(rowIds[2 * missing]);
    throw new InvalidInputError(`rowIds: the table has no row with id ${id}`);
  }
  const blobs = await openBlobs(source, { fragments: manifest.fragments, projection, signal }, rows);
  return Array.from(indexes, (index) => blobs[index]);
}
