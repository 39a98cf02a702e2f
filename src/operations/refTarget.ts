/** Resolves the branch and version of a request for a ref. */

import type { ObjectId } from "../namespace/request.js";
import type { RefTarget } from "../table/refs/refs.js";
import type { TableAt } from "../table/versions/tableAt.js";
import type { OperationContext } from "./context.js";
import { requireVersion } from "./request.js";
import { openAtAnyVersion } from "./snapshot.js";

export interface TargetedTable {
  readonly table: TableAt;
  readonly target: RefTarget;
}

/**
 * Opens the branch. Does not check that the version exists.
 * @throws TableNotFoundError; TableBranchNotFoundError; InvalidInputError
 */
export async function openTarget(
  context: OperationContext,
  request: { readonly id: ObjectId; readonly branch?: string | undefined; readonly version: number },
): Promise<TargetedTable> {
  const version = requireVersion(request.version);
  const { table } = await openAtAnyVersion(context, { id: request.id, branch: request.branch });
  return { table, target: { branch: table.branch, version } };
}
