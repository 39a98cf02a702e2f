/** ListNamespaces: lists the direct children of a namespace, page by page. */

import { pageOf, pageOfExisting, refuseFileAsRoot } from "../../catalog/listing.js";
import { readCatalog } from "../../catalog/rows/catalogTable.js";
import { objectIdOf, requireNamespace } from "../../catalog/rows/objects.js";
import type { OperationBody } from "../operation.js";
import { optionalId } from "../request.js";
import { optionalPage } from "../requestValues.js";

export const listNamespaces: OperationBody<"listNamespaces"> = async (context, request, access) => {
  const path = optionalId(request.id);
  const page = optionalPage(request);
  const catalog = await readCatalog(context);
  requireNamespace(catalog, path);
  const all = catalog.childrenOf(objectIdOf(path)).namespaces;
  if (all.length === 0 && path.length === 0) await refuseFileAsRoot(context);
  const isVisible = access.visibility("namespaceExists");
  const { names, ...rest } =
    isVisible === null
      ? pageOf(all, page)
      : await pageOfExisting(all, page, (name) => isVisible([...path, name]));
  return { namespaces: names, ...rest };
};
