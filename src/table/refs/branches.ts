/**
 * Branches. A branch is registered by `_refs/branches/<branch>.json`, a JSON object:
 *
 *   parentBranch    string, or null for the main branch: what it was made from
 *   parentVersion   integer: the version it was made from, which is also its first
 *   identifier      { version_mapping: [[integer, string], …] }: the parent's list and one entry more, its version
 *                   and a random id. Main's list is empty; branches made by old releases have none
 *   createAt        seconds since the epoch
 *   manifestSize    bytes of the parent's manifest
 *   metadata        object of strings; kept, and of no meaning here
 *
 * It lies in `tree/<branch>`, laid out like a table. The files that it inherits stay with its parent, so a
 * branch that others were made from can't be deleted.
 */

import { CorruptFileError, InvalidInputError } from "../../errors.js";
import { foldName, isDeviceName } from "../../io/names/foldName.js";
import { namesIn } from "../../io/names/spelling.js";
import { join } from "../../platform/native.js";
import { isCount, isStringMap } from "../versions/jsonValues.js";
import { branchesDirectory, branchRefPath, branchTree, TABLE_PARTS } from "../versions/paths.js";
import type { RefsAt } from "../versions/tableAt.js";
import { checkBranchName, isMainBranch, listRefNames, type RefContent, readRefFile } from "./refs.js";

/** The path from the main branch to a branch: the version and a random id of each fork. */
export type Lineage = readonly (readonly [version: number, id: string])[];

