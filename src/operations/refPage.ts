/** Listings of refs, page by page. */

import { mapParallel } from "../async/parallel.js";
import { type NamePageRequest, pageOf } from "../catalog/listing.js";
import { compareNames } from "../catalog/rows/catalogRows.js";

/** Maximum number of files read at once. */
const PARALLELISM = 16;

/**
 * A page of refs and their contents. A ref that is deleted between the listing and the reading is left out; the names
 * that follow are on the next pages all the same.
 * @param names in any order
 * @param read null if the ref no longer exists
 */
export async function readRefPage<Contents>(
  names: string[],
  page: NamePageRequest,
  read: (name: string) => Promise<Contents | null>,
): Promise<{ readonly refs: Record<string, Contents>; readonly pageToken?: string }> {
  const { names: wanted, pageToken } = pageOf(names.sort(compareNames), page);
  const found = await mapParallel(wanted, PARALLELISM, read);
  const refs: [string, Contents][] = [];
  for (const [index, contents] of found.entries())
    if (contents !== null) refs.push([wanted[index], contents]);
  return { refs: Object.fromEntries(refs), ...(pageToken !== undefined && { pageToken }) };
}
