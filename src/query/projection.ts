/**
 * The columns a query returns: resolved against a version's schema before anything is read. Pure.
 */

import { Field as ArrowField, Schema, Uint64 } from "apache-arrow";
import type { Layout } from "../arrow/column.js";
import { arrowTypeFromLogical, layoutOf } from "../arrow/types.js";
import { InvalidInputError, TableColumnNotFoundError, UnsupportedError } from "../errors.js";
import { formatFieldPath, parseFieldPath } from "../ident.js";
import type { ColumnSelection } from "../namespace.js";
import type { TableField } from "../table/schema.js";

/** Name of the pseudo-column that holds row ids. */
export const ROW_ID_COLUMN = "_rowid";

/** One column to read. */
export interface ProjectedColumn {
  readonly fieldId: number;
  /** Canonical path, for messages. */
  readonly path: string;
  readonly layout: Layout;
  readonly field: ArrowField;
}

export interface Projection {
  readonly columns: readonly ProjectedColumn[];
  /** Row ids come last, as a column of their own. */
  readonly withRowId: boolean;
  readonly schema: Schema;
}

/**
 * @throws TableColumnNotFoundError for a path that is not in the schema, InvalidInputError for a malformed one,
 *   UnsupportedError for a column of a type this build does not read
 */
export function resolveProjection(
  fields: readonly TableField[],
  schemaMetadata: ReadonlyMap<string, string>,
  selection: ColumnSelection | undefined,
  withRowId: boolean,
): Projection {
  const columns = wantedColumns(fields, selection).map(({ path, name }) => projectColumn(fields, path, name));
  const names = new Set<string>();
  for (const { field } of columns) {
    if (names.has(field.name))
      throw new InvalidInputError(`columns: ${formatFieldPath([field.name])} appears twice`);
    names.add(field.name);
  }
  const arrowFields = columns.map((column) => column.field);
  if (withRowId) arrowFields.push(new ArrowField(ROW_ID_COLUMN, new Uint64(), true));
  return { columns, withRowId, schema: new Schema(arrowFields, new Map(schemaMetadata)) };
}

function wantedColumns(
  fields: readonly TableField[],
  selection: ColumnSelection | undefined,
): { path: string; name: string | null }[] {
  if (selection === undefined || selection === null) {
    return fields.map((field) => ({ path: formatFieldPath([field.name]), name: null }));
  }
  const byName = (path: unknown) => {
    if (typeof path !== "string") throw new InvalidInputError("columns: must be strings");
    return { path, name: null };
  };
  if (isArray(selection)) return selection.map(byName);
  const { columnNames, columnAliases } = selection;
  if (isArray(columnNames)) return columnNames.map(byName);
  if (isPresent(columnAliases) && !isPresent(columnNames) && typeof columnAliases === "object") {
    return Object.entries(columnAliases).map(([name, path]) => ({ ...byName(path), name }));
  }
  throw new InvalidInputError("columns: must be a list of paths, columnNames or columnAliases");
}

const isPresent = <Value>(value: Value): value is NonNullable<Value> => value !== undefined && value !== null;

const isArray = (selection: unknown): selection is readonly string[] => Array.isArray(selection);

function projectColumn(fields: readonly TableField[], text: string, alias: string | null): ProjectedColumn {
  const segments = parseFieldPath(text);
  const path = formatFieldPath(segments);
  const field = fields.find((candidate) => candidate.name === segments[0]);
  if (field === undefined) throw new TableColumnNotFoundError(`column ${path} is not in the table's schema`);
  if (segments.length > 1) {
    if (field.children.length === 0)
      throw new TableColumnNotFoundError(`column ${path} is not in the table's schema`);
    throw new UnsupportedError(
      `column ${path}: reading fields of a ${field.logicalType} is not supported by this release`,
    );
  }
  if (field.children.length > 0) {
    throw new UnsupportedError(`column ${path}: type ${field.logicalType} is not supported by this release`);
  }
  const type = arrowTypeFromLogical(field.logicalType, path);
  return {
    fieldId: field.id,
    path,
    layout: layoutOf(type, path),
    field: new ArrowField(alias ?? field.name, type, field.nullable, new Map(field.metadata)),
  };
}
