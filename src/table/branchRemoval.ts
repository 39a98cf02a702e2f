/**
 * Deleting a branch. Under the lock of the table's refs and that of the branch:
 *
 *   check that nothing refers to it ─ remove the ref ─ take its directories away
 *
 * Removing the ref decides; what stays of the directories after a crash belongs to nobody. A branch lies in the
 * directories that its name spells, which it may share with others: those that would be left with nothing in them
 * go as well, and of one that other branches lie in only what is the branch's own.
 */

import { join } from "node:path";
import { InvalidInputError, TableBranchNotFoundError } from "../errors.js";
import type { Disk } from "../io/disk.js";
import { withLock } from "../io/lock.js";
import { Removal } from "../io/publish.js";
import { type Branch, descendsFrom, listBranches, nestsCleanly, ownParts, readBranch } from "./branches.js";
import type { TableEnvironment } from "./environment.js";
import { branchDirectory, branchesDirectory, branchRefPath, sideDirectory } from "./paths.js";
import { lockRefs } from "./refs.js";
import { listTags, readTag } from "./tags.js";

/** Names in a message at most. */
const MAX_NAMED = 10;

/**
 * @param mainRoot directory of the table
 * @param release lets go of what is open below a directory
 * @throws TableBranchNotFoundError; InvalidInputError for an illegal name, and where other branches or tags refer
 *   to the branch; CorruptFileError where that can't be told
 */
export function deleteBranch(
  environment: TableEnvironment,
  mainRoot: string,
  branch: string,
  release: (directory: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const { disk } = environment;
  return lockRefs(environment, mainRoot, signal, async (lease) => {
    const doomed = await readBranch(disk, mainRoot, branch);
    if (doomed === null) throw noBranch(branch);
    const others = (await listBranches(disk, mainRoot)).filter((other) => other !== branch);
    await refuseReferenced(disk, mainRoot, branch, doomed, others);
    const remove = async () => {
      const removal = new Removal(disk, sideDirectory(mainRoot), mainRoot, lease);
      try {
        if (!(await removal.takeOut(branchRefPath(mainRoot, branch)))) throw noBranch(branch);
        await disk.syncDirectory(branchesDirectory(mainRoot));
        // Decided by then: what is left of the directories is in nobody's way, and may be a successor's.
        for (const directory of directoriesOf(mainRoot, branch, others)) {
          release(directory);
          await removal.takeOut(directory).catch(() => false);
        }
      } finally {
        await removal.finish();
      }
    };
    const root = branchDirectory(mainRoot, branch);
    if ((await disk.stat(root)) === null) return remove();
    // No writer of ours is in the middle of a commit to it.
    const lock = { ...environment.lock, signal: signal ?? environment.lock.signal };
    return withLock(root, lock, remove);
  });
}

const noBranch = (branch: string): TableBranchNotFoundError =>
  new TableBranchNotFoundError(`there is no branch ${branch}`);

async function refuseReferenced(
  disk: Disk,
  mainRoot: string,
  branch: string,
  doomed: Branch,
  others: readonly string[],
): Promise<void> {
  const children: string[] = [];
  for (const name of others) {
    const other = await readBranch(disk, mainRoot, name);
    if (other !== null && descendsFrom(other, doomed, branch)) children.push(name);
  }
  if (children.length > 0) {
    throw new InvalidInputError(`branch ${branch} is referred to by branches ${formatNames(children)}`);
  }
  const tags: string[] = [];
  for (const name of await listTags(disk, mainRoot)) {
    const tag = await readTag(disk, mainRoot, name);
    if (tag?.branch === branch) tags.push(name);
  }
  if (tags.length > 0) {
    throw new InvalidInputError(`branch ${branch} is referred to by tags ${formatNames(tags)}`);
  }
}

function formatNames(names: string[]): string {
  const shown = names.sort().slice(0, MAX_NAMED).join(", ");
  return names.length > MAX_NAMED ? `${shown} and ${names.length - MAX_NAMED} more` : shown;
}

/**
 * The directories that go with a branch.
 * @param others the branches that stay
 */
export function directoriesOf(mainRoot: string, branch: string, others: readonly string[]): string[] {
  const isShared = (path: string) => others.some((other) => other === path || other.startsWith(`${path}/`));
  if (!isShared(branch) && nestsCleanly(branch)) {
    const parts = branch.split("/");
    const paths = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
    return [branchDirectory(mainRoot, paths.find((path) => !isShared(path)) ?? branch)];
  }
  const root = branchDirectory(mainRoot, branch);
  return ownParts(branch, others).map((part) => join(root, part));
}
