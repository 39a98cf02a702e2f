/** UpdateTableTag: lets a tag name another version. */

import type { UpdateTableTagRequest, UpdateTableTagResponse } from "../../namespace.js";
import { checkTagName } from "../../table/refs.js";
import { updateTag } from "../../table/tags.js";
import type { OperationContext } from "../context.js";
import { openTarget } from "../refTarget.js";
import { requireString } from "../request.js";

export async function updateTableTag(
  context: OperationContext,
  request: UpdateTableTagRequest,
): Promise<UpdateTableTagResponse> {
  const tag = requireString(request.tag, "tag");
  checkTagName(tag);
  const { mainRoot, target } = await openTarget(context, request);
  await updateTag(context, mainRoot, tag, target, request.signal);
  return {};
}
