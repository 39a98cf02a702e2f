/** TakeBlobs: returns lazy blobs of some rows. This operation is not in the namespace spec. */

import { InvalidInputError } from "../../errors.js";
import { resolveProjection } from "../../query/columns/projection.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import { openBlobsAt } from "../../query/scan/take.js";
import { decodeSchema } from "../../schema/schema.js";
import type { OperationBody } from "../operation.js";
import { requireRowOffsets, requireString } from "../request.js";
import { requireSnapshot } from "../snapshot.js";

export const takeBlobs: OperationBody<"takeBlobs"> = async (context, request, access) => {
  const rowOffsets = requireRowOffsets(request.rowOffsets);
  const column = requireString(request.column, "column");
  const snapshot = await requireSnapshot(context, request, access);
  const { manifest } = snapshot.file;
  const fields = decodeSchema(manifest.fields, snapshot.path);
  const projection = resolveProjection(fields, new Map(), [column]);
  const { leaves, hasBlobs } = projection;
  if (leaves.length !== 1 || !hasBlobs || leaves[0].listFieldIds.length > 0) {
    throw new InvalidInputError(`column: ${column} is not a column of blobs`);
  }
  const { fragments } = manifest;
  const { signal } = request;
  return openBlobsAt(versionSource(snapshot), { fragments, projection, rowOffsets, signal });
};
