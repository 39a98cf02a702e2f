/** DeclareTable: reserves a name and its place without data. */

import { resolve } from "node:path";
import { reserve } from "../../catalog/markers.js";
import { publishNewTable, publishTable } from "../../catalog/tableRows.js";
import { findTable, planPlace } from "../../catalog/tables.js";
import { InvalidInputError, TableAlreadyExistsError } from "../../errors.js";
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
  const exists = () => new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);

  const found = await findTable(context, id);
  const place = found ?? (await planPlace(context, id));
  if (wanted !== undefined && resolve(context.root, wanted) !== place.directory) {
    throw new InvalidInputError(
      id.length > 1
        ? "location: the namespace chooses the places of tables in child namespaces"
        : `location: table ${formatIdentifier(id)} belongs at ${place.directory}`,
    );
  }
  if (found !== null) throw exists();
  if (id.length === 1) {
    // The row first: one without its directory means nothing.
    await publishTable(context, place, properties ?? {}, request.signal);
    if (!(await reserve(context.disk, place.directory))) throw exists();
  } else {
    if (!(await reserve(context.disk, place.directory))) throw exists();
    await publishNewTable(context, place, properties ?? {}, request.signal);
  }
  return { location: place.directory, properties: properties ?? {}, managedVersioning: false };
}
