/** BatchCreateTableVersions: publishes versions of several tables, all or none. */

import { commitBatch } from "../../catalog/batches/batches.js";
import type { OperationBody } from "../operation.js";
import { requireTableId } from "../request.js";
import { pinParts } from "../requestValues.js";
import {
  NO_VERSIONS,
  openVersionPart,
  type PlannedVersions,
  planVersions,
  publishedVersions,
  type VersionPart,
} from "./batch.js";

export const batchCreateTableVersions: OperationBody<"batchCreateTableVersions"> = async (
  context,
  request,
  access,
) => {
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
};
