/** DeregisterTable: takes the id from a table and keeps its data. */

import { detachTable } from "../../catalog/registration.js";
import type { DeregisterTableRequest, DeregisterTableResponse } from "../../namespace/tables.js";
import type { OperationContext } from "../context.js";
import { requireTableId } from "../request.js";

export async function deregisterTable(
  context: OperationContext,
  request: DeregisterTableRequest,
): Promise<DeregisterTableResponse> {
  const id = requireTableId(request.id);
  const { directory, properties } = await detachTable(context, id, request.signal);
  return { id, location: directory, properties };
}
