/** Which version of which branch a request means, as refs name it. */

import type { RefTarget } from "../table/refs/refs.js";
import { isMainBranch } from "../table/refs/refs.js";
import type { OperationContext } from "./context.js";
import { optionalString, requireVersion } from "./request.js";
import { openTable } from "./snapshot.js";

export interface TargetedTable {
  /** Directory of the table, whichever branch is meant. */
  readonly mainRoot: string;
  readonly target: RefTarget;
}

/**
 * @throws TableNotFoundError, TableBranchNotFoundError, InvalidInputError; whether the version is there is not
 *   looked at
 */
export async function openTarget(
  context: OperationContext,
  request: { readonly id: readonly string[]; readonly branch?: string; readonly version: number },
): Promise<TargetedTable> {
  const version = requireVersion(request.version);
  const branch = optionalString(request.branch, "branch");
  const { table } = await openTable(context, { id: request.id, branch });
  return { mainRoot: table.directory, target: { branch: isMainBranch(branch) ? null : branch, version } };
}
