/**
 * Finds the files that a manifest names. They lie in the table's or branch's own directory, or in one of the
 * manifest's base paths. The files that a branch inherits lie in its source's directory.
 *
 * Base paths are absolute, so those of a branch's sources are wrong once the table's directory has moved. But
 * a branch knows its own directory and the names of its sources. The lookup therefore tries the directories
 * beside it first. If the table was cloned from elsewhere, such a name may mean another branch. The manifest
 * alone does not tell, but the file itself does, because its name is random.
 */

import { CorruptFileError } from "../../errors.js";
import type { BasePath, DataFile, DataFragment, IndexMetadata, Manifest } from "../../format/table.js";
import { pathOn } from "../../io/disk/addresses.js";
import type { Disk } from "../../io/disk/disk.js";
import { basename, isAbsolute, join, sep } from "../../platform/native.js";
import { branchRoot, isBranchName, isMainBranch } from "../refs/refNames.js";
import {
  branchDirectory,
  dataDirectory,
  deletionFileName,
  deletionsDirectory,
  indexDirectoryName,
  indicesDirectory,
  isDataFileName,
} from "../versions/paths.js";
import type { VersionsAt } from "../versions/versions.js";

/** Length in bytes of an index's id, a UUID. */
export const INDEX_ID_BYTES = 16;

/**
 * Returns the absolute path of a data file that a manifest names. Looks at the disk only if there are two
 * candidates.
 * @throws CorruptFileError for a name that leads out of the table, or an invalid base path
 */
export const resolveDataFile = (
  table: VersionsAt,
  manifest: Manifest,
  file: DataFile,
): string | Promise<string> => {
  if (file.baseId !== undefined) return resolveFile(table, manifest, file.baseId, dataDirectory, file.path);
  return ownPath(table, file, () => resolveFile(table, manifest, undefined, dataDirectory, file.path));
};

/** Paths of files in the table's or branch's own directory, by their entry. Queries look them up often. */
const ownPaths = new WeakMap<object, { readonly root: string; readonly path: string }>();

function ownPath(
  { root }: VersionsAt,
  named: object,
  resolve: () => string | Promise<string>,
): string | Promise<string> {
  const cached = ownPaths.get(named);
  if (cached?.root === root) return cached.path;
  const path = resolve();
  if (typeof path === "string") ownPaths.set(named, { root, path });
  return path;
}

/**
 * Returns the absolute path of a fragment's deletion file; null if it has none.
 * @throws CorruptFileError
 */
export function resolveDeletionFile(
  table: VersionsAt,
  manifest: Manifest,
  fragment: DataFragment,
): string | Promise<string> | null {
  const { deletionFile } = fragment;
  if (deletionFile === undefined) return null;
  const name = deletionFileName(fragment.id, deletionFile);
  return resolveFile(table, manifest, deletionFile.baseId, deletionsDirectory, name);
}

/**
 * Returns the absolute path of the directory of an index's files. It may lie in any directory that the
 * version reads. If it is in none, returns the path that the index's metadata states.
 * @throws CorruptFileError for an index without an id, or an invalid base path
 */
export async function resolveIndexDirectory(
  table: VersionsAt,
  manifest: Manifest,
  index: IndexMetadata,
): Promise<string> {
  const stated = await statedIndexDirectory(table, manifest, index);
  const bases = manifest.basePaths.filter(
    ({ path, isDatasetRoot }) => isDatasetRoot && isAbsolute(pathOn(table.disk, path)),
  );
  // There is no other candidate, and the files prove that the directory exists.
  if (bases.length === 0 || (await table.disk.stat(stated)) !== null) return stated;
  // The reference names the direct source branch, even for an index that this source inherited.
  for (const id of [undefined, ...bases.map((base) => base.id)]) {
    const location = await resolveFile(table, manifest, id, indicesDirectory, basename(stated));
    if ((await table.disk.stat(location)) !== null) return location;
  }
  return stated;
}

/**
 * Returns the directory that an index's metadata states; it may not exist.
 * @throws CorruptFileError for an index without an id, or an invalid base path
 */
export function statedIndexDirectory(
  table: VersionsAt,
  manifest: Manifest,
  index: IndexMetadata,
): string | Promise<string> {
  const { uuid, baseId, name } = index;
  const resolve = (): string | Promise<string> => {
    if (uuid?.uuid.length !== INDEX_ID_BYTES) {
      throw new CorruptFileError(table.root, 0, `version ${manifest.version}: index ${name} has no id`);
    }
    return resolveFile(table, manifest, baseId, indicesDirectory, indexDirectoryName(uuid.uuid));
  };
  return baseId === undefined ? ownPath(table, index, resolve) : resolve();
}

function resolveFile(
  table: VersionsAt,
  manifest: Manifest,
  baseId: number | undefined,
  directoryOf: (root: string) => string,
  name: string,
): string | Promise<string> {
  const refuse = (reason: string): never => {
    throw new CorruptFileError(table.root, 0, `version ${manifest.version}: ${reason}`);
  };
  // Anybody may have written the manifest; its names must not lead out of the directory.
  if (!isDataFileName(name)) refuse(`${JSON.stringify(name.slice(0, 200))} is not a file name`);
  if (baseId === undefined) return join(directoryOf(table.root), name);
  const base = manifest.basePaths.find((each) => each.id === baseId);
  if (base === undefined) return refuse(`there is no base path ${baseId}`);
  const basePath = pathOn(table.disk, base.path);
  if (!isAbsolute(basePath)) refuse(`base path ${base.path} is not a directory of this disk`);
  const stated = join(base.isDatasetRoot ? directoryOf(basePath) : basePath, name);
  const source = sourceRoot(table.root, manifest, base);
  if (source === null) return stated;
  const around = join(directoryOf(source), name);
  return around === stated ? stated : findEither(table.disk, around, stated);
}

/** Returns the source's current directory if a base path may name a branch of this table; else null. */
function sourceRoot(tableRoot: string, manifest: Manifest, base: BasePath): string | null {
  const { branch } = manifest;
  if (!base.isDatasetRoot || isMainBranch(branch) || !isBranchName(branch)) return null;
  const location = branchDirectory(sep, branch);
  if (!tableRoot.endsWith(location)) return null;
  const mainRoot = tableRoot.slice(0, -location.length);
  if (isMainBranch(base.name)) return mainRoot;
  return isBranchName(base.name) ? branchRoot(mainRoot, base.name) : null;
}

/** Returns the path that exists; the first if neither does. */
async function findEither(disk: Disk, first: string, second: string): Promise<string> {
  if ((await disk.stat(first)) !== null) return first;
  return (await disk.stat(second)) !== null ? second : first;
}
