/** RenameTable: gives a table another name or namespace. */

import { requireTable } from "../../catalog/locations/tables.js";
import { relocateTable } from "../../catalog/relocation.js";
import { InvalidInputError } from "../../errors.js";
import type { RenameTableRequest, RenameTableResponse } from "../../namespace/tables.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { optionalId, optionalString, requireTableId } from "../request.js";

export async function renameTable(
  context: OperationContext,
  request: RenameTableRequest,
  access: Access,
): Promise<RenameTableResponse> {
  const id = requireTableId(request.id);
  const name = optionalString(request.newTableName, "newTableName");
  if (name === undefined || name === "") throw new InvalidInputError("newTableName: a name is needed");
  const newNamespaceId: unknown = request.newNamespaceId;
  const namespace =
    newNamespaceId === undefined || newNamespaceId === null ? id.slice(0, -1) : optionalId(newNamespaceId);
  const newId = [...namespace, name];
  await access.require("renameTable", newId);
  await relocateTable(context, await requireTable(context, id), newId, request.signal);
  return {};
}
