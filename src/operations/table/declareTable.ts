/** DeclareTable: reserves a name and its place without data. */

import { resolve } from "node:path";
import { findTable, locateTable, refuseDeregistered, reserveTable } from "../../catalog/rootTables.js";
import { InvalidInputError, TableAlreadyExistsError, UnsupportedError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { DeclareTableRequest, DeclareTableResponse } from "../../namespace.js";
import type { OperationContext } from "../context.js";
import { optionalString, optionalStringMap, requireTableId } from "../request.js";

export async function declareTable(
  context: OperationContext,
  request: DeclareTableRequest,
): Promise<DeclareTableResponse> {
  const id = requireTableId(request.id);
  const wanted = optionalString(request.location, "location");
  const properties = optionalStringMap(request.properties, "properties");
  const location = await locateTable(context.disk, context.root, id);
  if (wanted !== undefined && resolve(context.root, wanted) !== location.directory) {
    throw new InvalidInputError(`location: table ${formatIdentifier(id)} belongs at ${location.directory}`);
  }
  if (properties !== undefined && Object.keys(properties).length > 0) {
    throw new UnsupportedError("properties: properties of root tables are not supported by this release");
  }
  const exists = (await findTable(context.disk, location)) !== null;
  if (!exists) await refuseDeregistered(context.disk, location);
  if (exists || !(await reserveTable(context.disk, location))) {
    throw new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);
  }
  return { location: location.directory, managedVersioning: false };
}
