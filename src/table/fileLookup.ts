/**
 * Where the files that a manifest names are: in the table's or branch's own directory, or where one of the
 * manifest's base paths points. What a branch inherits lies in its source's directory.
 */

import { isAbsolute, join } from "node:path";
import { CorruptFileError } from "../errors.js";
import type { DataFile, DataFragment, Manifest } from "../format/table.js";
import { dataDirectory, deletionFileName, deletionsDirectory } from "./paths.js";

/** Absolute path of a data file that a manifest names. */
export const resolveDataFile = (tableRoot: string, manifest: Manifest, file: DataFile): string =>
  resolveFile(tableRoot, manifest, file.baseId, dataDirectory, file.path);

/** Absolute path of a fragment's deletion file; null where it has none. */
export function resolveDeletionFile(
  tableRoot: string,
  manifest: Manifest,
  fragment: DataFragment,
): string | null {
  const { deletionFile } = fragment;
  if (deletionFile === undefined) return null;
  const name = deletionFileName(fragment.id, deletionFile);
  return resolveFile(tableRoot, manifest, deletionFile.baseId, deletionsDirectory, name);
}

function resolveFile(
  tableRoot: string,
  manifest: Manifest,
  baseId: number | undefined,
  directoryOf: (root: string) => string,
  name: string,
): string {
  const refuse = (reason: string): never => {
    throw new CorruptFileError(tableRoot, 0, `version ${manifest.version}: ${reason}`);
  };
  // A manifest may come from anybody; what it names must not lead out of its directory.
  if (name === "" || isAbsolute(name) || name.split(/[/\\]/).includes("..")) {
    refuse(`file name ${JSON.stringify(name)} leads out of the table`);
  }
  if (baseId === undefined) return join(directoryOf(tableRoot), name);
  const base = manifest.basePaths.find((each) => each.id === baseId);
  if (base === undefined) return refuse(`there is no base path ${baseId}`);
  if (!isAbsolute(base.path)) refuse(`base path ${base.path} is not a local directory`);
  return join(base.isDatasetRoot ? directoryOf(base.path) : base.path, name);
}
