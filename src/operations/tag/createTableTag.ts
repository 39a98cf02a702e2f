/** CreateTableTag: names a version with a new tag. */

import { checkTagName } from "../../table/refs/refNames.js";
import { createTag } from "../../table/refs/tags.js";
import type { OperationBody } from "../operation.js";
import { requireString } from "../requestValues.js";
import { openTarget } from "./openTarget.js";

export const createTableTag: OperationBody<"createTableTag"> = async (context, request) => {
  const tag = requireString(request.tag, "tag");
  checkTagName(tag);
  const { table, target } = await openTarget(context, request);
  await createTag(table, tag, target, request.signal);
  return {};
};
