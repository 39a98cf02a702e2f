/** DropTable: removes a table with all its versions. */

import { sweepDropped, takeAway } from "../../catalog/removal.js";
import { removeRootTable, removeTableRow } from "../../catalog/tableRows.js";
import { requireTable } from "../../catalog/tables.js";
import type { DropTableRequest, DropTableResponse } from "../../namespace.js";
import type { OperationContext } from "../context.js";
import { requireTableId } from "../request.js";

export async function dropTable(
  context: OperationContext,
  request: DropTableRequest,
): Promise<DropTableResponse> {
  const { disk, root } = context;
  const table = await requireTable(context, requireTableId(request.id));
  const { id, directory } = table;
  const vanish = () => {
    // Windows does not rename a directory in which a file is open.
    context.handles.evict(directory);
    return takeAway(disk, root, directory);
  };
  if (id.length === 1) {
    const { properties } = await removeRootTable(context, table, vanish, request.signal);
    await sweepDropped(disk, root);
    return { id, location: directory, properties };
  }
  const { properties, ownsDirectory } = await removeTableRow(context, table, request.signal);
  // Decided by then: what is left of the directory is in nobody's way.
  if (ownsDirectory) await vanish().catch(() => false);
  await sweepDropped(disk, root);
  return { id, location: directory, properties };
}
