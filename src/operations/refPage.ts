/** Lists refs page by page. */

import { mapParallel } from "../async/parallel.js";
import { type NamePageRequest, pageOf } from "../catalog/listing.js";
import { compareNames } from "../catalog/rows/catalogRows.js";

/** Maximum number of files read concurrently. */
const PARALLELISM = 16;

/**
 * Returns a page of refs with their contents. A ref that is deleted after the listing is omitted; the
 * following names appear on the next pages nevertheless.
 * @param names in any order
 * @param read returns null if the ref no longer exists
 */
export async function readRefPage<Contents>(
  names: string[],
  page: NamePageRequest,
  read: (name: string) => Promise<Contents | null>,
): Promise<{ readonly refs: Record<string, Contents>; readonly pageToken?: string }> {
  const { names: wanted, ...rest } = pageOf(names.sort(compareNames), page);
  const contents = await mapParallel(wanted, PARALLELISM, read);
  const refs = contents.flatMap((content, index) => (content === null ? [] : [[wanted[index], content]]));
  return { refs: Object.fromEntries(refs), ...rest };
}
