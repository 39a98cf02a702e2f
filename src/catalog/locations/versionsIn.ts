/** Looks for versions in a directory. */

import { PermissionDeniedError } from "../../errors.js";
import type { DirectoryEntry, Disk } from "../../io/disk/disk.js";
import { parseManifestName, versionsDirectory } from "../../table/versions/paths.js";
import type { CatalogEnvironment, RootTableState } from "../rows/catalogEnvironment.js";
import { isDeregistered, isHidingMarker } from "./markers.js";

/**
 * Returns true if a directory of versions has one. A link out of the admitted directories counts as a
 * directory without one.
 */
export async function hasVersionsIn(disk: Disk, path: string): Promise<boolean> {
  const entries = (await listAdmitted(disk, path)) ?? [];
  return entries.some((entry) => entry.kind === "file" && parseManifestName(entry.name) !== null);
}

/** Looks at the directory of a root table. */
export async function lookAtRootTable(
  { disk, versionsIn }: Pick<CatalogEnvironment, "disk" | "versionsIn">,
  directory: string,
): Promise<RootTableState> {
  const entries = await listAdmitted(disk, directory);
  const isHidden =
    entries === null ? isDeregistered(disk, directory) : entries.some(({ name }) => isHidingMarker(name));
  // Only a table that is dropped loses its versions, and a drop changes the directory, as markers do.
  return {
    isHidden: await isHidden,
    hasVersions: (await versionsIn.find(versionsDirectory(directory))) === true,
  };
}

/** Lists a directory; null for a missing one, and for a link out of the admitted directories. */
const listAdmitted = (disk: Disk, path: string): Promise<DirectoryEntry[] | null> =>
  disk.list(path).catch((error: unknown) => {
    if (error instanceof PermissionDeniedError) return null;
    throw error;
  });
