/** ListTables: names of the tables in a namespace, page by page. */

import { listRootTables, refuseChildNamespace } from "../../catalog/rootTables.js";
import type { ListTablesRequest, ListTablesResponse } from "../../namespace.js";
import type { OperationContext } from "../context.js";
import { optionalBoolean, optionalCount, optionalId, optionalString } from "../request.js";

export async function listTables(
  context: OperationContext,
  request: ListTablesRequest,
): Promise<ListTablesResponse> {
  const id = optionalId(request.id);
  const limit = optionalCount(request.limit, "limit", 1);
  // A token is the last name of the page before; any string is one. The empty string is the start.
  const after = optionalString(request.pageToken, "pageToken") ?? "";
  const includeDeclared = optionalBoolean(request.includeDeclared, "includeDeclared") ?? true;
  if (id.length > 0) await refuseChildNamespace(context.disk, context.root, id);
  const names = await listRootTables(context.disk, context.root, includeDeclared);
  const rest = names.filter((name) => name > after);
  if (limit === undefined || rest.length <= limit) return { tables: rest };
  return { tables: rest.slice(0, limit), pageToken: rest[limit - 1] };
}
