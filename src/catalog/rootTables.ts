/**
 * Tables of the root namespace: table `t` is the directory `<root>/t.lance`. A table exists when it has data
 * versions or a reservation marker, and is hidden by a deregistration marker. Markers stay when data arrives, so
 * their presence never means that a table is empty.
 */

import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import {
  ConcurrentModificationError,
  InvalidInputError,
  NamespaceNotFoundError,
  TableAlreadyExistsError,
  TableNotFoundError,
  UnsupportedError,
} from "../errors.js";
import { checkObjectName, checkRootTableName, formatIdentifier } from "../ident.js";
import type { Disk } from "../io/disk.js";
import { codeOf } from "../io/errno.js";
import { createExclusive } from "../io/publish.js";
import { findLatestVersion, type LatestVersion } from "../table/versions.js";

const TABLE_SUFFIX = ".lance";
/** The interface document's marker of a declared table. */
const RESERVED_MARKER = ".ns-reserved";
/** The marker the reference implementation looks for. */
const REFERENCE_RESERVED_MARKER = ".lance-reserved";
const DEREGISTERED_MARKER = ".lance-deregistered";
/** What the reference writes into its marker; nobody reads it. */
const MARKER_CONTENT = new TextEncoder().encode("reserved");
/** The reference's catalog of child namespaces, a directory beside the tables. */
const CATALOG_DIRECTORY = "__manifest";
/** Start of the names that dropped tables' directories carry until they are gone. */
const DROPPED_PREFIX = ".tiltyard-dropped-";
/** What Windows answers to the renaming of a directory in which a file is open. */
const OPEN_FILE_CODES: ReadonlySet<string | undefined> = new Set(["EPERM", "EACCES", "EBUSY"]);
/** Directory probes under way at once while listing. */
const LISTING_PARALLELISM = 16;

/** Where a table is, whether or not there is one. */
export interface TableLocation {
  readonly id: readonly string[];
  readonly name: string;
  /** Absolute path of the table's directory. */
  readonly directory: string;
}

/** A table that exists. */
export interface FoundTable extends TableLocation {
  /** Null while the table is only declared. */
  readonly latest: LatestVersion | null;
}

/**
 * The place of a table by its id.
 * @throws InvalidInputError for an illegal name, NamespaceNotFoundError where a parent does not exist
 */
export async function locateTable(disk: Disk, root: string, id: readonly string[]): Promise<TableLocation> {
  const name = id[id.length - 1];
  if (id.length > 1) {
    for (const part of id) checkObjectName(part);
    await refuseChildNamespace(disk, root, id.slice(0, -1));
  }
  checkRootTableName(name);
  return { id, name, directory: join(root, name + TABLE_SUFFIX) };
}

/** @throws NamespaceNotFoundError, or UnsupportedError where a catalog could hold the namespace */
export async function refuseChildNamespace(
  disk: Disk,
  root: string,
  path: readonly string[],
): Promise<never> {
  const shown = formatIdentifier(path);
  if ((await disk.stat(join(root, CATALOG_DIRECTORY))) !== null) {
    throw new UnsupportedError(`namespace ${shown}: child namespaces are not supported by this release`);
  }
  throw new NamespaceNotFoundError(`namespace ${shown} does not exist`);
}

/** The table at a location, or null where none exists. */
export async function findTable(disk: Disk, location: TableLocation): Promise<FoundTable | null> {
  const [latest, deregistered] = await Promise.all([
    findLatestVersion(disk, location.directory),
    disk.stat(join(location.directory, DEREGISTERED_MARKER)),
  ]);
  if (deregistered !== null) return null;
  if (latest === null && !(await isReserved(disk, location.directory))) return null;
  return { ...location, latest };
}

/**
 * A directory that a deregistered table keeps is not free: what is put there would stay hidden.
 * @throws TableAlreadyExistsError
 */
export async function refuseDeregistered(disk: Disk, location: TableLocation): Promise<void> {
  if ((await disk.stat(join(location.directory, DEREGISTERED_MARKER))) === null) return;
  throw new TableAlreadyExistsError(
    `the place of table ${formatIdentifier(location.id)} is kept by a deregistered table of that name`,
  );
}

/** @throws TableNotFoundError where none exists */
export async function requireTable(disk: Disk, location: TableLocation): Promise<FoundTable> {
  const found = await findTable(disk, location);
  if (found === null) throw new TableNotFoundError(`table ${formatIdentifier(location.id)} does not exist`);
  return found;
}

