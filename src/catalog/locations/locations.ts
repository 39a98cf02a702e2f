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

import { toHex } from "../../bytes/hex.js";
import { CorruptFileError, InvalidInputError } from "../../errors.js";
import { checkRootTableName, isRootTableName } from "../../ident.js";
import { foldName, foldPath, isDeviceName } from "../../io/names/foldName.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import { join } from "../../platform/native.js";
import { CATALOG_DIRECTORY } from "../rows/catalogEnvironment.js";

const TABLE_SUFFIX = ".lance";
/** Prefix of the names of this engine's own directories. */
const OWN_PREFIX = ".tiltyard";
/** Folded prefixes of the entries that this engine or the reference makes. */
const ENGINE_PREFIXES: readonly string[] = [OWN_PREFIX, ".lance-", ".ns-", TEMPORARY_PREFIX].map(foldName);
const MAX_SHOWN_ID = 120;

export const rootLocation = (name: string): string => name + TABLE_SUFFIX;

/** Returns the name of the root table with this location, or null. */
export function rootTableAt(location: string): string | null {
  if (!location.endsWith(TABLE_SUFFIX)) return null;
  const name = location.slice(0, -TABLE_SUFFIX.length);
  return isRootTableName(name) ? name : null;
}

/**
 * Checks the name of a new root table, without regard to existing tables.
 * @throws InvalidInputError for a name whose directory some platform could not make, or could not hold after
 *   a move
 */
export function checkNewRootTableName(name: string): void {
  checkRootTableName(name);
  const refuse = (reason: string): never => {
    throw new InvalidInputError(`invalid table name ${JSON.stringify(name)}: ${reason}`);
  };
  if (isDeviceName(rootLocation(name))) refuse("Windows takes a directory of that name for a device");
  const folded = foldName(rootLocation(name));
  const prefix = ENGINE_PREFIXES.find((each) => folded.startsWith(each));
  if (prefix !== undefined) refuse(`names that begin with ${prefix.toLowerCase()} are the engine's own`);
}

/** Returns true if some file system treats a location, or a parent of it, as a root table's. */
export function isInRootTable(location: string): boolean {
  const folded = foldName(location.split("/", 1)[0]);
  const suffix = foldName(TABLE_SUFFIX);
  return folded.endsWith(suffix) && isRootTableName(folded.slice(0, -suffix.length));
}

/** Returns true if some file system treats two locations as equal or nested. */
export function mayOverlap(location: string, otherLocation: string): boolean {
  if (differEarly(location, otherLocation)) return false;
  const [a, b] = [foldPath(location), foldPath(otherLocation)];
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

/** Returns true if the first letters and digits of two texts show that they do not fold together. */
function differEarly(a: string, b: string): boolean {
  for (let index = 0; index < a.length && index < b.length; index++) {
    const [left, right] = [plainUnit(a, index), plainUnit(b, index)];
    if (left === null || right === null) return false;
    if (left !== right) return true;
  }
  return false;
}

/** Returns an ASCII letter or digit in upper case, whose fold needs no later text; null for others. */
function plainUnit(text: string, index: number): number | null {
  const unit = text.charCodeAt(index);
  if (unit >= 0x30 && unit <= 0x39) return unit;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x7a ? lower : null;
}

/** Makes a new location for a child namespace's table, which no file system treats as a root table's. */
export function newLocation(objectId: string): string {
  const shown = objectId
    .slice(0, MAX_SHOWN_ID)
    .replace(/[^A-Za-z0-9_$.-]/g, "_")
    .replace(/\.(lance)?$/i, "_$1")
    .replace(/\.+$/, "_");
  return `${toHex(crypto.getRandomValues(new Uint8Array(4)))}_${shown}`;
}

/** Returns true if a location may come from {@link newLocation}. */
export const isNewLocation = (location: string): boolean => /^[0-9a-f]{8}_[A-Za-z0-9_$.-]*$/.test(location);

/** Returns the object id that a location shows; null if it may be escaped or cut, undefined if none. */
export function idShownIn(name: string): string | null | undefined {
  const [, shown] = /^[0-9a-f]{8}_(.*)$/s.exec(name) ?? [];
  if (shown === undefined) return undefined;
  return /^[A-Za-z0-9$.-]+$/.test(shown) && shown.length < MAX_SHOWN_ID ? shown : null;
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

/**
 * Checks a location that a caller chose.
 * @throws InvalidInputError unless it is relative and stays below the root, on every platform
 */
export function checkNewLocation(location: string): void {
  checkLocation(location);
  const device = location.split("/").find(isDeviceName);
  if (device === undefined) return;
  throw new InvalidInputError(
    `location: ${JSON.stringify(location.slice(0, 200))}: Windows takes ${device.slice(0, 200)} for a device`,
  );
}

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
