/**
 * How the columns of incoming rows become columns of a table's files: decided from the two schemas before a row
 * is read, so that rows which cannot fit are refused before anything is written. Pure.
 */

import type { Field as ArrowField, Schema } from "apache-arrow";
import type { Layout } from "../arrow/column.js";
import { layoutOf, logicalTypeOf, valueTypeOf } from "../arrow/types.js";
import { TableSchemaValidationError, UnsupportedError } from "../errors.js";
import type { FileColumn } from "../file/page.js";
import { formatFieldPath } from "../ident.js";
import { assignFieldIds, type TableField } from "../table/schema.js";

/** One column to write, and where its values come from. */
export interface PlannedColumn {
  /** Index of the column in the incoming batches. */
  readonly sourceIndex: number;
  readonly target: FileColumn;
  /** The incoming column is dictionary-encoded and the table's is not. */
  readonly decodeDictionary: boolean;
}

export interface ColumnPlan {
  /** The schema of the table's next version where the rows define it (create, overwrite); else the current one. */
  readonly fields: readonly TableField[];
  readonly columns: readonly PlannedColumn[];
}

/**
 * Rows that define the table's schema.
 * @throws TableSchemaValidationError, UnsupportedError naming column and type
 */
export function planNewSchema(schema: Schema): ColumnPlan {
  if (schema.fields.length === 0) throw new TableSchemaValidationError("a table needs at least one column");
  checkColumnNames(schema.fields);
  const fields = assignFieldIds(
    schema.fields.map((field) => ({
      name: field.name,
      logicalType: logicalTypeOf(field.type, formatFieldPath([field.name])),
      nullable: field.nullable,
      metadata: field.metadata,
      children: [],
    })),
  );
  return {
    fields,
    columns: schema.fields.map((field, sourceIndex) => ({
      sourceIndex,
      target: fileColumn(fields[sourceIndex], layoutOf(field.type, formatFieldPath([field.name]))),
      decodeDictionary: false,
    })),
  };
}

/**
 * Rows appended to a table of the given schema. Columns match by name; nullable columns may be missing.
 * @throws TableSchemaValidationError naming the field that does not fit
 */
export function planAppend(fields: readonly TableField[], schema: Schema): ColumnPlan {
  checkColumnNames(schema.fields);
  const byName = new Map(fields.map((field) => [field.name, field]));
  const columns: PlannedColumn[] = [];
  for (const [sourceIndex, incoming] of schema.fields.entries()) {
    const path = formatFieldPath([incoming.name]);
    const field = byName.get(incoming.name);
    if (field === undefined) {
      throw new TableSchemaValidationError(`column ${path} is not in the table's schema`);
    }
    byName.delete(incoming.name);
    if (field.children.length > 0) {
      throw new UnsupportedError(
        `column ${path}: writing type ${field.logicalType} is not supported by this release`,
      );
    }
    columns.push(planColumn(sourceIndex, incoming, field, path));
  }
  for (const field of byName.values()) {
    if (field.nullable) continue;
    const path = formatFieldPath([field.name]);
    throw new TableSchemaValidationError(`column ${path} is not nullable and is missing from the rows`);
  }
  return { fields, columns };
}

function planColumn(
  sourceIndex: number,
  incoming: ArrowField,
  field: TableField,
  path: string,
): PlannedColumn {
  const incomingType = logicalTypeOf(incoming.type, path);
  if (incomingType === field.logicalType) {
    return { sourceIndex, target: fileColumn(field, layoutOf(incoming.type, path)), decodeDictionary: false };
  }
  const valueType = valueTypeOf(incoming.type);
  if (valueType !== null && logicalTypeOf(valueType, path) === field.logicalType) {
    return { sourceIndex, target: fileColumn(field, layoutOf(valueType, path)), decodeDictionary: true };
  }
  throw new TableSchemaValidationError(
    `column ${path} is of type ${field.logicalType} in the table and of type ${incomingType} in the rows`,
  );
}

/** The columns of a file that holds the given fields. */
function fileColumn(field: TableField, layout: Layout): FileColumn {
  return {
    fieldId: field.id,
    path: formatFieldPath([field.name]),
    layout,
    nullable: field.nullable,
    metadata: field.metadata,
  };
}

function checkColumnNames(fields: readonly ArrowField[]): void {
  const seen = new Set<string>();
  for (const { name } of fields) {
    if (name === "") throw new TableSchemaValidationError("a column's name must not be empty");
    if (name.includes(".")) {
      throw new TableSchemaValidationError(
        `column ${formatFieldPath([name])}: the name of a top-level column must not contain a dot`,
      );
    }
    if (seen.has(name))
      throw new TableSchemaValidationError(`column ${formatFieldPath([name])} appears twice`);
    seen.add(name);
  }
}
