/** NamespaceExists: checks that a namespace exists. */

import { readCatalog, requireLiveRoot } from "../../catalog/rows/catalogTable.js";
import { requireNamespace } from "../../catalog/rows/objects.js";
import type { NamespaceExistsRequest } from "../../namespace/namespaces.js";
import type { OperationContext } from "../context.js";
import { optionalId } from "../request.js";

export async function namespaceExists(
  context: OperationContext,
  request: NamespaceExistsRequest,
): Promise<void> {
  const path = optionalId(request.id);
  if (path.length === 0) await requireLiveRoot(context);
  else requireNamespace(await readCatalog(context), path);
}
