/** GetTableTagVersion: returns the version that a tag names. */

import { TableTagNotFoundError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { GetTableTagVersionRequest, GetTableTagVersionResponse } from "../../namespace/tags.js";
import { checkTagName } from "../../table/refs/refs.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { findTag } from "../findRefs.js";
import { requireString } from "../request.js";
import { openAtAnyVersion } from "../snapshot.js";

export async function getTableTagVersion(
  context: OperationContext,
  request: GetTableTagVersionRequest,
  access: Access,
): Promise<GetTableTagVersionResponse> {
  const tag = requireString(request.tag, "tag");
  checkTagName(tag);
  const { entry, table } = await openAtAnyVersion(context, { id: request.id });
  const contents = await findTag(table, tag);
  if (contents === null) {
    throw new TableTagNotFoundError(`table ${formatIdentifier(entry.id)} has no tag ${tag}`);
  }
  const { version, branch } = contents;
  await access.requireBranch(branch);
  return branch === null ? { version } : { version, branch };
}
