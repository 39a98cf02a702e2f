/** ListTables: lists the names of a namespace's tables, page by page. */

import { listTableNames } from "../../catalog/listing.js";
import type { OperationBody } from "../operation.js";
import { optionalBoolean, optionalId } from "../request.js";
import { optionalPage } from "../requestValues.js";

export const listTables: OperationBody<"listTables"> = async (context, request, access) => {
  const id = optionalId(request.id);
  const page = optionalPage(request);
  const includeDeclared = optionalBoolean(request.includeDeclared, "includeDeclared") ?? true;
  const isVisible = access.visibility("tableExists");
  const { names, ...rest } = await listTableNames(context, id, page, includeDeclared, isVisible);
  return { tables: names, ...rest };
};
