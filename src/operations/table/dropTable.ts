/** DropTable: removes a table with all its versions. */

import { guardTable } from "../../catalog/guardTable.js";
import { hide } from "../../catalog/locations/markerChanges.js";
import { isDeregistered } from "../../catalog/locations/markers.js";
import { discardDirectory, sweepDropped, takeAway } from "../../catalog/locations/removal.js";
import { isNamed, isUnshared } from "../../catalog/locations/sharedLocations.js";
import { requireTable, type TableEntry } from "../../catalog/locations/tables.js";
import type { Catalog } from "../../catalog/rows/catalogRows.js";
import { readCatalog } from "../../catalog/rows/catalogTable.js";
import { objectIdOf } from "../../catalog/rows/objects.js";
import { removeRootTable, removeTableRow } from "../../catalog/tableRows.js";
import { InternalError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { uriOn } from "../../io/disk/addresses.js";
import type { FileStat } from "../../io/disk/disk.js";
import { tellFailure } from "../../io/disk/diskErrors.js";
import { codeOf } from "../../io/disk/errno.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { requireTableId } from "../request.js";

export const dropTable: OperationBody<"dropTable"> = async (context, request) => {
  const entry = await requireTable(context, requireTableId(request.id), "any");
  const { id, location, directory } = entry;
  const isTable = await guardTable(context.disk, entry);
  if (id.length === 1) {
    // A table that was deregistered meanwhile keeps its data.
    const isListed = async (movedTo: string, stat?: FileStat) =>
      (await isTable(movedTo, stat)) && !(await isDeregistered(context.disk, movedTo));
    const vanish = async (catalog: Catalog) => {
      const others = catalog.rows.filter(({ objectId }) => objectId !== objectIdOf(id));
      // Catalog rows of another engine may name the directory. Their tables keep the data.
      if (await isNamed(context, location, others)) {
        return hide(context.disk, directory, isTable).catch((error: unknown) => {
          if (codeOf(error) === "ENOENT") return false;
          throw error;
        });
      }
      return takeAway(context, directory, isListed);
    };
    const { properties } = await removeRootTable(context, entry, vanish, request.signal);
    await sweepDropped(context);
    await forgetJobs(context, entry);
    return { id, location: uriOn(context.disk, directory), properties };
  }
  const { properties, ownsDirectory } = await removeTableRow(context, entry, request.signal);
  const isDoomed = async (movedTo: string, stat?: FileStat) =>
    (await isTable(movedTo, stat)) &&
    (await isUnshared(context, location, (await readCatalog(context)).rows));
  if (ownsDirectory) {
    await discardDirectory(context, directory, isDoomed).catch((cause: unknown) => {
      throw new InternalError(
        `table ${formatIdentifier(id)} was dropped, but its files stay: ${tellFailure(cause)}`,
        { cause },
      );
    });
  }
  await sweepDropped(context);
  if (ownsDirectory) await forgetJobs(context, entry);
  return { id, location: uriOn(context.disk, directory), properties };
};

/** The table is gone already. Records that can't be removed become stale later. */
async function forgetJobs({ jobs }: OperationContext, { directory }: TableEntry): Promise<void> {
  await jobs
    .get()
    .then((loaded) => loaded.forgetTable(directory))
    .catch(() => undefined);
}
