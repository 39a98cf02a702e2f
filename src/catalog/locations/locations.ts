/**
 * Defines the locations of tables: directories relative to the namespace's, with `/`:
 *
 *     <name>.lance            a table of the root namespace; the name determines the location
 *     <8 hex>_<object id>     a table of another namespace; random, stored in its catalog row
 *     anything else           a table that was registered
 *
 * The id in a location is for people. Characters that a file system or the reference's paths could refuse or
 * rewrite are escaped, and long ids are cut. The engine uses it only to tell whose a location was, if it
 * shows the whole id.
 */

import { CorruptFileError, InvalidInputError } from "../../errors.js";
import { isRootTableName } from "../../ident.js";
import { foldName } from "../../io/names/foldName.js";
import { join } from "../../platform/native.js";
import { CATALOG_DIRECTORY } from "../rows/catalogEnvironment.js";

const TABLE_SUFFIX = ".lance";
/** Prefix of the names of this engine's own directories. */
export const OWN_PREFIX = ".tiltyard";

export const rootLocation = (name: string): string => name + TABLE_SUFFIX;

/** Returns the name of the root table with this location, or null. */
export function rootTableAt(location: string): string | null {
  if (!location.endsWith(TABLE_SUFFIX)) return null;
  const name = location.slice(0, -TABLE_SUFFIX.length);
  return isRootTableName(name) ? name : null;
}

/** Returns true if some file system treats a location, or a parent of it, as a root table's. */
export function isInRootTable(location: string): boolean {
  const folded = foldName(location.split("/", 1)[0]);
  const suffix = foldName(TABLE_SUFFIX);
  return folded.endsWith(suffix) && isRootTableName(folded.slice(0, -suffix.length));
}

/**
 * Returns the directory of a location that a catalog row names.
 * @throws CorruptFileError if it leads out of the root, or is not a table's
 */
export function directoryOfRow(root: string, location: string | null, objectId: string): string {
  const reason = location === null ? "it is missing" : whyNotALocation(location);
  if (location === null || reason !== null) {
    const shown = JSON.stringify(location?.slice(0, 200) ?? null);
    const path = join(root, CATALOG_DIRECTORY);
    throw new CorruptFileError(path, 0, `location ${shown} of ${objectId}: ${reason}`);
  }
  return directoryAt(root, location);
}

/** Returns the directory of a checked location below the root. */
export const directoryAt = (root: string, location: string): string => join(root, ...location.split("/"));

/** @throws InvalidInputError unless a location is relative and stays below the root */
export function checkLocation(location: string): void {
  const reason = whyNotALocation(location);
  if (reason !== null) {
    throw new InvalidInputError(`location: ${JSON.stringify(location.slice(0, 200))}: ${reason}`);
  }
}

function whyNotALocation(location: string): string | null {
  if (location === "") return "it is empty";
  if (location.includes("://") || /^[A-Za-z]:/.test(location)) return "it must be relative to the root";
  if (location.startsWith("/")) return "it must be relative to the root";
  if (/[\0\\]/.test(location)) return "it contains a character that locations cannot have";
  const segments = location.split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    return "it contains an empty part, '.' or '..'";
  }
  if (isOwnName(segments[0])) return "it cannot be a table's";
  return null;
}

/** Returns true if some file system would find the engine's own files by that name. */
function isOwnName(name: string): boolean {
  // Most names begin with a letter or digit, which folding keeps.
  if (/^[A-Za-z0-9]/.test(name)) return false;
  const folded = foldName(name);
  return folded === foldName(CATALOG_DIRECTORY) || folded.startsWith(foldName(OWN_PREFIX));
}
