/** Filters of requests: the text or expression, and the values of its parameters. */

import { InvalidInputError } from "../errors.js";
import type { Parameters } from "../expression/bind/bind.js";
import { isExpression } from "../expression/build.js";
import { type Filter, planFilter } from "../query/filter.js";
import { decodeSchema } from "../schema/schema.js";
import type { OpenVersion } from "../table/versions/tableAt.js";

/**
 * @param label the member of the request that holds the filter
 * @throws as {@link planFilter}
 */
export function filterOf(
  { file, path }: OpenVersion,
  filter: unknown,
  params: unknown,
  label: string,
): Filter {
  if (typeof filter !== "string" && !isExpression(filter)) {
    throw new InvalidInputError(`${label}: must be a text or an expression`);
  }
  return planFilter(filter, parametersOf(params), decodeSchema(file.manifest.fields, path), label);
}

/** @throws InvalidInputError for what is no object */
export function parametersOf(params: unknown): Parameters {
  if (params === undefined || params === null) return {};
  if (typeof params !== "object" || Array.isArray(params)) {
    throw new InvalidInputError("params: must be an object with a value for each name");
  }
  return params as Parameters;
}
