/**
 * Deletes a branch. Under the lock of the table's refs, and that of the branch unless one move removes it:
 *
 *     check that nothing refers to it ─ remove the ref ─ remove its directories
 *
 * Once the ref is removed, the branch is deleted. Directories that remain after a crash belong to nobody. The
 * parts of a branch's name are nested directories, and other branches may lie in them. Directories that
 * become empty are removed as well. If other branches lie in a directory, only the branch's own parts are
 * removed.
 */

import { InternalError, InvalidInputError, TableBranchNotFoundError } from "../../errors.js";
import { tellFailure } from "../../io/disk/diskErrors.js";
import { LeaseLostError } from "../../io/lock/lease.js";
import { hasLock, withLock } from "../../io/lock/lock.js";
import { foldName } from "../../io/names/foldName.js";
import { areApart } from "../../io/names/spelling.js";
import { isUnmovable, OverruledError, Removal } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import {
  branchDirectory,
  branchesDirectory,
  branchRefPath,
  branchTree,
  hasUniqueNames,
  sideDirectory,
} from "../versions/paths.js";
import type { RefsAt, TableAt } from "../versions/tableAt.js";
import { lockOptions } from "../versions/tableLock.js";
import {
  type Branch,
  descendsFrom,
  foldTogether,
  listBranches,
  nestsCleanly,
  ownParts,
  readBranch,
} from "./branches.js";
import { checkBranchName } from "./refNames.js";
import { lockRefs } from "./refs.js";
import { listTags, readTag } from "./tags.js";

/** Maximum number of names in a message. */
const MAX_NAMED = 10;

/**
 * Deletes a branch.
 * @param release closes open files below a directory
 * @throws TableBranchNotFoundError; InvalidInputError for an illegal name, or if other branches or tags refer
 *   to the branch
 * @throws CorruptFileError if a ref that cannot be read may refer to it
 * @throws InternalError if the branch was deleted but files of it remain
 */
