/** Finds branches and tags by their exact names. A disk that ignores case would also find similar names. */

import type { TableEntry } from "../catalog/locations/tables.js";
import { TableTagNotFoundError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import { checkNewBranchName, listBranches, refuseTwinDirectories } from "../table/refs/branches.js";
import { branchExists } from "../table/refs/refs.js";
import { readTag, type Tag } from "../table/refs/tags.js";
import { branchesDirectory, branchRefName, tagName, tagsDirectory } from "../table/versions/paths.js";
import type { RefsAt, TableAt } from "../table/versions/tableAt.js";
import type { OperationContext } from "./context.js";

/**
 * Reads a tag.
 * @throws TableTagNotFoundError; InvalidInputError for an illegal name; CorruptFileError
 */
export async function requireTag(
  { table, entry }: { readonly table: TableAt<OperationContext>; readonly entry: TableEntry },
  name: string,
): Promise<Tag> {
  const tag = await readTag(table, name);
  const { spelling } = table.environment;
  if (tag !== null && (await spelling.isExact(tagsDirectory(table.mainRoot), tagName(name)))) return tag;
  throw new TableTagNotFoundError(`table ${formatIdentifier(entry.id)} has no tag ${name}`);
}

/** True if a branch is registered. */
export const isRegistered = async (table: TableAt<OperationContext>, branch: string): Promise<boolean> =>
  (await branchExists(table, branch)) &&
  table.environment.spelling.isExact(branchesDirectory(table.mainRoot), branchRefName(branch));

/**
 * Checks that a branch can be created, unless it already exists without a registration.
 * @throws InvalidInputError if some file system would confuse its directory, or a parent, with another
 *   branch's
 */
export async function checkUnregistered(table: RefsAt, branch: string): Promise<void> {
  const branches = await listBranches(table);
  if (branches.includes(branch)) return;
  checkNewBranchName(branch, branches);
  await refuseTwinDirectories(table, branch);
}
