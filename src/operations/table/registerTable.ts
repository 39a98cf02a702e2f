/** RegisterTable: gives an id to data below the root. */

import { attachTable } from "../../catalog/registration.js";
import { InvalidInputError } from "../../errors.js";
import type { RegisterTableRequest, RegisterTableResponse } from "../../namespace/tables.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { optionalProperties, optionalString, parseChoice, requireTableId } from "../request.js";

export async function registerTable(
  context: OperationContext,
  request: RegisterTableRequest,
  access: Access,
): Promise<RegisterTableResponse> {
  const id = requireTableId(request.id);
  const location = optionalString(request.location, "location");
  const mode = parseChoice(request.mode, "mode", ["Create", "Overwrite"], "Create");
  const properties = optionalProperties(request.properties);
  if (location === undefined) throw new InvalidInputError("location: a directory below the root is needed");
  const tableLocation = await attachTable(context, id, location, {
    properties,
    overwrite: mode === "Overwrite",
    allow: (formerId) => access.require("registerTable", formerId, { location }),
    signal: request.signal,
  });
  return { location: tableLocation.directory, properties: properties ?? {} };
}
