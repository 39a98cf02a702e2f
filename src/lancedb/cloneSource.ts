/** The table that `cloneTable` copies, found by the address that a program gives. */

import { locationOf, schemeOf } from "./addresses.js";
import type { Database } from "./database.js";
import { ignoreMissingTable, notSupported } from "./failures.js";

/**
 * Returns the id of a table of the root by the address of its directory. A server says where its tables lie.
 * @throws Error for a table elsewhere
 */
export async function sourceOfClone(database: Database, sourceUri: string): Promise<readonly [string]> {
  const name = /[\\/]([^\\/]+)\.lance[\\/]*$/.exec(sourceUri)?.[1];
  if (name !== undefined && (await liesAt(database, name, sourceUri))) return [name];
  throw notSupported(`cloneTable takes tables of the root of the same database, not ${sourceUri}`);
}

async function liesAt(database: Database, name: string, sourceUri: string): Promise<boolean> {
  const scheme = schemeOf(database.uri);
  if (scheme === "memory") return schemeOf(sourceUri) === scheme;
  const wanted = locationOf(sourceUri);
  if (scheme !== "http" && scheme !== "https") return locationOf(database.tableUri(name)) === wanted;
  const described = await database
    .call((namespace) => namespace.describeTable({ id: [name] }))
    .catch(ignoreMissingTable);
  return described !== undefined && [described.location, described.tableUri].map(locationOf).includes(wanted);
}
