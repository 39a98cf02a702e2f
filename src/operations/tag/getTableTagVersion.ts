/** GetTableTagVersion: returns the version that a tag names. */

import { checkTagName } from "../../table/refs/refNames.js";
import { requireTag } from "../findRefs.js";
import type { OperationBody } from "../operation.js";
import { requireString } from "../requestValues.js";
import { openAtAnyVersion } from "../snapshot.js";

export const getTableTagVersion: OperationBody<"getTableTagVersion"> = async (context, request, access) => {
  const tag = requireString(request.tag, "tag");
  checkTagName(tag);
  const { version, branch } = await requireTag(await openAtAnyVersion(context, { id: request.id }), tag);
  await access.requireBranch(branch);
  return branch === null ? { version } : { version, branch };
};
