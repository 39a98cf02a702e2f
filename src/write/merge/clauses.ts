/** Clauses of a merge, with filters bound to their columns before anything is read. Pure. */

import { runAsync } from "../../async/eventLoop.js";
import { lazyModule } from "../../async/lazy.js";
import { InvalidInputError, TableColumnNotFoundError, TableSchemaValidationError } from "../../errors.js";
import type { BoundExpression, ExpressionInput } from "../../expression/expression.js";
import { type ValueType, valueTypeOfField } from "../../expression/values/types.js";
import { formatFieldPath, parseFieldPath } from "../../ident.js";
import type { FilterParameters } from "../../namespace/queries.js";
import { type KeyForm, keyFormOf } from "../../query/compare/keyColumns.js";
import { resolveField } from "../../schema/fieldPaths.js";
import type { TableField } from "../../schema/schema.js";
import type { AcceptedLogs } from "../../table/versions/bufferedRows.js";

/** The first merge with a filter loads this module. */
const expressions = lazyModule(() => import("../../expression/expression.js"));

/** A merge as the caller asks for it. */
export interface MergeRequest {
  /** Paths of the key columns; at least one. */
  readonly on: readonly string[];
  /** Null to leave matched target rows. */
  readonly update: { readonly filter?: ExpressionInput } | null;
  /** True to add source rows that match no target row. */
  readonly insert: boolean;
  /** Null to leave target rows that no source row matches. */
  readonly remove: { readonly filter?: ExpressionInput } | null;
  readonly parameters: FilterParameters;
  /** Logs that the table may have. */
  readonly logs: AcceptedLogs;
  /** True to look keys up in indexes where that is probably quicker than a scan. */
  readonly useIndexes: boolean;
}

/** A column of the key. */
export interface KeyPart {
  readonly path: string;
  readonly type: ValueType;
  readonly form: KeyForm;
}

/** A filter, and paths of the columns that it needs, in the order of its arguments. */
export interface RowFilter {
  readonly condition: BoundExpression;
  readonly columns: readonly FilterColumn[];
}

export interface FilterColumn {
  readonly side: "source" | "target";
  readonly path: string;
}

/** A merge bound to the columns of a table. */
export interface MergePlan {
  readonly key: readonly KeyPart[];
  /** Filter of the matched rows to update; null if all of them are updated, or none. */
  readonly updateFilter: RowFilter | null;
  /** Filter of the unmatched target rows to delete; null if all of them are deleted, or none. */
  readonly removeFilter: RowFilter | null;
  /** Columns of the table that the source has. */
  readonly sourceFields: readonly TableField[];
}

const UPDATE_FILTER = "whenMatchedUpdateAllFilt";
const REMOVE_FILTER = "whenNotMatchedBySourceDeleteFilt";

/**
 * @throws InvalidInputError, TableColumnNotFoundError, UnsupportedError for a key or filter that does not fit
 *   the columns; TableSchemaValidationError if the source lacks columns that the merge needs
 */
export async function planMerge(
  request: MergeRequest,
  fields: readonly TableField[],
  sourceNames: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<MergePlan> {
  const sourceFields = fields.filter(({ name }) => sourceNames.has(name));
  const key = planKey(request.on, fields);
  for (const { path } of key) requireGiven(path, fields, sourceNames);
  if (request.insert) refuseMissing(fields, sourceNames);
  return { key, sourceFields, ...(await planFilters(request, fields, sourceFields, signal)) };
}

function planKey(on: readonly string[], fields: readonly TableField[]): KeyPart[] {
  const parts = on.map((text) => {
    const { path, chain, field } = resolveField(fields, asSpelled(text, fields));
    if (chain.slice(0, -1).some(({ type }) => type.kind !== "struct")) {
      throw new InvalidInputError(`on: ${path} lies in a list, and rows have many values of it`);
    }
    return { path, type: valueTypeOfField(field), form: keyFormOf(field, path) };
  });
  const paths = new Set(parts.map(({ path }) => path));
  return parts.filter(({ path }) => paths.delete(path));
}

/** Returns the table's spelling of a top-level column, which may differ in case. */
function asSpelled(text: string, fields: readonly TableField[]): string {
  const [name, ...members] = parseFieldPath(text);
  if (fields.some((field) => field.name === name)) return text;
  const alike = fields.filter((field) => field.name.toLowerCase() === name.toLowerCase());
  return alike.length === 1 ? formatFieldPath([alike[0].name, ...members]) : text;
}

function requireGiven(path: string, fields: readonly TableField[], sourceNames: ReadonlySet<string>): void {
  const [top] = resolveField(fields, path).chain;
  if (sourceNames.has(top.name)) return;
  throw new TableColumnNotFoundError(`on: column ${path} is missing from the rows`);
}

/** Requires all columns of added rows that can't be null. */
function refuseMissing(fields: readonly TableField[], sourceNames: ReadonlySet<string>): void {
  const missing = fields.find(({ name, nullable }) => !nullable && !sourceNames.has(name));
  if (missing === undefined) return;
  throw new TableSchemaValidationError(
    `column ${formatFieldPath([missing.name])} is not nullable and is missing from the rows`,
  );
}

async function planFilters(
  { update, remove, parameters }: MergeRequest,
  fields: readonly TableField[],
  sourceFields: readonly TableField[],
  signal: AbortSignal | undefined,
): Promise<Pick<MergePlan, "updateFilter" | "removeFilter">> {
  const struct = { kind: "struct" } as const;
  const sides = [
    { name: "source", type: struct, children: sourceFields },
    { name: "target", type: struct, children: fields },
  ];
  const bound = async (
    clause: MergeRequest["update"],
    columns: typeof sides | typeof fields,
    label: string,
  ) => {
    if (clause?.filter === undefined) return null;
    const { bindFilter } = await expressions.get();
    return runAsync(bindFilter(clause.filter, parameters, columns, label), signal);
  };
  const updated = await bound(update, sides, UPDATE_FILTER);
  const removed = await bound(remove, fields, REMOVE_FILTER);
  const ofTarget = (path: readonly string[]) => ({ side: "target" as const, path: formatFieldPath(path) });
  return {
    updateFilter: updated && { condition: updated, columns: updated.paths.map(sideOf) },
    removeFilter: removed && { condition: removed, columns: removed.paths.map(ofTarget) },
  };
}

function sideOf([side, ...path]: readonly string[]): FilterColumn {
  if (path.length === 0) {
    throw new InvalidInputError(
      `${UPDATE_FILTER}: ${side} stands for all columns; name one, as in ${side}.id`,
    );
  }
  return { side: side === "source" ? "source" : "target", path: formatFieldPath(path) };
}
