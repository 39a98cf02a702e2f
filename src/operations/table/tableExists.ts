/** TableExists: checks that a table, or a version of it, exists. */

import type { TableExistsRequest } from "../../namespace/tables.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { optionalString, optionalVersion } from "../request.js";
import { openAtAnyVersion, openSnapshot } from "../snapshot.js";

export async function tableExists(
  context: OperationContext,
  request: TableExistsRequest,
  access: Access,
): Promise<void> {
  const namesVersion =
    optionalVersion(request.version) !== undefined || optionalString(request.tag, "tag") !== undefined;
  if (namesVersion) await openSnapshot(context, request, access);
  else await openAtAnyVersion(context, request);
}