export function deleteBranch(
  table: TableAt,
  branch: string,
  release: (directory: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const { disk } = table;
  return lockRefs(table, signal, async (lease) => {
    checkBranchName(branch);
    const branches = await listBranches(table);
    // A disk that ignores case may find the ref of another branch.
    const doomed = branches.includes(branch) ? await readBranch(table, branch) : null;
    if (doomed === null) throw noBranch(branch);
    const others = branches.filter((name) => name !== branch);
    await refuseReferenced(table, branch, doomed, others);
    const staying = await asSpelledBy(table, branch, others);
    const directories = directoriesOfBranch(table.mainRoot, branch, staying);
    const root = branchDirectory(table.mainRoot, branch);
    const lockBranch = <T>(work: () => Promise<T>) =>
      withLock(root, lockOptions(table.environment, { signal }), work);
    const remove = async (takeOut: TakeOut) => {
      const removal = new Removal(disk, sideDirectory(table.mainRoot), table.mainRoot, lease, hasUniqueNames);
      try {
        if (!(await removal.takeOut(branchRefPath(table.mainRoot, branch)))) throw noBranch(branch);
        await disk.syncDirectory(branchesDirectory(table.mainRoot));
        // The branch is already deleted. Remaining directories are harmless, but the caller must learn of
        // them.
        const failures: unknown[] = [];
        for (const directory of directories) {
          release(directory);
          await takeOut(removal, directory).catch((error: unknown) => failures.push(error));
        }
        // Once the lock is lost, the directories may be a successor's. A cleanup of the table recognises
        // orphans.
        const [cause] = failures.filter((error) => !isOverruled(error));
        if (cause === undefined) return;
        throw new InternalError(
          `branch ${branch} was deleted, but some of its files remain: ${tellFailure(cause)}`,
          {
            cause,
          },
        );
      } finally {
        await removal.finish();
      }
    };
    // A single move removes the files of a commit in progress, so that it fails. The branch is therefore
    // locked only if a writer holds its lock, and may finish.
    const canMove = disk.hasRename !== false;
    if (canMove && directories.length === 1 && !(await hasLock(root, table.environment.lock))) {
      return remove((removal, directory) =>
        removal.move(directory).catch((error) => {
          if (!isUnmovable(error)) throw error;
          return lockBranch(() => removal.takeOut(directory));
        }),
      );
    }
    const locked = () => remove((removal, directory) => removal.takeOut(directory));
    // Under this lock, none of our writers is in the middle of a commit to the branch.
    return (await disk.stat(root)) === null ? locked() : lockBranch(locked);
  });
}

/** Removes a directory of the branch; false if it does not exist. */
type TakeOut = (removal: Removal, directory: string) => Promise<boolean>;

const isOverruled = (error: unknown): boolean =>
  error instanceof LeaseLostError || error instanceof OverruledError;

const noBranch = (branch: string): TableBranchNotFoundError =>
  new TableBranchNotFoundError(`there is no branch ${branch}`);

async function refuseReferenced(
  table: RefsAt,
  branch: string,
  doomed: Branch,
  others: readonly string[],
): Promise<void> {
  const children: string[] = [];
  for (const name of others) {
    const otherBranch = await readBranch(table, name);
    if (otherBranch !== null && descendsFrom(otherBranch, doomed, branch)) children.push(name);
  }
  if (children.length > 0) {
    throw new InvalidInputError(`branch ${branch} is needed by branches ${formatNames(children)}`);
  }
  const tags: string[] = [];
  for (const name of await listTags(table)) {
    const tag = await readTag(table, name);
    if (tag?.branch === branch) tags.push(name);
  }
  if (tags.length > 0) {
    throw new InvalidInputError(`branch ${branch} is needed by tags ${formatNames(tags)}`);
  }
}

function formatNames(names: string[]): string {
  const shown = names.sort().slice(0, MAX_NAMED).join(", ");
  return names.length > MAX_NAMED ? `${shown} and ${names.length - MAX_NAMED} more` : shown;
}

/**
 * Returns the names of the other branches, as the disk spells them. If the disk treats a directory of another
 * branch as one of this branch's, the result has this branch's spelling of it. Only another engine, or
 * another file system, can make such branches.
 */
export async function asSpelledBy(
  table: RefsAt,
  branch: string,
  others: readonly string[],
): Promise<string[]> {
  const spelled: string[] = [];
  for (const otherName of others) {
    const isApart =
      !foldTogether(branch, otherName) ||
      (await areApart(table.disk, branchTree(table.mainRoot), branch, otherName));
    spelled.push(isApart ? otherName : spelledBy(branch, otherName));
  }
  return spelled;
}

/** Spells the leading parts of `otherBranch` that fold together with those of `branch` like the latter. */
function spelledBy(branch: string, otherBranch: string): string {
  const parts = branch.split("/");
  const otherParts = otherBranch.split("/");
  const common = otherParts.findIndex(
    (part, index) => index >= parts.length || foldName(part) !== foldName(parts[index]),
  );
  const count = common < 0 ? otherParts.length : common;
  return [...parts.slice(0, count), ...otherParts.slice(count)].join("/");
}

/**
 * Returns the directories that are removed with a branch.
 * @param others branches that stay; one of the same name has the same directory
 */
export function directoriesOfBranch(mainRoot: string, branch: string, others: readonly string[]): string[] {
  if (others.includes(branch)) return [];
  const isShared = (path: string) =>
    others.some((otherName) => otherName === path || otherName.startsWith(`${path}/`));
  if (!isShared(branch) && nestsCleanly(branch)) {
    const parts = branch.split("/");
    const paths = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
    return [branchDirectory(mainRoot, paths.find((path) => !isShared(path)) ?? branch)];
  }
  const root = branchDirectory(mainRoot, branch);
  return ownParts(branch, others).map((part) => join(root, part));
}
