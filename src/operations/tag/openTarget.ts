/** Opens the branch whose version a tag will name. */

import type { RefTarget } from "../../table/refs/refs.js";
import type { TableAt } from "../../table/versions/tableAt.js";
import type { OperationContext } from "../context.js";
import { requireVersion } from "../request.js";
import { openAtAnyVersion } from "../snapshot.js";

/** Opens the branch of a request for a tag. Does not check that the version exists. */
export async function openTarget(
  context: OperationContext,
  { id, branch, version: number }: Parameters<typeof openAtAnyVersion>[1],
): Promise<{ readonly table: TableAt; readonly target: RefTarget }> {
  const version = requireVersion(number);
  const { table } = await openAtAnyVersion(context, { id, branch });
  return { table, target: { branch: table.branch, version } };
}
