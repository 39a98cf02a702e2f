/** DeleteTableTag: deletes a tag. The version stays. */

import { checkTagName } from "../../table/refs/refNames.js";
import { branchOfTag, deleteTag } from "../../table/refs/tags.js";
import type { OperationBody } from "../operation.js";
import { requireString } from "../requestValues.js";
import { openAtAnyVersion } from "../snapshot.js";

export const deleteTableTag: OperationBody<"deleteTableTag"> = async (context, request, access) => {
  const tag = requireString(request.tag, "tag");
  checkTagName(tag);
  const { table } = await openAtAnyVersion(context, { id: request.id });
  // `authorize` may take long, so it is asked without the lock, and again under the lock.
  await access.requireBranch(await branchOfTag(table, tag));
  await deleteTag(table, tag, request.signal, access.requireBranch);
  return {};
};
