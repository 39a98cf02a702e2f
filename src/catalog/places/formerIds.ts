/**
 * Tells the last id of a table that lies under no id: registering the table takes it from the owner of that
 * id. A table of a child namespace that is deregistered, renamed or registered here keeps a note of its last
 * id in its directory. For other tables the place tells, which was made of the id they were declared under.
 * Where the place does not show the whole id, only a caller that may register everything may take the table:
 * the root is asked about. Tables of the root have no other place than their own.
 */

import { decodeSealedJson, encodeSealedJson } from "../../bytes/sealedJson.js";
import { CorruptFileError } from "../../errors.js";
import { DEFAULT_DELIMITER } from "../../ident.js";
import type { Disk } from "../../io/disk/disk.js";
import { isMissing, isUnwritable } from "../../io/disk/errno.js";
import { replaceFile } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import type { CatalogEnvironment } from "../rows/catalogTable.js";
import { pathOf } from "../rows/objects.js";
import { idShownIn } from "./locations.js";
import type { TableLocation } from "./tables.js";

/** In a table's directory. Its JSON is the id, as a list of names. */
const NOTE_NAME = ".tiltyard-deregistered.json";
/** Bytes; ids are shorter. */
const MAX_NOTE_BYTES = 65_536;
/** Stands for an id that nobody knows. */
const ROOT: readonly string[] = [];

/**
 * Notes the id of a table, before the id is taken from it and before it gets another. Where its directory
 * can't be written to, its place has to tell the id.
 */
export async function noteFormerId({ disk }: CatalogEnvironment, location: TableLocation): Promise<void> {
  const bytes = encodeSealedJson(location.id);
  try {
    await replaceFile(disk, join(location.directory, NOTE_NAME), bytes, { sync: true });
  } catch (error) {
    if (!isUnwritable(error) && !isMissing(error)) throw error;
  }
}

/** Notes another id where there is a note. The note of a table of the root is from before it came there. */
export async function renewFormerId(environment: CatalogEnvironment, location: TableLocation): Promise<void> {
  if ((await environment.disk.stat(join(location.directory, NOTE_NAME))) === null) return;
  await noteFormerId(environment, location);
}

/**
 * The last ids of the table at a place and of those that it lies in; an empty one stands for an id that
 * nobody knows.
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
  try {
    const bytes = await disk.readFile(join(directory, NOTE_NAME), MAX_NOTE_BYTES);
    return bytes && parseNote(bytes);
  } catch (error) {
    // Too long for a note.
    if (error instanceof CorruptFileError) return ROOT;
    throw error;
  }
}

/** The id in a note; the root for anything that is no note. */
function parseNote(bytes: Uint8Array): readonly string[] {
  const id = decodeSealedJson(bytes);
  return isId(id) ? id : ROOT;
}

const isId = (value: unknown): value is readonly string[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((part) => typeof part === "string" && part !== "" && !part.includes(DEFAULT_DELIMITER));

/**
 * The id that a place was made of; the root where the place does not show it whole, null where it was made of
 * none.
 */
function idInPlace(name: string): readonly string[] | null {
  const shown = idShownIn(name);
  if (shown === undefined) return null;
  const id = shown === null ? ROOT : pathOf(shown);
  return isId(id) ? id : ROOT;
}
