/** Finds the location of a new table, and publishes its catalog row. */

import { type PlannedLocation, planLocation } from "../../catalog/locations/placement.js";
import { findTable, type TableEntry } from "../../catalog/locations/tables.js";
import { readCatalog } from "../../catalog/rows/catalogTable.js";
import { publishClaimed, republishTable } from "../../catalog/tableRows.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { type OpenLatest, type TableAt, tableAt } from "../../table/versions/tableAt.js";
import type { OperationContext } from "../context.js";

/** Location of a new table, and its current content. */
export interface CreationTarget {
  /** Table that already has the id; null if none. */
  readonly entry: TableEntry | null;
  readonly location: PlannedLocation;
  readonly table: TableAt;
  /** Latest version of the existing table; null if it has none. */
  readonly base: OpenLatest | null;
}

export async function planCreation(
  context: OperationContext,
  id: readonly string[],
): Promise<CreationTarget> {
  const catalog = id.length === 1 ? await readCatalog(context) : undefined;
  const entry = await findTable(context, id, "latest", catalog);
  const location =
    entry === null ? await planLocation(context, id, undefined, catalog) : { ...entry, unshared: false };
  const table = tableAt(context, location.directory);
  const latest = entry?.latest ?? null;
  return { entry, location, table, base: latest && (await openVersion(table, latest)) };
}

/** A catalog row of a former table of that name must not pass on its properties. */
export const publishFirst = (
  context: OperationContext,
  { entry, location }: CreationTarget,
  properties: Readonly<Record<string, string>> | undefined,
  signal: AbortSignal | undefined,
) =>
  entry === null
    ? publishClaimed(context, location, properties ?? {}, signal)
    : republishTable(context, location, properties, signal);
