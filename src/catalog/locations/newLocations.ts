/** Names and locations of new tables (locations.ts). */

import { toHex } from "../../bytes/hex.js";
import { InvalidInputError } from "../../errors.js";
import { checkRootTableName } from "../../ident.js";
import { foldName, foldPath, isDeviceName } from "../../io/names/foldName.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import { checkLocation, OWN_PREFIX, rootLocation } from "./locations.js";

/** Folded prefixes of the entries that this engine or the reference makes. */
const ENGINE_PREFIXES: readonly string[] = [OWN_PREFIX, ".lance-", ".ns-", TEMPORARY_PREFIX].map(foldName);
const MAX_SHOWN_ID = 120;

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
