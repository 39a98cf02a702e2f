/**
 * The places of tables below the namespace's directory. Always relative, with `/`:
 *
 *     <name>.lance            a table of the root namespace; its name is its place
 *     <8 hex>_<object id>     a table of another namespace; random, kept in its catalog row
 *     anything else           a table that was registered
 *
 * The id in a place is for people: characters that a file system or the reference's paths could refuse or
 * rewrite are escaped, and long ids are cut. The engine only uses it to tell whose a place was, where it
 * shows the whole id.
 */

import { toHex } from "../../bytes/hex.js";
import { CorruptFileError, InvalidInputError } from "../../errors.js";
import { checkRootTableName, isRootTableName } from "../../ident.js";
import { foldName, foldPath, isDeviceName } from "../../io/names/foldName.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import { join } from "../../platform/native.js";
import { CATALOG_DIRECTORY } from "../rows/catalogTable.js";

const TABLE_SUFFIX = ".lance";
/** Start of the names of directories that this engine keeps for itself. */
const OWN_PREFIX = ".tiltyard";
/** Starts of names of entries that this engine or the reference makes, folded. */
const ENGINE_PREFIXES: readonly string[] = [OWN_PREFIX, ".lance-", ".ns-", TEMPORARY_PREFIX].map(foldName);
const MAX_SHOWN_ID = 120;

/** The place of a root table. */
export const rootLocation = (name: string): string => name + TABLE_SUFFIX;

/** The name of the root table whose place this would be, or null. */
export function rootTableAt(location: string): string | null {
  if (!location.endsWith(TABLE_SUFFIX)) return null;
  const name = location.slice(0, -TABLE_SUFFIX.length);
  return isRootTableName(name) ? name : null;
}

/**
 * Checks the name of a table of the root that is to be made. The names of other tables are not looked at
 * here.
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

/** True if a place is, or lies in, one that some file system treats as that of a root table. */
export function isInRootTable(location: string): boolean {
  const folded = foldName(location.split("/", 1)[0]);
  const suffix = foldName(TABLE_SUFFIX);
  return folded.endsWith(suffix) && isRootTableName(folded.slice(0, -suffix.length));
}

/** True if some file system treats two places as the same, or finds one in the other. */
export function mayOverlap(location: string, other: string): boolean {
  if (differEarly(location, other)) return false;
  const [a, b] = [foldPath(location), foldPath(other)];
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

/**
 * True if the letters and digits at the start of two texts show that they don't fold together, as in most
 * cases.
 */
function differEarly(a: string, b: string): boolean {
  for (let index = 0; index < a.length && index < b.length; index++) {
    const [left, right] = [plainUnit(a, index), plainUnit(b, index)];
    if (left === null || right === null) return false;
    if (left !== right) return true;
  }
  return false;
}

/** A letter or digit of ASCII, whose fold nothing that follows can change; null for anything else. */
function plainUnit(text: string, index: number): number | null {
  const unit = text.charCodeAt(index);
  if (unit >= 0x30 && unit <= 0x39) return unit;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x7a ? lower : null;
}

/** A new place for a table of a child namespace; never one that would be taken for a root table's. */
export function newLocation(objectId: string): string {
  const shown = objectId
    .slice(0, MAX_SHOWN_ID)
    .replace(/[^A-Za-z0-9_$.-]/g, "_")
    .replace(/\.(lance)?$/i, "_$1")
    .replace(/\.+$/, "_");
  return `${toHex(crypto.getRandomValues(new Uint8Array(4)))}_${shown}`;
}

/** True if a place may come from {@link newLocation}. */
export const isNewLocation = (location: string): boolean => /^[0-9a-f]{8}_[A-Za-z0-9_$.-]*$/.test(location);

/**
 * The object id that the name of a place shows; null where it was escaped or cut, or may have been; undefined
 * where the place was not made of an id.
 */
export function idShownIn(name: string): string | null | undefined {
  const [, shown] = /^[0-9a-f]{8}_(.*)$/s.exec(name) ?? [];
  if (shown === undefined) return undefined;
  return /^[A-Za-z0-9$.-]+$/.test(shown) && shown.length < MAX_SHOWN_ID ? shown : null;
}

/**
 * The directory of a place that a catalog row names.
 * @throws CorruptFileError where it leads out of the root, or to something that is no table's
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

/** The directory at a location below the root, which was checked before. */
export const directoryAt = (root: string, location: string): string => join(root, ...location.split("/"));

/**
 * Checks a place that a caller hands in.
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

/** @throws InvalidInputError unless a place is relative and stays below the root */
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
  if (isOwnName(segments[0])) return "it is no table's";
  return null;
}

/** True if some file system would find the engine's own files by that name. */
function isOwnName(name: string): boolean {
  // Most begin with a letter or digit, which no fold takes away.
  if (/^[A-Za-z0-9]/.test(name)) return false;
  const folded = foldName(name);
  return folded === foldName(CATALOG_DIRECTORY) || folded.startsWith(foldName(OWN_PREFIX));
}
