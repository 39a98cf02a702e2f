/** Filters of requests as SQL text. */

import { printExpression } from "../expression/parse/print.js";
import { requireFilter } from "./filter.js";

/**
 * Returns a filter as SQL text, for the record of a change.
 * @throws InvalidInputError if the value is not a filter
 */
export function textOfFilter(filter: unknown, label: string): string {
  const input = requireFilter(filter, label);
  return typeof input === "string" ? input : printExpression(input.syntax);
}
