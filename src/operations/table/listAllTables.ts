/** ListAllTables: lists the ids of the tables of all namespaces, page by page. */

import { listAllTableNames } from "../../catalog/listing.js";
import type { OperationBody } from "../operation.js";
import { optionalBoolean } from "../request.js";
import { optionalPage } from "../requestValues.js";

export const listAllTables: OperationBody<"listAllTables"> = async (context, request, access) => {
  const page = optionalPage(request);
  const includeDeclared = optionalBoolean(request.includeDeclared, "includeDeclared") ?? true;
  const isVisible = access.visibility("tableExists");
  const { names, ...rest } = await listAllTableNames(context, page, includeDeclared, isVisible);
  return { tables: names, ...rest };
};
