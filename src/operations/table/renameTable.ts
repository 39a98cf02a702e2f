/** RenameTable: gives a table another name or namespace. */

import { requireTable } from "../../catalog/locations/tables.js";
import { relocateTable } from "../../catalog/relocation.js";
import type { OperationBody } from "../operation.js";
import { optionalId, requireTableId } from "../request.js";
import { requireString } from "../requestValues.js";

export const renameTable: OperationBody<"renameTable"> = async (context, request, access) => {
  const id = requireTableId(request.id);
  const name = requireString(request.newTableName, "newTableName");
  const newId = [...optionalId(request.newNamespaceId ?? id.slice(0, -1)), name];
  await access.require("renameTable", newId);
  await relocateTable(context, await requireTable(context, id), newId, request.signal);
  return {};
};
