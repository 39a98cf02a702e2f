/** DescribeNamespace: returns the properties of a namespace. The root has none. */

import { readCatalog, requireLiveRoot } from "../../catalog/rows/catalogTable.js";
import { decodeProperties, findNamespace, requireNamespace } from "../../catalog/rows/objects.js";
import type { OperationBody } from "../operation.js";
import { optionalId } from "../request.js";

export const describeNamespace: OperationBody<"describeNamespace"> = async (context, request) => {
  const path = optionalId(request.id);
  if (path.length === 0) {
    await requireLiveRoot(context);
    return { properties: {} };
  }
  const catalog = await readCatalog(context);
  requireNamespace(catalog, path);
  const row = findNamespace(catalog, path);
  return { properties: row === null ? {} : decodeProperties(row) };
};