export interface Branch {
  /** Null is the main branch. */
  readonly parentBranch: string | null;
  readonly parentVersion: number;
  /** Null where an old release made the branch. */
  readonly lineage: Lineage | null;
  /** Seconds since the epoch. */
  readonly createAt: number;
  /** Bytes of the parent's manifest; 0 where the file does not say. */
  readonly manifestSize: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Names of all branches but main, in no order.
 * @throws CorruptFileError
 */
export const listBranches = (table: RefsAt): Promise<string[]> =>
  listRefNames(table.disk, branchesDirectory(table.mainRoot), checkBranchName);

/**
 * The registration of a branch, or null where there is none of that name.
 * @throws InvalidInputError for an illegal name, CorruptFileError
 */
export async function readBranch(table: RefsAt, branch: string): Promise<Branch | null> {
  checkBranchName(branch);
  const path = branchRefPath(table.mainRoot, branch);
  const content = await readRefFile(table.disk, path);
  return content && parseBranch(content, path);
}

function parseBranch(content: RefContent, path: string): Branch {
  const refuse = (reason: string): never => {
    throw new CorruptFileError(path, 0, `a branch ${reason}`);
  };
  const { parentVersion, createAt, manifestSize = 0, metadata, identifier } = content;
  const parentBranch = content.parentBranch ?? null;
  if (!isCount(parentVersion)) return refuse("without the version of its parent");
  if (!isCount(createAt)) return refuse("without the time it was made");
  if (!isCount(manifestSize)) return refuse("whose parent's manifest has no size");
  if (parentBranch !== null && typeof parentBranch !== "string") return refuse("whose parent is no name");
  const parent = parentBranch === null || isMainBranch(parentBranch) ? null : parentBranch;
  try {
    if (parent !== null) checkBranchName(parent);
  } catch (cause) {
    throw new CorruptFileError(path, 0, "a branch whose parent is no name", { cause });
  }
  const lineage = parseLineage(identifier);
  if (lineage === undefined) return refuse("whose identifier is none");
  return {
    parentBranch: parent,
    parentVersion,
    lineage,
    createAt,
    manifestSize,
    metadata: isStringMap(metadata) ? metadata : {},
  };
}

/** Undefined for a malformed identifier, null for a missing one. */
function parseLineage(identifier: unknown): Lineage | null | undefined {
  if (identifier === undefined || identifier === null) return null;
  const { version_mapping: mapping } = identifier as { version_mapping?: unknown };
  if (!Array.isArray(mapping)) return undefined;
  const isFork = (fork: unknown): boolean =>
    Array.isArray(fork) && fork.length === 2 && isCount(fork[0]) && typeof fork[1] === "string";
  return mapping.every(isFork) ? (mapping as Lineage) : undefined;
}

/** The registration of a new branch. */
export function newBranchRef(parent: {
  readonly branch: string | null;
  readonly version: number;
  readonly lineage: Lineage;
  readonly manifestSize: number;
}): RefContent {
  const fork = [parent.version, crypto.randomUUID().replaceAll("-", "")];
  return {
    parentBranch: parent.branch,
    identifier: { version_mapping: [...parent.lineage, fork] },
    parentVersion: parent.version,
    // No reader takes a time before 1970.
    createAt: Math.max(0, Math.floor(Date.now() / 1000)),
    manifestSize: parent.manifestSize,
    metadata: {},
  };
}

/** True if a branch was made from another one, directly or through others, and so needs the other's files. */
export function descendsFrom(branch: Branch, ancestor: Branch, ancestorName: string): boolean {
  if (branch.parentBranch === ancestorName) return true;
  const { lineage } = branch;
  if (lineage === null || ancestor.lineage === null || lineage.length <= ancestor.lineage.length)
    return false;
  return ancestor.lineage.every(
    ([version, id], index) => lineage[index][0] === version && lineage[index][1] === id,
  );
}

// ------------------------------------------------------------------------------------------------ nesting

/** Names that a table uses in its directory: the beginnings of some, then whole names; folded. */
const TAKEN_STARTS: readonly string[] = ["_", ".tiltyard", ".lance-", ".ns-", ".tmp-"].map(foldName);
const TAKEN: readonly string[] = ["data", "tree"].map(foldName);

/**
 * True if some file system takes a part of a branch's name, other than the first, for a name that a table
 * uses in its directory.
 */
function isTakenPart(part: string): boolean {
  const folded = foldName(part);
  return TAKEN.includes(folded) || TAKEN_STARTS.some((start) => folded.startsWith(start));
}

/** True if a branch's directory can lie in that of another one without colliding with the other's files. */
export const nestsCleanly = (branch: string): boolean => !branch.split("/").slice(1).some(isTakenPart);

/**
 * @param others the existing branches
 * @throws InvalidInputError where the directory of a new branch would collide with another one's, here or on
 *   another file system
 */
export function checkNewBranchName(branch: string, others: readonly string[]): void {
  checkBranchName(branch);
  const refuse = (reason: string): never => {
    throw new InvalidInputError(`branch ${JSON.stringify(branch)}: ${reason}`);
  };
  if (!nestsCleanly(branch)) {
    refuse(
      `behind a slash, 'data', 'tree' and names that begin with '_', '.tiltyard', '.lance-' … are taken`,
    );
  }
  for (const part of branch.split("/")) {
    if (isDeviceName(part)) refuse(`Windows takes ${part} for a device`);
    if (foldName(part) === "") refuse(`some file systems take ${JSON.stringify(part)} for no name at all`);
  }
  const inTheWay = others.find((other) => other.startsWith(`${branch}/`) && !nestsCleanly(other));
  if (inTheWay !== undefined) refuse(`branch ${inTheWay} lies where its files would`);
  const twin = others.find((other) => foldTogether(branch, other));
  if (twin !== undefined) refuse(`some file systems would take directories of branch ${twin} for its own`);
}

/**
 * Refuses directories that would become part of a new branch: interrupted creations and deletions leave some
 * that belong to no branch.
 * @param branch a branch without a twin among the existing ones
 * @throws InvalidInputError where some file system would take an existing directory for one of the branch's
 */
export async function refuseTwinDirectories(table: RefsAt, branch: string): Promise<void> {
  let parent = branchTree(table.mainRoot);
  for (const part of branch.split("/")) {
    for (const name of await namesIn(table.disk, parent)) {
      if (name === part || foldName(name) !== foldName(part)) continue;
      // Some file systems list another form of the name that was given.
      const isRewritten =
        name.normalize() === part.normalize() && (await table.disk.stat(join(parent, part))) !== null;
      if (isRewritten) continue;
      throw new InvalidInputError(
        `branch ${JSON.stringify(branch)}: some file systems would take ${join(parent, name)} for its directory`,
      );
    }
    parent = join(parent, part);
  }
}

/**
 * True if some file system takes the directory of one branch, or one that it lies in, for one of the other
 * branch's.
 */
export function foldTogether(branch: string, other: string): boolean {
  const parts = branch.split("/");
  const otherParts = other.split("/");
  const first = parts.findIndex((part, index) => part !== otherParts[index]);
  return first >= 0 && first < otherParts.length && foldName(parts[first]) === foldName(otherParts[first]);
}

/**
 * The names of the parts of a branch's directory that are its own: a nested branch may lie where one of the
 * parts would.
 * @param others the existing branches, without this one
 */
export function ownParts(branch: string, others: readonly string[]): string[] {
  const below = others
    .filter((other) => other.startsWith(`${branch}/`))
    .map((other) => foldName(other.slice(branch.length + 1).split("/", 1)[0]));
  return TABLE_PARTS.filter((part) => !below.includes(foldName(part)));
}
