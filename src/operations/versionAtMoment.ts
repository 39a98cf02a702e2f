/** Finds the version that a request names by a moment. */

import { TableVersionNotFoundError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import type { ObjectId } from "../namespace/request.js";
import type { TableAt } from "../table/versions/tableAt.js";
import { findVersionAsOf } from "../table/versions/versionAsOf.js";
import type { LatestVersion, VersionEntry } from "../table/versions/versions.js";
import { requireTableId } from "./request.js";

/**
 * Finds the version that was the latest at a moment.
 * @throws TableVersionNotFoundError naming the oldest version
 */
export async function versionAtMoment(
  table: TableAt,
  latest: LatestVersion | null,
  asOf: number,
  { id, signal }: { readonly id?: ObjectId | undefined; readonly signal?: AbortSignal | undefined },
): Promise<VersionEntry & Pick<LatestVersion, "manifestStat">> {
  const search = await findVersionAsOf(table, latest, asOf, signal);
  if (search.version !== null) return search.version.entry;
  const name = `${table.branch === null ? "" : `branch ${table.branch} of `}table ${formatIdentifier(requireTableId(id))}`;
  const { oldest } = search;
  throw new TableVersionNotFoundError(
    oldest === null
      ? `${name} has no versions`
      : `${name} has no version as of ${isoText(asOf)}; the oldest is version ${oldest.entry.version}, of ${isoText(oldest.millis)}`,
  );
}

/** Returns a moment as ISO text, also beyond what a Date can represent. */
const isoText = (millis: number): string => {
  const date = new Date(millis);
  return Number.isNaN(date.getTime()) ? `${millis} ms since 1970` : date.toISOString();
};