async function isReserved(disk: Disk, directory: string): Promise<boolean> {
  const markers = await Promise.all([
    disk.stat(join(directory, RESERVED_MARKER)),
    disk.stat(join(directory, REFERENCE_RESERVED_MARKER)),
  ]);
  return markers.some((marker) => marker !== null);
}

/**
 * Reserves a table's directory; false where somebody else has reserved it.
 * @throws ConcurrentModificationError where somebody drops it at the same time
 */
export async function reserveTable(disk: Disk, location: TableLocation): Promise<boolean> {
  await disk.makeDirectory(location.directory);
  try {
    if (!(await createExclusive(disk, location.directory, RESERVED_MARKER, [MARKER_CONTENT]))) return false;
    return await createExclusive(disk, location.directory, REFERENCE_RESERVED_MARKER, [MARKER_CONTENT]);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new ConcurrentModificationError(
      `table ${formatIdentifier(location.id)} was dropped while it was declared`,
      { cause: error },
    );
  }
}

/**
 * Names of the tables in the root, ascending by bytes.
 * @param includeDeclared whether tables without data versions are listed
 */
export async function listRootTables(disk: Disk, root: string, includeDeclared: boolean): Promise<string[]> {
  const names: string[] = [];
  for (const entry of (await disk.list(root)) ?? []) {
    if (entry.kind !== "directory" || !entry.name.endsWith(TABLE_SUFFIX)) continue;
    const name = entry.name.slice(0, -TABLE_SUFFIX.length);
    if (isRootTableName(name)) names.push(name);
  }
  const kept: string[] = [];
  for (let start = 0; start < names.length; start += LISTING_PARALLELISM) {
    const group = names.slice(start, start + LISTING_PARALLELISM);
    const listed = await Promise.all(
      group.map((name) => isListed(disk, join(root, name + TABLE_SUFFIX), includeDeclared)),
    );
    for (let index = 0; index < group.length; index++) if (listed[index]) kept.push(group[index]);
  }
  // Names are ASCII, so the order of UTF-16 units is the order of bytes.
  return kept.sort();
}

async function isListed(disk: Disk, directory: string, includeDeclared: boolean): Promise<boolean> {
  const present = new Set((await disk.list(directory))?.map((entry) => entry.name));
  if (present.has(DEREGISTERED_MARKER)) return false;
  if (includeDeclared && (present.has(RESERVED_MARKER) || present.has(REFERENCE_RESERVED_MARKER)))
    return true;
  return present.has("_versions") && (await findLatestVersion(disk, directory)) !== null;
}

function isRootTableName(name: string): boolean {
  try {
    checkRootTableName(name);
    return true;
  } catch (error) {
    if (error instanceof InvalidInputError) return false;
    throw error;
  }
}

/**
 * Takes a table away: its directory gets a name no listing shows, in one step, and is then removed. Where
 * Windows refuses the step because a file is open, the directory is removed in place.
 * @throws TableNotFoundError where another caller was first
 */
export async function removeTable(disk: Disk, location: TableLocation): Promise<void> {
  const root = dirname(location.directory);
  const doomed = join(root, DROPPED_PREFIX + randomUUID());
  try {
    await disk.rename(location.directory, doomed);
  } catch (error) {
    if (codeOf(error) === "ENOENT") {
      throw new TableNotFoundError(`table ${formatIdentifier(location.id)} does not exist`, { cause: error });
    }
    // Elsewhere the same codes mean that the caller may not, and must not lose files by trying.
    if (process.platform !== "win32" || !OPEN_FILE_CODES.has(codeOf(error))) throw error;
    await disk.removeTree(location.directory);
    await disk.syncDirectory(root);
    return;
  }
  await disk.syncDirectory(root);
  await sweepDropped(disk, root);
}

/**
 * Removes what dropped tables left behind. The drop itself is decided by then, so a failure here is not the
 * caller's: the next drop tries again.
 */
async function sweepDropped(disk: Disk, root: string): Promise<void> {
  const leftovers = ((await disk.list(root)) ?? []).filter((entry) => entry.name.startsWith(DROPPED_PREFIX));
  await Promise.allSettled(leftovers.map((entry) => disk.removeTree(join(root, entry.name))));
}
