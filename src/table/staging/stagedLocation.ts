/**
 * Defines where a caller may leave a manifest for publication, in the directory of that very table or branch:
 *
 *     _versions/<name>         under a name that neither a version nor an engine uses
 *     <name>                   beside the parts of the table, under a name of the caller's choice
 *     <directory>/…/<name>     in a directory of the caller's choice, such as `_staging`
 *
 * Any other file belongs to another writer, who published it or is writing it, and publishing it would move
 * it away. Names are compared as the coarsest file system does (io/names/foldName.ts).
 */

import { InvalidTableStateError, UnsupportedError } from "../../errors.js";
import { pathOn } from "../../io/disk/addresses.js";
import type { Disk } from "../../io/disk/disk.js";
import { foldName } from "../../io/names/foldName.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import { isAbsolute, join, sep } from "../../platform/native.js";
import {
  FOREIGN_TEMPORARY,
  HINT_NAME,
  isTablePart,
  parseManifestName,
  parseSetAsideName,
  versionsDirectory,
} from "../versions/paths.js";
import type { VersionsAt } from "../versions/versions.js";

export interface StagedFile {
  /** Path without symbolic links. */
  readonly path: string;
}

const VERSIONS = "_versions";
/** Folded prefixes of the names that engines use beside the parts of a table. */
const ENGINE_STARTS: readonly string[] = [".tiltyard", ".lance-", ".ns-", TEMPORARY_PREFIX].map(foldName);
/** Name of a detached version, which the reference keeps out of the history. */
const DETACHED = /^d\d+\.manifest$/;

/**
 * Finds the staged file that a caller names, or returns the reason against it, worded to follow the path.
 * @param stagedPath absolute, relative to the table, or absolute without its leading slash; in a bucket also
 *   an address or a whole key
 * @throws InvalidTableStateError if the table has no directory
 */
export async function findStaged(table: VersionsAt, stagedPath: string): Promise<StagedFile | string> {
  const outside = "is not a file inside the table";
  if (stagedPath === "" || stagedPath.includes("\0")) return outside;
  const realRoot = await table.disk.realPath(table.root);
  if (realRoot === null) throw new InvalidTableStateError(`there is no directory ${table.root}`);
  const ownPath = pathOn(table.disk, stagedPath);
  const candidates = isAbsolute(ownPath) ? [ownPath] : pathsOf(table, stagedPath);
  for (const candidate of candidates) {
    const path = await table.disk.realPath(candidate);
    if (path === null || !path.startsWith(realRoot + sep)) continue;
    const names = path.slice(realRoot.length + 1).split(sep);
    const reason = whyNotStaged(names) ?? (await whyOfAnotherBranch(table.disk, realRoot, names));
    if (reason !== null) return reason;
    return (await table.disk.stat(path))?.kind === "file" ? { path } : "is not a regular file";
  }
  return outside;
}

/** Returns the paths that a text without a leading slash may mean. */
function pathsOf({ disk, root }: VersionsAt, text: string): string[] {
  const [bucket] = /^[a-z0-9+]+:\/\/[^/]+/i.exec(disk.uriOf?.(root) ?? "") ?? [];
  if (bucket === undefined) return [join(root, text), sep + text];
  // Other engines name files by their keys. The disk cannot tell whether a path exists before it is read.
  const path = disk.pathOf?.(`${bucket}/${text}`) ?? null;
  return path === null ? [join(root, text)] : [path, join(root, text)];
}

/**
 * Returns the reason why no staged file may lie at a path; null if one may.
 * @param names segments of the path from the directory of the table or branch
 */
export function whyNotStaged(names: readonly string[]): string | null {
  const directories = names.slice(0, -1);
  const name = names[names.length - 1];
  if (isEngineName(name)) return "is a file that an engine is writing or using";
  if (directories.length === 1 && directories[0] === VERSIONS) {
    return isVersionName(name) ? "is a published manifest, not a staged one" : null;
  }
  if (directories.length === 0 && isTablePart(name)) return "is a part of the table";
  const part = directories.find((directory) => isTablePart(directory) || isEngineName(directory));
  return part === undefined ? null : `lies in ${part}, which is only for published files`;
}

/** Returns the reason if the file is another branch's, whose directory may lie in this one's; else null. */
async function whyOfAnotherBranch(
  disk: Disk,
  realRoot: string,
  names: readonly string[],
): Promise<string | null> {
  for (let depth = 1; depth < names.length; depth++) {
    if (names[depth - 1] === VERSIONS) continue;
    const directory = join(realRoot, ...names.slice(0, depth));
    if ((await disk.stat(versionsDirectory(directory))) !== null) return "belongs to another branch";
  }
  return null;
}

function isEngineName(name: string): boolean {
  const folded = foldName(name);
  return ENGINE_STARTS.some((start) => folded.startsWith(start)) || FOREIGN_TEMPORARY.test(folded);
}

/** Returns true if a file of `_versions` is a version, a version being removed, or the hint. */
function isVersionName(name: string): boolean {
  const folded = foldName(name).toLowerCase();
  if (folded === foldName(HINT_NAME).toLowerCase() || DETACHED.test(folded)) return true;
  try {
    return parseManifestName(folded) !== null || parseSetAsideName(folded) !== null;
  } catch (error) {
    // The number is too high for this build, but the name is a version's.
    if (error instanceof UnsupportedError) return true;
    throw error;
  }
}

/**
 * Removes a published staged file, if it is still the file that was read. An orphan does no harm: the version
 * is published, and a cleanup removes the file when it is old.
 * @param identity identity of the file when it was read
 */
export async function removeStaged(
  table: VersionsAt,
  { path, identity }: StagedFile & { readonly identity: string },
): Promise<void> {
  try {
    const staged = await findStaged(table, path);
    if (typeof staged === "string" || staged.path !== path) return;
    if ((await table.disk.stat(path))?.identity === identity) await table.disk.remove(path);
  } catch {
    // A cleanup removes the file later.
  }
}
