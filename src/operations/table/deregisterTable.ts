/** DeregisterTable: takes the id from a table and keeps its data. */

import { detachTable } from "../../catalog/registration.js";
import { uriOn } from "../../io/disk/addresses.js";
import type { OperationBody } from "../operation.js";
import { requireTableId } from "../request.js";

export const deregisterTable: OperationBody<"deregisterTable"> = async (context, request) => {
  const id = requireTableId(request.id);
  const { directory, properties } = await detachTable(context, id, request.signal);
  return { id, location: uriOn(context.disk, directory), properties };
};
