/** Filters of requests: SQL text or an expression, and parameter values. */

import { runAsync } from "../async/eventLoop.js";
import { InvalidInputError } from "../errors.js";
import { isExpression } from "../expression/build.js";
import type { ExpressionInput } from "../expression/expression.js";
import { printExpression } from "../expression/parse/print.js";
import type { FilterParameters } from "../namespace/queries.js";
import { shortly } from "../optionMembers.js";
import type { FoundColumn } from "../query/columns/foundColumns.js";
import { type Filter, type IndexChoice, planFilter } from "../query/filter/filter.js";
import type { ReaderEnvironment } from "../query/indexes/versionSource.js";
import { decodeSchema, type TableField } from "../schema/schema.js";
import type { OpenVersion } from "../table/versions/tableAt.js";

/**
 * Plans a filter of a request.
 * @param label request member that holds the filter
 * @param useIndexes true: uses indexes; false: scans; `only`: leaves out rows that no index covers. Default:
 *   the faster way
 * @throws errors of {@link planFilter}
 */
export async function filterOf(
  version: OpenVersion<ReaderEnvironment>,
  filter: unknown,
  params: unknown,
  label: string,
  signal: AbortSignal | undefined,
  useIndexes?: IndexChoice,
): Promise<Filter> {
  const fields = decodeSchema(version.file.manifest.fields, version.path);
  const input = requireFilter(filter, label);
  return runAsync(planFilter(input, parametersOf(params), fields, label, { version, useIndexes }), signal);
}

/**
 * Plans a filter of rows that a search found.
 * @param added columns that the search adds
 * @throws errors of {@link planFilter}
 */
export const postfilterOf = async (
  fields: readonly TableField[],
  filter: unknown,
  parameters: FilterParameters,
  label: string,
  added: readonly FoundColumn[],
  signal: AbortSignal | undefined,
): Promise<Filter> =>
  runAsync(planFilter(requireFilter(filter, label), parameters, fields, label, undefined, added), signal);

function requireFilter(filter: unknown, label: string): ExpressionInput {
  if (typeof filter === "string" || isExpression(filter)) return filter;
  throw new InvalidInputError(`${label}: must be a text or an expression, not ${shortly(filter)}`);
}

/** Returns an unbound filter, or undefined if absent. */
export function optionalFilter(filter: unknown, label: string): ExpressionInput | undefined {
  return filter === undefined || filter === null ? undefined : requireFilter(filter, label);
}

/**
 * Returns a filter as SQL text, for the record of a change.
 * @throws InvalidInputError if the value is not a filter
 */
export function textOfFilter(filter: unknown, label: string): string {
  const input = requireFilter(filter, label);
  return typeof input === "string" ? input : printExpression(input.syntax);
}

/**
 * Checks parameter values.
 * @throws InvalidInputError
 */
export function parametersOf(params: unknown): FilterParameters {
  if (params === undefined || params === null) return {};
  if (typeof params !== "object" || Array.isArray(params)) {
    throw new InvalidInputError(
      `params: must be an object with a value for each name, not ${shortly(params)}`,
    );
  }
  return params as FilterParameters;
}
