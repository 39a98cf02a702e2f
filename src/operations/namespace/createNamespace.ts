/** CreateNamespace: creates a child namespace. `Overwrite` only replaces an empty one. */

import { addNamespace, type CreationMode } from "../../catalog/namespaces.js";
import type { OperationBody } from "../operation.js";
import { optionalId } from "../request.js";
import { optionalProperties, parseChoice } from "../requestValues.js";

const MODES = { Create: "fail", ExistOk: "existOk", Overwrite: "overwrite" } as const satisfies Record<
  string,
  CreationMode
>;

export const createNamespace: OperationBody<"createNamespace"> = async (context, request) => {
  const path = optionalId(request.id);
  const mode = parseChoice(request.mode, "mode", ["Create", "ExistOk", "Overwrite"], "Create");
  const properties = optionalProperties(request.properties);
  return { properties: await addNamespace(context, path, properties, MODES[mode], request.signal) };
};
