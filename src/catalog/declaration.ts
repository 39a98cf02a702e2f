/** Declares a table: a name and a location without data. */

import { TableAlreadyExistsError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import type { Properties } from "../namespace/request.js";
import { reserve } from "./locations/markerChanges.js";
import type { TableLocation } from "./locations/tables.js";
import type { CatalogEnvironment } from "./rows/catalogEnvironment.js";
import { publishNewTable, publishTable } from "./tableRows.js";

/**
 * Declares a table.
 * @param location empty, or with orphans of an earlier attempt
 * @throws TableAlreadyExistsError, NamespaceNotFoundError
 */
export async function declareAt(
  environment: CatalogEnvironment,
  location: TableLocation,
  properties: Properties,
  signal?: AbortSignal,
): Promise<void> {
  const { id, directory } = location;
  const { disk, latestVersions } = environment;
  const exists = () => new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);
  // Another table may have moved there since the location was checked.
  const refuse = async () => {
    if ((await latestVersions.find(directory)) !== null) throw exists();
  };
  if (id.length === 1) {
    // The row comes first, because a row without its directory means nothing.
    await publishTable(environment, location, properties, signal, refuse);
    if (!(await reserve(disk, directory))) throw exists();
  } else {
    if (!(await reserve(disk, directory))) throw exists();
    await publishNewTable(environment, location, properties, signal, refuse);
  }
}
