/** RegisterTable: gives an id to data below the root. */

import { attachTable } from "../../catalog/registration.js";
import { InvalidInputError } from "../../errors.js";
import { uriOn } from "../../io/disk/addresses.js";
import type { OperationBody } from "../operation.js";
import { optionalString, requireTableId } from "../request.js";
import { optionalProperties, parseChoice } from "../requestValues.js";

export const registerTable: OperationBody<"registerTable"> = async (context, request, access) => {
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
  return { location: uriOn(context.disk, tableLocation.directory), properties: properties ?? {} };
};
