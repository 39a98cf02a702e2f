/** DeleteTableTag: takes a name away; the version it named stays. */

import type { DeleteTableTagRequest, DeleteTableTagResponse } from "../../namespace.js";
import { checkTagName } from "../../table/refs.js";
import { deleteTag } from "../../table/tags.js";
import type { OperationContext } from "../context.js";
import { requireString } from "../request.js";
import { openTable } from "../snapshot.js";

export async function deleteTableTag(
  context: OperationContext,
  request: DeleteTableTagRequest,
): Promise<DeleteTableTagResponse> {
  const tag = requireString(request.tag, "tag");
  checkTagName(tag);
  const { table } = await openTable(context, { id: request.id });
  await deleteTag(context, table.directory, tag, request.signal);
  return {};
}
