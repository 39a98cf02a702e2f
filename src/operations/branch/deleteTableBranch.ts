/** DeleteTableBranch: removes an unreferenced branch with all its versions. */

import { deleteBranch } from "../../table/refs/branchRemoval.js";
import { checkBranchName } from "../../table/refs/refNames.js";
import type { OperationBody } from "../operation.js";
import { requireString } from "../requestValues.js";
import { openAtAnyVersion } from "../snapshot.js";

export const deleteTableBranch: OperationBody<"deleteTableBranch"> = async (context, request) => {
  const { handles } = context;
  const name = requireString(request.name, "name");
  checkBranchName(name);
  const { table } = await openAtAnyVersion(context, { id: request.id });
  // Windows does not rename a directory with an open file.
  const release = (directory: string) => handles.evict(directory);
  await deleteBranch(table, name, release, request.signal);
  return {};
};
