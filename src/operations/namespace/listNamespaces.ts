/** ListNamespaces: names of the namespaces directly in one, page by page. */

import { readCatalog } from "../../catalog/catalogTable.js";
import { pageOf } from "../../catalog/listing.js";
import { objectIdOf, requireNamespace } from "../../catalog/objects.js";
import type { ListNamespacesRequest, ListNamespacesResponse } from "../../namespace.js";
import type { OperationContext } from "../context.js";
import { optionalId, optionalPage } from "../request.js";

export async function listNamespaces(
  context: OperationContext,
  request: ListNamespacesRequest,
): Promise<ListNamespacesResponse> {
  const path = optionalId(request.id);
  const page = optionalPage(request);
  const catalog = await readCatalog(context);
  requireNamespace(catalog, path);
  const { names, pageToken } = pageOf(catalog.childrenOf(objectIdOf(path)).namespaces, page);
  return { namespaces: names, ...(pageToken !== undefined && { pageToken }) };
}
