/** UpdateTableSchemaMetadata: replaces all metadata of the schema. */

import type {
  UpdateTableSchemaMetadataRequest,
  UpdateTableSchemaMetadataResponse,
} from "../../namespace/schema.js";
import { commitPlanned } from "../../table/commit/commit.js";
import { planSchemaMetadata } from "../../write/columns/fieldMetadata.js";
import type { OperationContext } from "../context.js";
import { requireMap } from "../request.js";
import { openWritable } from "../snapshot.js";

export async function updateTableSchemaMetadata(
  context: OperationContext,
  request: UpdateTableSchemaMetadataRequest,
): Promise<UpdateTableSchemaMetadataResponse> {
  const metadata = new Map(Object.entries(requireMap(request.metadata, "metadata")));
  const table = await openWritable(context, request);
  const { committed, plan } = await commitPlanned(
    table,
    ({ file }) => ({ transaction: planSchemaMetadata(file, metadata) }),
    { signal: request.signal },
  );
  return {
    transactionId: plan.transaction.uuid,
    version: committed.version,
    metadata: Object.fromEntries(metadata),
  };
}
