/** DescribeTableIndexStats: returns how many rows of a version an index covers. */

import { countIndexedRows } from "../../table/commit/namedIndexes.js";
import type { OperationBody } from "../operation.js";
import { requireTableId } from "../request.js";
import { requireString } from "../requestValues.js";
import { requireSnapshot } from "../snapshot.js";
import { requireIndex, typeOfIndex } from "./recordedIndex.js";

export const describeTableIndexStats: OperationBody<"describeTableIndexStats"> = async (
  context,
  request,
  access,
) => {
  const name = requireString(request.indexName, "indexName");
  const snapshot = await requireSnapshot(context, request, access);
  const index = requireIndex(snapshot.file, name, requireTableId(request.id));
  const { indexed, unindexed } = countIndexedRows(snapshot.file.manifest, index);
  return {
    ...(await typeOfIndex(snapshot, index)),
    numIndexedRows: indexed,
    numUnindexedRows: unindexed,
    numIndices: index.segments.length,
  };
};
