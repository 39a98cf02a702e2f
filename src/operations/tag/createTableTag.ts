/** CreateTableTag: names a version with a new tag. */

import type { CreateTableTagRequest, CreateTableTagResponse } from "../../namespace/tags.js";
import { checkTagName } from "../../table/refs/refs.js";
import { createTag } from "../../table/refs/tags.js";
import type { OperationContext } from "../context.js";
import { openTarget } from "../refTarget.js";
import { requireString } from "../request.js";

export async function createTableTag(
  context: OperationContext,
  request: CreateTableTagRequest,
): Promise<CreateTableTagResponse> {
  const tag = requireString(request.tag, "tag");
  checkTagName(tag);
  const { table, target } = await openTarget(context, request);
  await createTag(table, tag, target, request.signal);
  return {};
}
