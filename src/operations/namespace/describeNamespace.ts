/** DescribeNamespace: returns the properties of a namespace. The root has none. */

import { readCatalog, requireLiveRoot } from "../../catalog/rows/catalogTable.js";
import { decodeProperties, findNamespace, requireNamespace } from "../../catalog/rows/objects.js";
import type { DescribeNamespaceRequest, DescribeNamespaceResponse } from "../../namespace/namespaces.js";
import type { OperationContext } from "../context.js";
import { optionalId } from "../request.js";

export async function describeNamespace(
  context: OperationContext,
  request: DescribeNamespaceRequest,
): Promise<DescribeNamespaceResponse> {
  const path = optionalId(request.id);
  if (path.length === 0) {
    await requireLiveRoot(context);
    return { properties: {} };
  }
  const catalog = await readCatalog(context);
  requireNamespace(catalog, path);
  const row = findNamespace(catalog, path);
  return { properties: row === null ? {} : decodeProperties(row) };
}
