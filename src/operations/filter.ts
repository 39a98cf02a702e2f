/** Filters of requests: SQL text or an expression, and parameter values. */

import { runAsync } from "../async/eventLoop.js";
import { lazyModule } from "../async/lazy.js";
import { InvalidInputError } from "../errors.js";
import type { ExpressionInput } from "../expression/expression.js";
import { isExpression } from "../expression/isExpression.js";
import type { FilterParameters } from "../namespace/queries.js";
import { shortly } from "../optionMembers.js";
import type { FoundColumn } from "../query/columns/foundColumns.js";
import type { Filter, IndexChoice } from "../query/filter/filter.js";
import type { ReaderEnvironment } from "../query/indexes/versionSource.js";
import { decodeSchema, type TableField } from "../schema/schema.js";
import type { OpenVersion } from "../table/versions/tableAt.js";

/** The first filter loads this module. */
export const filtering = lazyModule(() => import("../query/filter/filter.js"));

/**
 * Plans a filter of a request.
 * @param label request member that holds the filter
 * @param useIndexes true: uses indexes; false: scans; `only`: leaves out rows that no index covers. Default:
 *   the faster way
 * @throws errors of `planFilter`
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
  const { planFilter } = filtering.current ?? (await filtering.get());
  return runAsync(planFilter(input, parametersOf(params), fields, label, { version, useIndexes }), signal);
}

/**
 * Plans a filter of rows that a search found.
 * @param added columns that the search adds
 * @throws errors of `planFilter`
 */
export const postfilterOf = async (
  fields: readonly TableField[],
  filter: unknown,
  parameters: FilterParameters,
  label: string,
  added: readonly FoundColumn[],
  signal: AbortSignal | undefined,
): Promise<Filter> => {
  const input = requireFilter(filter, label);
  const { planFilter } = filtering.current ?? (await filtering.get());
  return runAsync(planFilter(input, parameters, fields, label, undefined, added), signal);
};

/** @throws InvalidInputError if the value is neither a text nor an expression */
export function requireFilter(filter: unknown, label: string): ExpressionInput {
  if (typeof filter === "string" || isExpression(filter)) return filter;
  throw new InvalidInputError(`${label}: must be a text or an expression, not ${shortly(filter)}`);
}

/** Returns an unbound filter, or undefined if absent. */
export function optionalFilter(filter: unknown, label: string): ExpressionInput | undefined {
  return filter === undefined || filter === null ? undefined : requireFilter(filter, label);
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
