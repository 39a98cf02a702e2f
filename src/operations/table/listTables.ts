/** ListTables: lists the names of a namespace's tables, page by page. */

import { listTableNames } from "../../catalog/listing.js";
import type { ListTablesRequest, ListTablesResponse } from "../../namespace/tables.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { optionalBoolean, optionalId, optionalPage } from "../request.js";

export async function listTables(
  context: OperationContext,
  request: ListTablesRequest,
  access: Access,
): Promise<ListTablesResponse> {
  const id = optionalId(request.id);
  const page = optionalPage(request);
  const includeDeclared = optionalBoolean(request.includeDeclared, "includeDeclared") ?? true;
  const { names, pageToken } = await listTableNames(
    context,
    id,
    page,
    includeDeclared,
    access.visibility("tableExists"),
  );
  return { tables: names, ...(pageToken !== undefined && { pageToken }) };
}
