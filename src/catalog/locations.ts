/**
 * Where tables lie below the namespace's directory. Always relative, with `/`:
 *
 *     <name>.lance            a table of the root namespace; its name is its place
 *     <8 hex>_<object id>     a table of another namespace; random, kept in its catalog row
 *     anything else           a table that was registered
 *
 * The id in a place is for people: what a file system or the reference's paths could refuse or rewrite is escaped,
 * and long ones are cut. Nobody parses it.
 */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { CorruptFileError, InvalidInputError } from "../errors.js";
import { isRootTableName } from "../ident.js";
import { CATALOG_DIRECTORY } from "./catalogTable.js";

const TABLE_SUFFIX = ".lance";
/** Start of the names of directories that this engine keeps for itself. */
const OWN_PREFIX = ".tiltyard";
const MAX_SHOWN_ID = 120;

/** The place of a root table. */
export const rootLocation = (name: string): string => name + TABLE_SUFFIX;

/** The name of the root table whose place this would be, or null. */
export function rootTableAt(location: string): string | null {
  if (!location.endsWith(TABLE_SUFFIX)) return null;
  const name = location.slice(0, -TABLE_SUFFIX.length);
  return isRootTableName(name) ? name : null;
}

/** A new place for a table of a child namespace; never one that would be taken for a root table's. */
export function newLocation(objectId: string): string {
  const shown = objectId
    .slice(0, MAX_SHOWN_ID)
    .replace(/[^A-Za-z0-9_$.-]/g, "_")
    .replace(/\.(lance)?$/i, "_$1")
    .replace(/\.+$/, "_");
  return `${randomBytes(4).toString("hex")}_${shown}`;
}

/** Whether a place may be one that {@link newLocation} gave. */
export const isNewLocation = (location: string): boolean => /^[0-9a-f]{8}_[A-Za-z0-9_$.-]*$/.test(location);

/**
 * The directory of a place that a catalog row names.
 * @throws CorruptFileError where it leads out of the root, or to what is no table's
 */
export function directoryOf(root: string, location: string | null, objectId: string): string {
  const reason = location === null ? "it is missing" : whyNotALocation(location);
  if (location === null || reason !== null) {
    const shown = JSON.stringify(location?.slice(0, 200) ?? null);
    const path = join(root, CATALOG_DIRECTORY);
    throw new CorruptFileError(path, 0, `location ${shown} of ${objectId}: ${reason}`);
  }
  return join(root, ...location.split("/"));
}

/**
 * A place a caller hands in.
 * @throws InvalidInputError unless it is relative and stays below the root
 */
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
  if (/[\0\\]/.test(location)) return "it holds a character that no place has";
  const segments = location.split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    return "it holds an empty part, '.' or '..'";
  }
  if (segments[0] === CATALOG_DIRECTORY || segments[0].startsWith(OWN_PREFIX)) return "it is no table's";
  return null;
}
