/** The branch and version that a request means, as refs name them. */

import type { RefTarget } from "../table/refs/refs.js";
import { isMainBranch } from "../table/refs/refs.js";
import type { OperationContext } from "./context.js";
import { optionalString, requireVersion } from "./request.js";
import { openAtAnyVersion } from "./snapshot.js";

export interface TargetedTable {
  /** Directory of the table, regardless of the branch. */
  readonly mainRoot: string;
  readonly target: RefTarget;
}

/**
 * Does not check that the version exists.
 * @throws TableNotFoundError, TableBranchNotFoundError, InvalidInputError
 */
export async function openTarget(
  context: OperationContext,
  request: { readonly id: readonly string[]; readonly branch?: string; readonly version: number },
): Promise<TargetedTable> {
  const version = requireVersion(request.version);
  const branch = optionalString(request.branch, "branch");
  const { table } = await openAtAnyVersion(context, { id: request.id, branch });
  return { mainRoot: table.directory, target: { branch: isMainBranch(branch) ? null : branch, version } };
}
