/** Checks the place that a caller wants for a declared table, which the namespace chooses. */

import { InvalidInputError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { resolve } from "../../platform/native.js";
import type { OperationContext } from "../context.js";

/** @throws InvalidInputError if it differs from the chosen place */
export function checkWantedPlace(
  context: OperationContext,
  id: readonly string[],
  wanted: string | undefined,
  directory: string,
): void {
  if (wanted === undefined || resolve(context.root, wanted) === directory) return;
  throw new InvalidInputError(
    id.length > 1
      ? "location: the namespace chooses the places of tables in child namespaces"
      : `location: table ${formatIdentifier(id)} belongs at ${directory}`,
  );
}
