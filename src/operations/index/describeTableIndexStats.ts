/** DescribeTableIndexStats: returns how many rows of a version an index covers. */

import type {
  DescribeTableIndexStatsRequest,
  DescribeTableIndexStatsResponse,
} from "../../namespace/indexes.js";
import { countIndexedRows } from "../../table/commit/namedIndexes.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { requireString, requireTableId } from "../request.js";
import { requireSnapshot } from "../snapshot.js";
import { requireIndex } from "./findIndex.js";
import { typeOfIndex } from "./recordedIndex.js";

export async function describeTableIndexStats(
  context: OperationContext,
  request: DescribeTableIndexStatsRequest,
  access: Access,
): Promise<DescribeTableIndexStatsResponse> {
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
}
