/** Fragments of a vector search, in a file of their own because plans load nothing else. */

import type { DataFragment } from "../../format/table.js";
import type { VectorSearch } from "./vectorSearch.js";

/** Returns the fragments whose rows are compared or searched by an index. */
export const searchedFragments = (
  { searchedIds }: Pick<VectorSearch, "searchedIds">,
  fragments: readonly DataFragment[],
): readonly DataFragment[] =>
  searchedIds === null ? fragments : fragments.filter(({ id }) => searchedIds.has(id));
