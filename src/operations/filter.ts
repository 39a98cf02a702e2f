/** Filters of requests: the text or expression, and the values of its parameters. */

import { InvalidInputError } from "../errors.js";
import { isExpression } from "../expression/build.js";
import type { FilterParameters } from "../namespace.js";
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
  const { manifest } = file;
  const fields = decodeSchema(manifest.fields, path);
  const hasStableIds = manifest.fragments.some((fragment) => fragment.inlineRowIds !== undefined);
  return planFilter(filter, parametersOf(params), fields, hasStableIds, label);
}

function parametersOf(params: unknown): FilterParameters {
  if (params === undefined || params === null) return {};
  if (typeof params !== "object" || Array.isArray(params)) {
    throw new InvalidInputError("params: must be an object with a value for each name");
  }
  return params as FilterParameters;
}
