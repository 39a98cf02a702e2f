/** TakeRows: returns rows of a version by their offsets. This operation is not in the namespace spec. */

import { runAsync } from "../../async/eventLoop.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { projectionOf } from "../../query/columns/tableProjections.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import { readRowsAt } from "../../query/scan/take.js";
import type { OperationBody } from "../operation.js";
import { requireRowOffsets } from "../requestValues.js";
import { requireSnapshot } from "../snapshot.js";

export const takeRows: OperationBody<"takeRows"> = async (context, request, access) => {
  const rowOffsets = requireRowOffsets(request.rowOffsets);
  const snapshot = await requireSnapshot(context, request, access);
  const { manifest } = snapshot.file;
  const { signal } = request;
  const projection = await runAsync(projectionOf(snapshot.file, request.columns, {}), signal);
  const { fragments } = manifest;
  const source = versionSource(snapshot);
  const numbers = new RowNumbers(source, manifest, snapshot.path);
  return readRowsAt(source, { fragments, projection, numbers, rowOffsets, signal });
};
