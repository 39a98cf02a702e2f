/**
 * Whose a table was that lies under no id: who registers it takes it from them. A table of a child namespace that is
 * deregistered here keeps a note of its last id in its directory. Of others the place tells, which was made of the id they
 * were declared under. Tables of the root have no other place than their own.
 */

import { join } from "node:path";
import { CorruptFileError } from "../errors.js";
import { DEFAULT_DELIMITER } from "../ident.js";
import type { Disk } from "../io/disk.js";
import { isMissing, isUnwritable } from "../io/errno.js";
import { replaceFile } from "../io/publish.js";
import type { CatalogEnvironment } from "./catalogTable.js";
import { isNewLocation } from "./locations.js";
import { pathOf } from "./objects.js";
import type { TableLocation } from "./tables.js";

/** In a table's directory. Its JSON is the id, as a list of names. */
const NOTE_NAME = ".tiltyard-deregistered.json";
/** Bytes; ids are shorter. */
const MAX_NOTE_BYTES = 65_536;
/** Characters in front of the id in a place that was made of it. */
const MARK_LENGTH = "00000000_".length;

/**
 * Notes whose a table is, before its id is taken from it. Where its directory can't be written to, its place has to tell.
 */
export async function noteFormerId({ disk }: CatalogEnvironment, place: TableLocation): Promise<void> {
  const bytes = new TextEncoder().encode(JSON.stringify(place.id));
  try {
    await replaceFile(disk, join(place.directory, NOTE_NAME), bytes, { sync: true });
  } catch (error) {
    if (!isUnwritable(error) && !isMissing(error)) throw error;
  }
}

/**
 * The ids that the table at a place, and those that it lies in, had last.
 * @param location below the root, without symbolic links
 */
export async function formerIdsOf(
  { disk, root }: CatalogEnvironment,
  location: string,
): Promise<(readonly string[])[]> {
  const ids: (readonly string[])[] = [];
  const segments = location.split("/");
  for (const [index, name] of segments.entries()) {
    const directory = join(root, ...segments.slice(0, index + 1));
    const id = (await readNote(disk, directory)) ?? idInPlace(name);
    if (id !== null) ids.push(id);
  }
  return ids;
}

async function readNote(disk: Disk, directory: string): Promise<readonly string[] | null> {
  const bytes = await disk.readFile(join(directory, NOTE_NAME), MAX_NOTE_BYTES).catch((error: unknown) => {
    // Too long for a note.
    if (error instanceof CorruptFileError) return null;
    throw error;
  });
  return bytes && parseNote(bytes);
}

/** Null for what nobody wrote who takes part. */
function parseNote(bytes: Uint8Array): readonly string[] | null {
  try {
    const id: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isId(id) ? id : null;
  } catch {
    return null;
  }
}

const isId = (value: unknown): value is readonly string[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((part) => typeof part === "string" && part !== "" && !part.includes(DEFAULT_DELIMITER));

/** The id that a place was made of, as far as it shows it. */
function idInPlace(name: string): readonly string[] | null {
  if (!isNewLocation(name)) return null;
  const id = pathOf(name.slice(MARK_LENGTH));
  return isId(id) ? id : null;
}
