/** DropTable: removes a table with all its versions. */

import { readCatalog } from "../../catalog/catalogTable.js";
import { isDeregistered } from "../../catalog/markers.js";
import { isDirectory, sweepDropped, takeAway } from "../../catalog/removal.js";
import { isUnshared } from "../../catalog/sharedPlaces.js";
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
  const { id, location, directory } = table;
  const isTable = isDirectory(disk, await disk.stat(directory));
  const vanish = (isDoomed: (movedTo: string) => Promise<boolean>) => {
    // Windows does not rename a directory in which a file is open.
    context.handles.evict(directory);
    return takeAway(disk, root, directory, isDoomed);
  };
  if (id.length === 1) {
    // The data of a table that was deregistered since it was found stays.
    const isListed = async (movedTo: string) =>
      (await isTable(movedTo)) && !(await isDeregistered(disk, movedTo));
    const { properties } = await removeRootTable(context, table, () => vanish(isListed), request.signal);
    await sweepDropped(disk, root);
    return { id, location: directory, properties };
  }
  const { properties, ownsDirectory } = await removeTableRow(context, table, request.signal);
  // Decided by then: what is left of the directory is in nobody's way.
  const isDoomed = async (movedTo: string) =>
    (await isTable(movedTo)) && (await isUnshared(context, location, (await readCatalog(context)).rows));
  if (ownsDirectory) await vanish(isDoomed).catch(() => false);
  await sweepDropped(disk, root);
  return { id, location: directory, properties };
}
