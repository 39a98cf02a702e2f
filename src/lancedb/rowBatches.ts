/** Record batches of any copy of apache-arrow as columns, and batches of this copy made of columns. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import type { Column } from "../arrow/columns/column.js";
import { concatColumns } from "../arrow/columns/concatColumns.js";
import { nullColumn } from "../arrow/columns/nullColumn.js";
import { makeBatch } from "../arrow/exchange/batch.js";
import type { ForeignData } from "../arrow/exchange/data.js";
import { columnFromData } from "../arrow/exchange/wholeData.js";
import { adoptSchema, type ForeignSchema } from "../arrow/types/foreignTypes.js";
import { layoutOf } from "../arrow/types/layouts.js";
import { failure } from "./failures.js";

/** Rows as columns, with the schema of this copy of apache-arrow. */
export interface ColumnRows {
  readonly schema: Schema;
  readonly columns: readonly Column[];
  readonly rowCount: number;
}

/** A record batch of any copy of apache-arrow. */
interface ForeignBatch {
  readonly schema: ForeignSchema;
  readonly data: ForeignData;
}

/**
 * Returns the columns of a batch, or of all batches of a table. The memory is shared where it can be.
 * @param name name of the value, for the error
 * @throws Error for anything else
 */
export function columnRows(value: unknown, name: string): ColumnRows {
  const { schema, batches } = parts(value, name);
  const ours = adoptSchema(schema);
  const chunks = batches.map(({ data }) =>
    ours.fields.map(({ type, name: column }, index) =>
      columnFromData(data.children?.[index] ?? { ...data, length: 0 }, layoutOf(type, column)),
    ),
  );
  const rowCount = batches.reduce((sum, { data }) => sum + data.length, 0);
  const columns = ours.fields.map(({ type, name: column }, index) =>
    chunks.length === 0
      ? nullColumn(layoutOf(type, column), 0)
      : concatColumns(chunks.map((chunk) => chunk[index])),
  );
  return { schema: ours, columns, rowCount };
}

function parts(
  value: unknown,
  name: string,
): { readonly schema: ForeignSchema; readonly batches: readonly ForeignBatch[] } {
  const { schema, data, batches } = (value ?? {}) as Partial<ForeignBatch & { batches: ForeignBatch[] }>;
  if (Array.isArray(schema?.fields)) {
    if (Array.isArray(batches)) return { schema, batches };
    if (data !== undefined) return { schema, batches: [{ schema, data }] };
  }
  throw failure(`${name}: must be a RecordBatch`);
}

/** Makes a batch without rows. */
export const emptyBatch = (schema: Schema): RecordBatch =>
  makeBatch(schema, columnRows({ schema, batches: [] }, "schema").columns, 0);

/** Makes one batch of all rows of a table. */
export function oneBatch(table: Table): RecordBatch {
  if (table.batches.length === 1) return table.batches[0];
  const { schema, columns, rowCount } = columnRows(table, "rows");
  return makeBatch(schema, columns, rowCount);
}

/** Cuts a batch into parts of at most so many rows. */
export function* partsOf(batch: RecordBatch, maxRows: number): Generator<RecordBatch> {
  if (batch.numRows <= maxRows) yield batch;
  else for (let start = 0; start < batch.numRows; start += maxRows) yield batch.slice(start, start + maxRows);
}
