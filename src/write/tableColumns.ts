/** Plans columns to write to a table, in files of a version, and checks the rules for their names. Pure. */

import type { Field as ArrowField, Schema } from "apache-arrow";
import { arrowSchemaOf } from "../arrow/types/logicalTypes.js";
import { InvalidInputError, TableSchemaValidationError } from "../errors.js";
import type { FileVersion } from "../file/container/page.js";
import { formatFieldPath, isWellFormed } from "../ident.js";
import { type ColumnPlan, checkVersion, planColumns, planNewColumns } from "../rows/columnPlan.js";
import type { TableField } from "../schema/schema.js";

/**
 * Plans rows that define the table's schema.
 * @throws TableSchemaValidationError, UnsupportedError naming column and type
 */
export function planNewSchema(schema: Schema, version: FileVersion): ColumnPlan {
  if (schema.fields.length === 0) throw new TableSchemaValidationError("a table needs at least one column");
  checkColumnNames(schema.fields);
  return checkVersion(planNewColumns(schema), version);
}

/**
 * Plans rows that are appended to a table. Columns match by name; nullable columns may be missing.
 * @throws TableSchemaValidationError, UnsupportedError naming the field that does not fit
 */
export function planAppend(fields: readonly TableField[], schema: Schema, version: FileVersion): ColumnPlan {
  checkColumnNames(schema.fields);
  return checkVersion(planColumns(fields, schema), version);
}

/** Plans a copy of columns: JSONB and text stay what they are, whatever extension the metadata names. */
export function planCopy(
  schema: readonly TableField[],
  fields: readonly TableField[],
  version: FileVersion,
): ColumnPlan {
  const plan = planAppend(schema, arrowSchemaOf(fields.map(withoutMetadata)), version);
  return { ...plan, columns: plan.columns.map((column) => ({ ...column, conversion: "none" })) };
}

const withoutMetadata = (field: TableField): TableField => ({
  ...field,
  metadata: new Map(),
  children: field.children.map(withoutMetadata),
});

/** Names of columns that LanceDB's scans add. LanceDB can't read a table that has one of them. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  "_rowid",
  "_rowaddr",
  "_rowoffset",
  "_row_created_at_version",
  "_row_last_updated_at_version",
]);

function checkColumnNames(fields: readonly ArrowField[]): void {
  const seen = new Set<string>();
  for (const { name } of fields) {
    const reason = faultOfName(name);
    if (reason !== null) throw new TableSchemaValidationError(reason);
    if (seen.has(name))
      throw new TableSchemaValidationError(`column ${formatFieldPath([name])} appears twice`);
    seen.add(name);
  }
}

/** @throws InvalidInputError for text that can't be the name of a top-level column */
export function checkColumnName(name: string): void {
  const reason = faultOfName(name);
  if (reason !== null) throw new InvalidInputError(reason);
}

function faultOfName(name: string): string | null {
  if (name === "") return "a column's name must not be empty";
  if (!isWellFormed(name)) return "a column's name must be well-formed Unicode";
  if (RESERVED_NAMES.has(name)) return `column ${name}: the name is reserved for what queries add to rows`;
  if (!name.includes(".")) return null;
  return `column ${formatFieldPath([name])}: the name of a top-level column must not contain a dot`;
}
