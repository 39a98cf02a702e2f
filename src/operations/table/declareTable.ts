/** DeclareTable: reserves the name and directory of a table without data. */

import { declareAt } from "../../catalog/declaration.js";
import { planLocation } from "../../catalog/locations/placement.js";
import { findTable } from "../../catalog/locations/tables.js";
import { TableAlreadyExistsError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { uriOn } from "../../io/disk/addresses.js";
import type { OperationBody } from "../operation.js";
import { optionalString, requireTableId } from "../request.js";
import { optionalProperties } from "../requestValues.js";
import { checkRequestedLocation } from "./requestedLocation.js";

export const declareTable: OperationBody<"declareTable"> = async (context, request) => {
  const id = requireTableId(request.id);
  const requestedLocation = optionalString(request.location, "location");
  const properties = optionalProperties(request.properties);
  const entry = await findTable(context, id);
  const location = entry ?? (await planLocation(context, id));
  checkRequestedLocation(context, id, requestedLocation, location.directory);
  if (entry !== null) throw new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);
  await declareAt(context, location, properties ?? {}, request.signal);
  return {
    location: uriOn(context.disk, location.directory),
    properties: properties ?? {},
    managedVersioning: false,
  };
};
