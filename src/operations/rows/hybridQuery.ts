/** Checks the members of hybrid searches, by vector and text at once. */

import { InvalidInputError } from "../../errors.js";
import type { FoundRow, Rerank } from "../../namespace/queries.js";
import { shortly } from "../../optionMembers.js";
import type { RequestedSearch } from "../../query/vector/vectorSearch.js";

/** Maximum number of rows of a hybrid search. */
const MAX_HYBRID = 2 ** 16;

/**
 * Checks a hybrid search.
 * @throws InvalidInputError for several vectors, or too many rows
 */
export function checkHybrid({ vectors }: RequestedSearch, rowCount: number): void {
  if (vectors.length > 1) {
    throw new InvalidInputError(`vector: one vector goes with fullTextQuery, not ${vectors.length}`);
  }
  if (rowCount > MAX_HYBRID) {
    throw new InvalidInputError(
      `limit: a search by vector and text finds at most ${MAX_HYBRID} rows, including the offset`,
    );
  }
}

/**
 * Returns the function that ranks the rows of a hybrid search.
 * @throws InvalidInputError for anything but a function, and in other searches
 */
export function readRerank(value: unknown, isHybrid: boolean): Rerank | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "function")
    throw new InvalidInputError(`rerank: must be a function, not ${shortly(value)}`);
  if (!isHybrid)
    throw new InvalidInputError(
      "rerank: goes with a search by vector and text at once; give vector and fullTextQuery",
    );
  return checkedRerank(value as Parameters<typeof checkedRerank>[0]);
}

/** Returns a safe form of the caller's function, which may return anything, throw, or change its argument. */
const checkedRerank =
  (rerank: (row: FoundRow) => unknown): Rerank =>
  (row) => {
    const relevance = called(rerank, row);
    if (typeof relevance === "number" && !Number.isNaN(relevance)) return relevance;
    throw new InvalidInputError(
      `rerank: must return a number for each row synchronously, not ${shortly(relevance)}`,
    );
  };

function called(rerank: (row: FoundRow) => unknown, row: FoundRow): unknown {
  try {
    return rerank({ ...row });
  } catch (cause) {
    throw new InvalidInputError(`rerank: failed: ${String((cause as Error)?.message ?? cause)}`, { cause });
  }
}
