/** UpdateFieldMetadata: merges or replaces the metadata of fields, all or none. */

import { commitPlanned } from "../../table/commit/commit.js";
import { type MetadataChange, planFieldMetadata } from "../../write/columns/fieldMetadata.js";
import type { OperationBody } from "../operation.js";
import { optionalBoolean } from "../request.js";
import { requireNullableMap, requireObjects, requireString } from "../requestValues.js";
import { openWritable } from "../snapshot.js";

export const updateFieldMetadata: OperationBody<"updateFieldMetadata"> = async (context, request) => {
  const changes = requireObjects(request.updates, "updates").map(checkedUpdate);
  const table = await openWritable(context, request);
  const { committed, plan } = await commitPlanned(table, ({ file }) => planFieldMetadata(file, changes), {
    signal: request.signal,
  });
  const fields = Array.from(plan.fields, ([path, metadata]) => [path, Object.fromEntries(metadata)]);
  return {
    transactionId: plan.transaction.uuid,
    version: committed.version,
    fields: Object.fromEntries(fields),
  };
};

function checkedUpdate(update: Readonly<Record<string, unknown>>, index: number): MetadataChange {
  const member = `updates[${index}]`;
  return {
    path: requireString(update.path, `${member}.path`),
    metadata: requireNullableMap(update.metadata, `${member}.metadata`),
    replace: optionalBoolean(update.replace, `${member}.replace`) ?? false,
  };
}
