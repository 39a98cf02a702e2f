/** BatchCreateTableVersions: publishes versions of several tables, all or none. */

import { commitBatch } from "../../catalog/batches/batches.js";
import type {
  BatchCreateTableVersionsRequest,
  BatchCreateTableVersionsResponse,
} from "../../namespace/versions.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { pinParts } from "../pinParts.js";
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
  const entries = pinParts(request.entries, "entries", (entry) => entry.id);
  for (const { id, branch } of entries) await access.require("createTableVersion", id, { branch });
  const parts: VersionPart[] = [];
  for (const entry of entries) parts.push(await openVersionPart(context, entry, access));
  let planned: PlannedVersions = NO_VERSIONS;
  await commitBatch(
    context,
    {
      ids: entries.map(({ id }) => requireTableId(id)),
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
