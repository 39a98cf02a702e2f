/** Which fragments a search by vector is about. Plans need no more, and load no more. */

import type { DataFragment } from "../../format/table.js";
import type { VectorSearch } from "./vectorSearch.js";

/** The fragments whose rows are compared, or found by an index. */
export const searchedFragments = (
  { searchedIds }: Pick<VectorSearch, "searchedIds">,
  fragments: readonly DataFragment[],
): readonly DataFragment[] =>
  searchedIds === null ? fragments : fragments.filter(({ id }) => searchedIds.has(id));
