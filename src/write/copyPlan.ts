/** Plans columns that are copied between files. Pure. */

import { arrowSchemaOf } from "../arrow/types/logicalTypes.js";
import type { ColumnPlan } from "../rows/columnPlan.js";
import type { TableField } from "../schema/schema.js";
import { planAppend } from "./tableColumns.js";

/**
 * Plans a copy of columns: JSONB stays JSONB and text stays text, even if the metadata names an extension
 * type.
 * @param schema of the table
 * @param fields the columns to copy
 */
export function planCopy(schema: readonly TableField[], fields: readonly TableField[]): ColumnPlan {
  const plan = planAppend(schema, arrowSchemaOf(fields.map(withoutMetadata)));
  return { ...plan, columns: plan.columns.map((column) => ({ ...column, conversion: "none" })) };
}

const withoutMetadata = (field: TableField): TableField => ({
  ...field,
  metadata: new Map(),
  children: field.children.map(withoutMetadata),
});
