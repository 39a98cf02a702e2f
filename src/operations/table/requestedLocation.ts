/** Checks the location that a caller requests for a declared table. */

import { InvalidInputError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { uriOn } from "../../io/disk/addresses.js";
import { resolve } from "../../platform/native.js";
import type { OperationContext } from "../context.js";

/**
 * Checks that the requested location equals the one that the namespace chose.
 * @throws InvalidInputError
 */
export function checkRequestedLocation(
  context: OperationContext,
  id: readonly string[],
  requested: string | undefined,
  directory: string,
): void {
  const { root, disk } = context;
  if (requested === undefined || requested === uriOn(disk, directory)) return;
  if (resolve(root, requested) === directory) return;
  throw new InvalidInputError(
    id.length > 1
      ? "location: the namespace chooses the directories of tables in child namespaces"
      : `location: table ${formatIdentifier(id)} belongs at ${uriOn(disk, directory)}`,
  );
}
