/**
 * Reads and writes branches. A branch is registered by `_refs/branches/<branch>.json`, a JSON object:
 *
 *     parentBranch    string, or null for the main branch: source of the branch
 *     parentVersion   integer: version of the source, which is also the branch's first
 *     identifier      { version_mapping: [[integer, string], …] }: the parent's list and one more entry, its
 *                     version and a random id. Main's list is empty; branches of old releases have none
 *     createAt        seconds since the epoch
 *     manifestSize    bytes of the parent's manifest
 *     metadata        object of strings; kept, and without meaning here
 *
 * The branch lies in `tree/<branch>`, with the layout of a table. Inherited files stay with its parent, so a
 * parent branch cannot be deleted.
 */

import { CorruptFileError, InvalidInputError } from "../../errors.js";
import { foldName, isDeviceName } from "../../io/names/foldName.js";
import { namesIn } from "../../io/names/spelling.js";
import { join } from "../../platform/native.js";
import { isCount, isStringMap } from "../versions/jsonValues.js";
import { branchesDirectory, branchRefPath, branchTree, TABLE_PARTS } from "../versions/paths.js";
import type { RefsAt } from "../versions/tableAt.js";
import { checkBranchName, isMainBranch } from "./refNames.js";
import { listRefNames, type RefContent, readRefFile } from "./refs.js";

/** Path from the main branch to a branch: the version and a random id of each fork. */
export type Lineage = readonly (readonly [version: number, id: string])[];

export interface Branch {
  /** Name of the source branch; null for the main branch. */
  readonly parentBranch: string | null;
  readonly parentVersion: number;
  /** Null if an old release made the branch. */
  readonly lineage: Lineage | null;
  /** Seconds since the epoch. */
  readonly createAt: number;
  /** Bytes of the parent's manifest; 0 if the file does not record them. */
  readonly manifestSize: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Lists the names of all branches but main, in any order.
 * @throws CorruptFileError
 */
export const listBranches = (table: RefsAt): Promise<string[]> =>
  listRefNames(table.disk, branchesDirectory(table.mainRoot), checkBranchName);

/**
 * Reads the registration of a branch; null if it does not exist.
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
  if (parentBranch !== null && typeof parentBranch !== "string") return refuse("whose parent is not a name");
  const parent = parentBranch === null || isMainBranch(parentBranch) ? null : parentBranch;
  try {
    if (parent !== null) checkBranchName(parent);
  } catch (cause) {
    throw new CorruptFileError(path, 0, "the parent of the branch has an invalid name", { cause });
  }
  const lineage = parseLineage(identifier);
  if (lineage === undefined) return refuse("whose identifier is invalid");
  return {
    parentBranch: parent,
    parentVersion,
    lineage,
    createAt,
    manifestSize,
    metadata: isStringMap(metadata) ? metadata : {},
  };
}

/** Returns undefined for a malformed identifier, null for a missing one. */
function parseLineage(identifier: unknown): Lineage | null | undefined {
  if (identifier === undefined || identifier === null) return null;
  const { version_mapping: mapping } = identifier as { version_mapping?: unknown };
  if (!Array.isArray(mapping)) return undefined;
  const isFork = (fork: unknown): boolean =>
    Array.isArray(fork) && fork.length === 2 && isCount(fork[0]) && typeof fork[1] === "string";
  return mapping.every(isFork) ? (mapping as Lineage) : undefined;
}

/** Makes the registration of a new branch. */
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
    // No reader accepts a time before 1970.
    createAt: Math.max(0, Math.floor(Date.now() / 1000)),
    manifestSize: parent.manifestSize,
    metadata: {},
  };
}

/** Returns true if a branch was made from another one, directly or indirectly, and so needs its files. */
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

// Folded names that a table uses in its directory: prefixes, then whole names.
const TAKEN_STARTS: readonly string[] = ["_", ".tiltyard", ".lance-", ".ns-", ".tmp-"].map(foldName);
const TAKEN: readonly string[] = ["data", "tree"].map(foldName);

/** Returns true if some file system takes a later part of a branch's name for one of a table's names. */
function isTakenPart(part: string): boolean {
  const folded = foldName(part);
  return TAKEN.includes(folded) || TAKEN_STARTS.some((start) => folded.startsWith(start));
}

/** Returns true if a branch's directory can lie in another branch's without colliding with its files. */
export const nestsCleanly = (branch: string): boolean => !branch.split("/").slice(1).some(isTakenPart);

/**
 * Checks the name of a new branch.
 * @param others the existing branches
 * @throws InvalidInputError if the new directory would collide with another branch's, here or on another file
 *   system
 */
export function checkNewBranchName(branch: string, others: readonly string[]): void {
  checkBranchName(branch);
  const refuse = (reason: string): never => {
    throw new InvalidInputError(`branch ${JSON.stringify(branch)}: ${reason}`);
  };
  if (!nestsCleanly(branch)) {
    refuse(
      `after a slash, 'data', 'tree' and names that begin with '_', '.tiltyard', '.lance-' … are reserved`,
    );
  }
  for (const part of branch.split("/")) {
    if (isDeviceName(part)) refuse(`Windows takes ${part} for a device`);
    if (foldName(part) === "") refuse(`some file systems do not accept ${JSON.stringify(part)} as a name`);
  }
  const inTheWay = others.find((name) => name.startsWith(`${branch}/`) && !nestsCleanly(name));
  if (inTheWay !== undefined) refuse(`branch ${inTheWay} lies where its files would be`);
  const twin = others.find((name) => foldTogether(branch, name));
  if (twin !== undefined) refuse(`some file systems would take directories of branch ${twin} for its own`);
}

/**
 * Refuses directories that would become part of a new branch; interrupted creations and deletions leave such
 * directories.
 * @param branch a branch without a twin among the existing ones
 * @throws InvalidInputError if some file system would treat an existing directory as one of the branch's
 */
export async function refuseTwinDirectories(table: RefsAt, branch: string): Promise<void> {
  let parent = branchTree(table.mainRoot);
  for (const part of branch.split("/")) {
    for (const name of await namesIn(table.disk, parent)) {
      if (name === part || foldName(name) !== foldName(part)) continue;
      // Some file systems list a name in another form.
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

/** Returns true if some file system confuses the directories of two branches, or their parents. */
export function foldTogether(branch: string, otherBranch: string): boolean {
  const parts = branch.split("/");
  const otherParts = otherBranch.split("/");
  const first = parts.findIndex((part, index) => part !== otherParts[index]);
  return first >= 0 && first < otherParts.length && foldName(parts[first]) === foldName(otherParts[first]);
}

/**
 * Returns the parts of a branch's directory that are its own. A nested branch may lie at the path of a part.
 * @param others the other existing branches
 */
export function ownParts(branch: string, others: readonly string[]): string[] {
  const below = others
    .filter((name) => name.startsWith(`${branch}/`))
    .map((name) => foldName(name.slice(branch.length + 1).split("/", 1)[0]));
  return TABLE_PARTS.filter((part) => !below.includes(foldName(part)));
}
