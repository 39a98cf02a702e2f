/** Rows and schemas as programs pass them to tables. */

import type { Schema } from "apache-arrow";
import type { RowsInput } from "../namespace/rows.js";

/** An Arrow schema of any copy of apache-arrow. */
export type SchemaLike = Schema | { fields: readonly unknown[]; metadata: Map<string, string> };
/** An Arrow table of any copy of apache-arrow. */
export type TableLike = { schema: SchemaLike; batches: readonly unknown[] };
/** Rows: objects, or an Arrow table. */
export type Data = Record<string, unknown>[] | TableLike;

/** Returns rows in a form that the engine takes. */
export function rowsOf(data: Data): RowsInput {
  if (data === undefined || data === null) throw new Error("data is required");
  return data as RowsInput;
}

/** A value that SQL has a literal for. */
export type IntoSql = string | number | boolean | null | Date | ArrayBufferLike | Buffer | IntoSql[];

/** Returns a value as a literal of SQL. */
export function toSQL(value: IntoSql): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (value === null) return "NULL";
  if (Array.isArray(value)) return `[${value.map(toSQL).join(", ")}]`;
  return String(value);
}

/** True if data has no row and no schema. */
export const isEmpty = (data: Data): boolean => Array.isArray(data) && data.length === 0;
