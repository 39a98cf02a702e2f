/** ListAllTables: lists the ids of the tables of all namespaces, page by page. */

import { listAllTableNames } from "../../catalog/listing.js";
import type { ListAllTablesRequest, ListTablesResponse } from "../../namespace/tables.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { optionalBoolean, optionalPage } from "../request.js";

export async function listAllTables(
  context: OperationContext,
  request: ListAllTablesRequest,
  access: Access,
): Promise<ListTablesResponse> {
  const page = optionalPage(request);
  const includeDeclared = optionalBoolean(request.includeDeclared, "includeDeclared") ?? true;
  const { names, pageToken } = await listAllTableNames(
    context,
    page,
    includeDeclared,
    access.visibility("tableExists"),
  );
  return { tables: names, ...(pageToken !== undefined && { pageToken }) };
}
