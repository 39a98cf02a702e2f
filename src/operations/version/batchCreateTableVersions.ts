/** BatchCreateTableVersions: versions of several tables, all of them or none. */

import { commitBatch } from "../../catalog/batches/batches.js";
import type {
  BatchCreateTableVersionsRequest,
  BatchCreateTableVersionsResponse,
} from "../../namespace/versions.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { requireTableId } from "../request.js";
import {
  NO_VERSIONS,
  openVersionPart,
  type PlannedVersions,
  planVersions,
  publishedVersions,
  type VersionPart,
} from "./batch.js";

export async function batchCreateTableVersions(
  context: OperationContext,
  request: BatchCreateTableVersionsRequest,
  access: Access,
): Promise<BatchCreateTableVersionsResponse> {
  const parts: VersionPart[] = [];
  for (const entry of request.entries) parts.push(await openVersionPart(context, entry, access));
  let planned: PlannedVersions = NO_VERSIONS;
  await commitBatch(
    context,
    {
      ids: request.entries.map(({ id }) => requireTableId(id)),
      tableRoots: parts.map((part) => part.table.root),
    },
    async () => {
      planned = await planVersions(parts);
      return { steps: planned.steps, manifests: planned.sources.map((source) => source.bytes) };
    },
    request.signal,
  );
  return { versions: await publishedVersions(parts, planned) };
}
