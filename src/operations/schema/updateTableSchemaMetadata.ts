/** UpdateTableSchemaMetadata: replaces all metadata of the schema. */

import { commitPlanned } from "../../table/commit/commit.js";
import { planSchemaMetadata } from "../../write/columns/fieldMetadata.js";
import type { OperationBody } from "../operation.js";
import { requireMap } from "../requestValues.js";
import { openWritable } from "../snapshot.js";

export const updateTableSchemaMetadata: OperationBody<"updateTableSchemaMetadata"> = async (
  context,
  request,
) => {
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
};
