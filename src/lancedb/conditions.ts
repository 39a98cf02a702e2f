/** Conditions as programs write them for LanceDB. */

import { NamespaceError } from "../errors.js";
import { sqlWithQuotedTexts } from "../expression/build.js";
import type { RowCondition } from "../namespace/queries.js";

/** Maximum length of a text whose double quotes may mean texts. Longer ones take too long to look at. */
const MAX_LENGTH = 2 ** 16;

/**
 * Returns a condition for the engine. LanceDB before 0.30 took `"ash"` for a text, later releases for a
 * column. Programs of either kind work: a double-quoted name that is no column is a text.
 */
export function conditionOf(sql: string): RowCondition {
  if (typeof sql !== "string" || !sql.includes('"') || sql.length > MAX_LENGTH) return sql;
  try {
    return sqlWithQuotedTexts(sql, "predicate");
  } catch (error) {
    // The engine refuses the text itself, and names the member of its request.
    if (error instanceof NamespaceError) return sql;
    throw error;
  }
}
