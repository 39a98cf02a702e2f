/** NamespaceExists: checks that a namespace exists. */

import { readCatalog, requireLiveRoot } from "../../catalog/rows/catalogTable.js";
import { requireNamespace } from "../../catalog/rows/objects.js";
import type { OperationBody } from "../operation.js";
import { optionalId } from "../request.js";

export const namespaceExists: OperationBody<"namespaceExists"> = async (context, request) => {
  const path = optionalId(request.id);
  if (path.length === 0) await requireLiveRoot(context);
  else requireNamespace(await readCatalog(context), path);
};
