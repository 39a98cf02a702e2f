/**
 * Determines the last id of a table without an id, because registering the table needs the permission of that
 * id's owner. A child namespace's table that is deregistered, renamed or registered keeps a note of its last
 * id in its directory. For other tables the location, which was made from the declared id, tells the last id.
 * If the location does not show the whole id, the caller needs the permission to register everything, which
 * is that of the root. Root tables always lie in their own location.
 */

import { decodeSealedJson, encodeSealedJson } from "../../bytes/sealedJson.js";
import { CorruptFileError } from "../../errors.js";
import { DEFAULT_DELIMITER } from "../../ident.js";
import type { Disk } from "../../io/disk/disk.js";
import { isMissing, isUnwritable } from "../../io/disk/errno.js";
import { replaceFile } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import { pathOf } from "../rows/objects.js";
import { idShownIn } from "./newLocations.js";
import type { TableLocation } from "./tables.js";

/** Name of the note in a table's directory. Its JSON is the id, as a list of names. */
const NOTE_NAME = ".tiltyard-deregistered.json";
/** Maximum size in bytes; ids are shorter. */
const MAX_NOTE_BYTES = 65_536;
/** Stands for an unknown id. */
const ROOT: readonly string[] = [];

/** Records an id before its table loses it. Without write permission, the location must tell the id. */
export async function noteFormerId({ disk }: CatalogEnvironment, location: TableLocation): Promise<void> {
  const bytes = encodeSealedJson(location.id);
  try {
    await replaceFile(disk, join(location.directory, NOTE_NAME), bytes, { sync: true });
  } catch (error) {
    if (!isUnwritable(error) && !isMissing(error)) throw error;
  }
}

/** Updates an existing note. A root table's note is from the time before the table moved to the root. */
export async function renewFormerId(environment: CatalogEnvironment, location: TableLocation): Promise<void> {
  if ((await environment.disk.stat(join(location.directory, NOTE_NAME))) === null) return;
  await noteFormerId(environment, location);
}

/**
 * Returns the last ids of the table in a location, and of the tables around it; an empty id is unknown.
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
    const id = (await readNote(disk, directory)) ?? idInLocation(name);
    if (id !== null) ids.push(id);
  }
  return ids;
}

async function readNote(disk: Disk, directory: string): Promise<readonly string[] | null> {
  try {
    const bytes = await disk.readFile(join(directory, NOTE_NAME), MAX_NOTE_BYTES);
    return bytes && parseNote(bytes);
  } catch (error) {
    // The file is too long for a note.
    if (error instanceof CorruptFileError) return ROOT;
    throw error;
  }
}

/** Parses a note; the root if it is malformed. */
function parseNote(bytes: Uint8Array): readonly string[] {
  const id = decodeSealedJson(bytes);
  return isId(id) ? id : ROOT;
}

const isId = (value: unknown): value is readonly string[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((part) => typeof part === "string" && part !== "" && !part.includes(DEFAULT_DELIMITER));

/**
 * Returns the id that a location was made from; the root if the location shows only a part of the id, null if
 * it shows none.
 */
function idInLocation(name: string): readonly string[] | null {
  const shown = idShownIn(name);
  if (shown === undefined) return null;
  const id = shown === null ? ROOT : pathOf(shown);
  return isId(id) ? id : ROOT;
}
