/** UpdateTableTag: moves a tag to another version. */

import { checkTagName } from "../../table/refs/refNames.js";
import { branchOfTag, updateTag } from "../../table/refs/tags.js";
import type { OperationBody } from "../operation.js";
import { requireString } from "../requestValues.js";
import { openTarget } from "./openTarget.js";

export const updateTableTag: OperationBody<"updateTableTag"> = async (context, request, access) => {
  const tag = requireString(request.tag, "tag");
  checkTagName(tag);
  const { table, target } = await openTarget(context, request);
  // `authorize` may take long, so it is asked without the lock, and again under the lock.
  await access.requireBranch(await branchOfTag(table, tag));
  await updateTag(table, tag, target, request.signal, access.requireBranch);
  return {};
};
