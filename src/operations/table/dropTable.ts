/** DropTable: removes a table with all its versions. */

import { locateTable, removeTable, requireTable } from "../../catalog/rootTables.js";
import type { DropTableRequest, DropTableResponse } from "../../namespace.js";
import type { OperationContext } from "../context.js";
import { requireTableId } from "../request.js";

export async function dropTable(
  context: OperationContext,
  request: DropTableRequest,
): Promise<DropTableResponse> {
  const location = await locateTable(context.disk, context.root, requireTableId(request.id));
  await requireTable(context.disk, location);
  // Windows does not rename a directory in which a file is open.
  await context.handles.evict(location.directory);
  await removeTable(context.disk, location);
  return { id: location.id, location: location.directory };
}
