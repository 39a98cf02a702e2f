/** UpdateTableTag: moves a tag to another version. */

import type { UpdateTableTagRequest, UpdateTableTagResponse } from "../../namespace/tags.js";
import { checkTagName } from "../../table/refs/refs.js";
import { branchOfTag, updateTag } from "../../table/refs/tags.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { openTarget } from "../refTarget.js";
import { requireString } from "../request.js";

export async function updateTableTag(
  context: OperationContext,
  request: UpdateTableTagRequest,
  access: Access,
): Promise<UpdateTableTagResponse> {
  const tag = requireString(request.tag, "tag");
  checkTagName(tag);
  const { table, target } = await openTarget(context, request);
  // `authorize` may take long, so it is asked without the lock, and again under the lock.
  await access.requireBranch(await branchOfTag(table, tag));
  await updateTag(table, tag, target, request.signal, access.requireBranch);
  return {};
}
