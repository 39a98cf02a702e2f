/** TableExists: DescribeTable without an answer. */

import type { TableExistsRequest } from "../../namespace.js";
import type { OperationContext } from "../context.js";
import { optionalVersion } from "../request.js";
import { openSnapshot, openTable } from "../snapshot.js";

export async function tableExists(context: OperationContext, request: TableExistsRequest): Promise<void> {
  if (optionalVersion(request.version) === undefined) await openTable(context, request);
  else await openSnapshot(context, request);
}
