/**
 * Removes orphans of unfinished creations: directories with parts of a table, but no version and no marker.
 * An orphan is not a table. In the root it blocks a table that would move there; elsewhere it is harmless.
 *
 * A directory with a version stays, even if nothing refers to it: it may be a deregistered table, whose data
 * must be kept.
 */

import { ageOfChangeMs } from "../../async/timers.js";
import { ServiceUnavailableError, TableAlreadyExistsError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { Disk } from "../../io/disk/disk.js";
import { isMissing } from "../../io/disk/errno.js";
import { isTimeless } from "../../io/disk/timeless.js";
import { LOCK_NAME } from "../../io/lock/lease.js";
import { DEFAULT_STALE_MS, withLock } from "../../io/lock/lock.js";
import { foldName } from "../../io/names/foldName.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import { join } from "../../platform/native.js";
import { CREATED_PARTS, MANIFEST_SUFFIX } from "../../table/versions/paths.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import type { Catalog } from "../rows/catalogRows.js";
import { changeCatalog, readCatalog } from "../rows/catalogTable.js";
import { removeDropped } from "./droppedRecords.js";
import { isDropped } from "./markerChanges.js";
import { isDeregistered } from "./markers.js";
import { isNewLocation } from "./newLocations.js";
import { sweepDropped, takeAway } from "./removal.js";
import { findTable, type TableLocation } from "./tables.js";

/** Age from which the parts of a table without a row are abandoned, however slowly its rows arrive. */
const ABANDONED_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * Frees the location of a root table that does not exist. A creation that has not touched its directory for
 * as long as a lock takes to go stale counts as dead. If it continues, it finds its files gone, and fails.
 * @throws TableAlreadyExistsError if something else lies there, or something that may still become a table
 */
export async function clearLocation(
  environment: CatalogEnvironment,
  location: TableLocation,
  signal?: AbortSignal,
): Promise<void> {
  const { disk, lock } = environment;
  const stat = await disk.stat(location.directory);
  if (stat === null) return;
  if (stat.kind !== "directory") throw occupied(location);
  if (!(await isOrphan(disk, location.directory, lock.staleMs ?? DEFAULT_STALE_MS))) throw occupied(location);
  const isDoomed = (movedTo: string) => isOrphan(disk, movedTo, 0);
  try {
    await withLock(location.directory, { ...lock, signal }, async () => {
      const entry = await findTable(environment, location.id);
      if (entry !== null || (await isDeregistered(disk, location.directory))) throw occupied(location);
      await takeAway(environment, location.directory, isDoomed);
    });
  } catch (error) {
    // The creator, or another caller of this function, was quicker.
    if (!isMissing(error) || (await disk.stat(location.directory)) !== null) throw error;
  }
  await sweepDropped(environment);
  if (await isDropped(disk, location.directory)) throw occupied(location);
}

/**
 * Removes the orphans of dropped tables, and of creations in child namespaces that died at least a week ago.
 * It picks the latter under the catalog's lock, under which tables are published: a creation that continues
 * finds its directory gone.
 */
export async function sweepCreations(environment: CatalogEnvironment, signal?: AbortSignal): Promise<void> {
  await sweepDropped(environment);
  if ((await abandonedCreations(environment, await readCatalog(environment))).length === 0) return;
  const takeAllAway = async (catalog: Catalog): Promise<null> => {
    for (const directory of await abandonedCreations(environment, catalog)) {
      await takeAway(environment, directory, (movedTo) => isOrphan(environment.disk, movedTo, 0));
    }
    return null;
  };
  await changeCatalog(environment, takeAllAway, signal);
  await sweepDropped(environment);
}

async function abandonedCreations({ disk, root }: CatalogEnvironment, catalog: Catalog): Promise<string[]> {
  const named = new Set(catalog.rows.map(({ location }) => foldName(location?.split("/", 1)[0] ?? "")));
  const abandoned: string[] = [];
  for (const { name, kind } of (await disk.list(root)) ?? []) {
    if (kind !== "directory" || named.has(foldName(name)) || !isNewLocation(name)) continue;
    const directory = join(root, name);
    if (await isOrphan(disk, directory, ABANDONED_MS)) abandoned.push(directory);
  }
  return abandoned;
}

const occupied = ({ id, location }: TableLocation): TableAlreadyExistsError =>
  new TableAlreadyExistsError(
    `the location of table ${formatIdentifier(id)}, ${location}, contains something that is not a table, or not yet`,
  );

/** Returns true if a directory contains only files of a creation, and none younger than `ageMs`. */
async function isOrphan(disk: Disk, directory: string, ageMs: number): Promise<boolean> {
  const isOld = async (path: string): Promise<boolean> => {
    const stat = await disk.stat(path);
    return stat === null || isTimeless(stat) || ageOfChangeMs(stat.modifiedNs) >= ageMs;
  };
  if (!(await isOld(directory))) return false;
  for (const { name, kind } of (await disk.list(directory)) ?? []) {
    // The lock does not count: `clearLocation` waits for its holder.
    if (name.startsWith(LOCK_NAME) || (kind === "file" && name.startsWith(TEMPORARY_PREFIX))) continue;
    if (kind !== "directory" || !CREATED_PARTS.includes(name)) return false;
    const part = join(directory, name);
    if (!(await isOld(part))) return false;
    for (const entry of (await disk.list(part)) ?? []) {
      if (entry.name.endsWith(MANIFEST_SUFFIX) || !(await isOld(join(part, entry.name)))) return false;
    }
  }
  return true;
}

/**
 * Removes the orphans of a dropped table that could not be moved.
 * @throws ServiceUnavailableError if that is not possible yet
 */
export async function freeDropped(
  environment: CatalogEnvironment,
  { id, directory }: TableLocation,
): Promise<void> {
  // A concurrent sweep may have removed it.
  const cause = await removeDropped(environment, directory).catch((error: unknown) => error);
  if (await isDropped(environment.disk, directory)) {
    throw new ServiceUnavailableError(
      `table ${formatIdentifier(id)} was dropped, but its files are not removed yet; try again later`,
      { cause },
    );
  }
  await sweepDropped(environment);
}
