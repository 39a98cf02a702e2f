/** BatchDeleteTableVersions: deletes versions of a table, all or none. */

import { commitBatch } from "../../catalog/batches/batches.js";
import type { DeleteVersionsStep } from "../../catalog/batches/journalFormat.js";
import type { OperationBody } from "../operation.js";
import { requireTableId } from "../request.js";
import { finishRemovals, openRemovalPart, planRemovals, removalRoots } from "./removal.js";

export const batchDeleteTableVersions: OperationBody<"batchDeleteTableVersions"> = async (
  context,
  request,
) => {
  const part = await openRemovalPart(context, request);
  let steps: (DeleteVersionsStep | null)[] = [];
  await commitBatch(
    context,
    { ids: [requireTableId(request.id)], tableRoots: removalRoots(part) },
    async () => {
      steps = await planRemovals([part]);
      return { steps: steps.filter((step) => step !== null), manifests: [] };
    },
    request.signal,
  );
  await finishRemovals([part], steps, request.signal);
  return { deletedCount: steps[0]?.versions.length ?? 0 };
};
