/** Finds branches and tags by their exact names: a disk that ignores case would find others as well. */

import { checkNewBranchName, listBranches, refuseTwinDirectories } from "../table/refs/branches.js";
import { branchExists } from "../table/refs/refs.js";
import { readTag, type Tag } from "../table/refs/tags.js";
import { branchesDirectory, branchRefName, tagName, tagsDirectory } from "../table/versions/paths.js";
import type { RefsAt, TableAt } from "../table/versions/tableAt.js";
import type { OperationContext } from "./context.js";

/** @throws InvalidInputError for an illegal name, CorruptFileError */
export async function findTag(table: TableAt<OperationContext>, name: string): Promise<Tag | null> {
  const tag = await readTag(table, name);
  const { spelling } = table.environment;
  return tag !== null && (await spelling.isExact(tagsDirectory(table.mainRoot), tagName(name))) ? tag : null;
}

/** Whether a branch is registered. */
export const isRegistered = async (table: TableAt<OperationContext>, branch: string): Promise<boolean> =>
  (await branchExists(table, branch)) &&
  table.environment.spelling.isExact(branchesDirectory(table.mainRoot), branchRefName(branch));

/**
 * Checks that an unregistered branch can be made, unless it already exists.
 * @throws InvalidInputError if some file system would take its directory, or one above it, for another branch's
 */
export async function checkUnregistered(table: RefsAt, branch: string): Promise<void> {
  const branches = await listBranches(table);
  if (branches.includes(branch)) return;
  checkNewBranchName(branch, branches);
  await refuseTwinDirectories(table, branch);
}
