/**
 * Defines the common base of branches and tags: JSON files, and the lock for changing them. The names
 * of `_refs/branches/<name>.json` and `_refs/tags/<name>.json` are percent-encoded, slashes included. The
 * files lie in the directory of the main branch, even those of another branch.
 *
 * The lock is that of the main branch's directory. A writer holds it to change a ref, or to remove versions
 * that refs may name. If the writer also needs the lock of a branch, it takes that one second.
 */

import { parseBoundedJson } from "../../bytes/boundedJson.js";
import { encodeSealedJson, isSealBroken } from "../../bytes/sealedJson.js";
import {
  CorruptFileError,
  InvalidInputError,
  TableBranchNotFoundError,
  TableNotFoundError,
  TableVersionNotFoundError,
} from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/disk/locks.js";
import { sep } from "../../platform/native.js";
import { branchRefPath, branchTree, REF_SUFFIX } from "../versions/paths.js";
import { branchAt, type RefsAt, type TableAt, type TableEnvironment, tableAt } from "../versions/tableAt.js";
import { withTableLock } from "../versions/tableLock.js";
import { findVersion, type VersionEntry } from "../versions/versions.js";
import { formatBranch, isBranchName } from "./refNames.js";

/** Maximum size in bytes. Refs are a few lines, but their metadata is the user's. */
const MAX_REF_BYTES = 2 ** 20;

// ------------------------------------------------------------------------------------------------- names

/** Finds the table, and its branch, that lies in a directory, by the refs of the table. */
export async function findLine<Environment extends TableEnvironment>(
  environment: Environment,
  root: string,
): Promise<TableAt<Environment>> {
  const tree = branchTree(sep);
  for (
    let start = root.indexOf(`${tree}${sep}`);
    start >= 0;
    start = root.indexOf(`${tree}${sep}`, start + 1)
  ) {
    const mainRoot = root.slice(0, start);
    const branch = root
      .slice(start + tree.length + 1)
      .split(sep)
      .join("/");
    if (isBranchName(branch) && (await branchExists({ disk: environment.disk, mainRoot }, branch))) {
      return tableAt(environment, mainRoot, branch);
    }
  }
  return tableAt(environment, root);
}

/** Returns true if the branch is registered; orphans of a deleted branch do not count. */
export async function branchExists(table: RefsAt, branch: string): Promise<boolean> {
  return (await table.disk.stat(branchRefPath(table.mainRoot, branch)))?.kind === "file";
}

// ------------------------------------------------------------------------------------------------- files

/** Content of a ref's file; unknown members stay as they are. */
export type RefContent = Readonly<Record<string, unknown>>;

/**
 * Reads a ref's file; null if it does not exist.
 * @throws CorruptFileError if it holds no JSON object
 */
export async function readRefFile(disk: Disk, path: string): Promise<RefContent | null> {
  const bytes = await disk.readFile(path, MAX_REF_BYTES);
  if (bytes === null) return null;
  if (isSealBroken(bytes)) throw new CorruptFileError(path, 0, "the file fails its checksum");
  let value: unknown;
  try {
    value = parseBoundedJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new CorruptFileError(path, 0, "not JSON", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CorruptFileError(path, 0, "no JSON object");
  }
  return value as RefContent;
}

/** Encodes the content in the reference's layout, with a checksum. */
export const encodeRefFile = (content: RefContent): Uint8Array => encodeSealedJson(content, 2);

/**
 * Lists the refs of a directory, in any order.
 * @param check throws for an illegal name
 * @throws CorruptFileError for a file with an illegal name, because it may stand for a ref that must not be
 *   lost
 */
export async function listRefNames(
  disk: Disk,
  directory: string,
  check: (name: string) => void,
): Promise<string[]> {
  const names: string[] = [];
  for (const entry of (await disk.list(directory)) ?? []) {
    // A file that is still being written has another suffix.
    if (entry.kind !== "file" || !entry.name.endsWith(REF_SUFFIX)) continue;
    const name = decodedName(entry.name.slice(0, -REF_SUFFIX.length));
    try {
      if (name === null) throw new InvalidInputError("the name is not percent-encoded");
      check(name);
      names.push(name);
    } catch (cause) {
      if (!(cause instanceof InvalidInputError)) throw cause;
      throw new CorruptFileError(`${directory}/${entry.name}`, 0, "a ref cannot have this name", { cause });
    }
  }
  return names;
}

/** Decodes a percent-encoded name; null if it is malformed. */
function decodedName(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

// ----------------------------------------------------------------------------------------------- changes

export interface RefTarget {
  /** Name of the branch; null for the main branch. */
  readonly branch: string | null;
  readonly version: number;
}

export interface OpenTarget {
  readonly entry: VersionEntry;
  readonly manifestSize: number;
}

/** @throws TableBranchNotFoundError, TableVersionNotFoundError */
export async function requireTarget(table: TableAt, { branch, version }: RefTarget): Promise<OpenTarget> {
  if (branch !== null && !(await branchExists(table, branch))) {
    throw new TableBranchNotFoundError(`there is no branch ${branch}`);
  }
  const entry = await findVersion(branchAt(table, branch), version);
  const stat = entry && (await table.disk.stat(entry.path));
  if (entry === null || stat === null) {
    throw new TableVersionNotFoundError(`${formatBranch(branch)} has no version ${version}`);
  }
  return { entry, manifestSize: stat.size };
}

/**
 * Calls `change` while no other writer changes the table's refs or commits to its main branch.
 * @throws TableNotFoundError if the table was dropped
 */
export async function lockRefs<T>(
  table: TableAt,
  signal: AbortSignal | undefined,
  change: (lease: LockLease) => Promise<T>,
): Promise<T> {
  try {
    return await withTableLock(branchAt(table, null), { signal, keep: true }, change);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new TableNotFoundError("the table was dropped by another writer", { cause: error });
  }
}
