/** DropNamespace: removes a namespace. `Cascade` also removes everything in it. */

import { removeNamespace } from "../../catalog/namespaces.js";
import { InvalidInputError } from "../../errors.js";
import type { OperationBody } from "../operation.js";
import { optionalId } from "../request.js";
import { parseChoice } from "../requestValues.js";

export const dropNamespace: OperationBody<"dropNamespace"> = async (context, request, access) => {
  const path = optionalId(request.id);
  const mode = parseChoice(request.mode, "mode", ["Fail", "Skip"], "Fail");
  const behavior = parseChoice(request.behavior, "behavior", ["Restrict", "Cascade"], "Restrict");
  if (path.length === 0) throw new InvalidInputError("id: the root namespace cannot be dropped");
  const options = {
    cascade: behavior === "Cascade",
    skipMissing: mode === "Skip",
    allow: (objectType: string, id: readonly string[]) =>
      access.require(objectType === "namespace" ? "dropNamespace" : "dropTable", id),
  };
  const properties = await removeNamespace(context, path, options, request.signal);
  return properties === null ? {} : { properties };
};
