/**
 * Branches and tags, and where the files that a manifest names are. A branch is a table of its own in
 * `tree/<branch>`, which starts as a copy of a manifest; what it inherits lies in its source's directory, to
 * which the manifest's base paths point.
 */

import { isAbsolute, join } from "node:path";
import { CorruptFileError, InvalidInputError } from "../errors.js";
import type { DataFile, DataFragment, Manifest } from "../format/table.js";
import type { Disk } from "../io/disk.js";
import {
  branchDirectory,
  branchRefPath,
  dataDirectory,
  deletionFileName,
  deletionsDirectory,
  tagPath,
} from "./paths.js";

const MAIN = "main";
/** Refs are a few lines; their metadata is the user's. */
const MAX_REF_BYTES = 2 ** 20;
const SEGMENT = /^[\p{L}\p{N}._-]+$/u;
const TAG = /^[A-Za-z0-9._-]+$/;

/** Absent, empty and `main` mean the main branch. */
export const isMainBranch = (branch: string | undefined): branch is undefined | "" | typeof MAIN =>
  branch === undefined || branch === "" || branch === MAIN;

/** @throws InvalidInputError for a name the format does not allow a branch to have */
export function checkBranchName(branch: string): void {
  const refuse = (reason: string): never => {
    throw new InvalidInputError(`branch ${JSON.stringify(branch.slice(0, 100))}: ${reason}`);
  };
  if (branch === "") refuse("the name is empty");
  if (branch.startsWith("/") || branch.endsWith("/")) refuse("the name begins or ends with a slash");
  if (branch.includes("//")) refuse("the name has two slashes in a row");
  if (branch.includes("..") || branch.includes("\\")) refuse("the name holds .. or a backslash");
  for (const segment of branch.split("/")) {
    if (!SEGMENT.test(segment)) refuse("only letters, digits, '.', '-', '_' and '/' are allowed");
    if (segment === ".") refuse("a part of the name is a single dot");
  }
  if (branch.endsWith(".lock")) refuse("the name ends in .lock");
  if (branch === MAIN) refuse("it is the table itself");
}

/** @throws InvalidInputError for a name we do not allow a tag to have */
export function checkTagName(tag: string): void {
  const refuse = (reason: string): never => {
    throw new InvalidInputError(`tag ${JSON.stringify(tag.slice(0, 100))}: ${reason}`);
  };
  if (tag === "") refuse("the name is empty");
  // The format allows other alphabets, but the reference can't list a table's tags once it has such a one.
  if (!TAG.test(tag)) refuse("only ASCII letters, digits, '.', '-' and '_' are allowed");
  if (tag.startsWith(".") || tag.endsWith(".")) refuse("the name begins or ends with a dot");
  if (tag.endsWith(".lock") || tag.includes("..")) refuse("the name ends in .lock or holds ..");
}

/** Directory of a branch of the table at `mainRoot`; that of the table itself for the main branch. */
export const branchRoot = (mainRoot: string, branch: string | undefined): string =>
  isMainBranch(branch) ? mainRoot : branchDirectory(mainRoot, branch);

/** Whether the branch is registered; leftovers of a deleted one don't count. */
export async function branchExists(disk: Disk, mainRoot: string, branch: string): Promise<boolean> {
  return (await disk.stat(branchRefPath(mainRoot, branch)))?.kind === "file";
}

export interface TagTarget {
  /** Null is the main branch. */
  readonly branch: string | null;
  readonly version: number;
}

/**
 * What a tag points at, or null where there is no such tag.
 * @throws InvalidInputError, CorruptFileError
 */
export async function readTag(disk: Disk, mainRoot: string, tag: string): Promise<TagTarget | null> {
  checkTagName(tag);
  const path = tagPath(mainRoot, tag);
  const bytes = await disk.readFile(path, MAX_REF_BYTES);
  if (bytes === null) return null;
  const { branch, version } = parseJsonObject(bytes, path);
  if (!Number.isSafeInteger(version) || (version as number) < 0) {
    throw new CorruptFileError(path, 0, "a tag without a version");
  }
  if (branch !== undefined && branch !== null && typeof branch !== "string") {
    throw new CorruptFileError(path, 0, "a tag whose branch is no name");
  }
  if (typeof branch !== "string" || isMainBranch(branch)) return { branch: null, version: version as number };
  try {
    checkBranchName(branch);
  } catch (cause) {
    throw new CorruptFileError(path, 0, `a tag on branch ${branch}`, { cause });
  }
  return { branch, version: version as number };
}

function parseJsonObject(bytes: Uint8Array, path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new CorruptFileError(path, 0, "not JSON", { cause });
  }
  if (typeof value !== "object" || value === null) throw new CorruptFileError(path, 0, "no JSON object");
  return value as Record<string, unknown>;
}

// ------------------------------------------------------------------------------------------- file lookup

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
