/** Makes record batches and tables of apache-arrow from columns of the engine. */

import {
  type Data,
  type DataType,
  type Field,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  Vector,
} from "apache-arrow";
import type { Column, FixedColumn, VariableColumn } from "../columns/column.js";
import { dataFromColumn } from "./data.js";

/** apache-arrow's vectors of dictionaries handed out earlier. Batches that share a dictionary keep sharing it. */
const dictionaryVectors = new WeakMap<VariableColumn | FixedColumn, Vector>();

/**
 * A schema that batches share. The constructor of a batch assigns the batch's fields to the schema, which makes a copy of
 * all of them for each batch. Here the fields of the schema itself leave it as it is.
 */
export function sharedSchema(fields: Field[], metadata: Map<string, string>): Schema {
  const schema = new Schema(fields, metadata);
  const isOwn = (assigned: unknown): boolean =>
    Array.isArray(assigned) &&
    assigned.length === schema.fields.length &&
    schema.fields.every((field, index) => field === assigned[index]);
  return Object.defineProperty(schema, "assign", {
    value: (...args: Parameters<Schema["assign"]>) =>
      args.length === 1 && isOwn(args[0]) ? schema : Schema.prototype.assign.apply(schema, args),
    writable: true,
    configurable: true,
  });
}

/**
 * A record batch over the memory of `columns`, which are in the order of the schema's fields and have `rowCount` values
 * each.
 */
export function makeBatch(schema: Schema, columns: readonly Column[], rowCount: number): RecordBatch {
  const children: Data[] = [];
  for (const [index, column] of columns.entries()) {
    const field: Field = schema.fields[index];
    if (column.length !== rowCount) {
      throw new RangeError(`column ${field.name} has ${column.length} values in a batch of ${rowCount} rows`);
    }
    children.push(dataFromColumn(field.type, column, dictionaryVectors));
  }
  const data = makeData({ type: new Struct(schema.fields), length: rowCount, nullCount: 0, children });
  return new RecordBatch(schema, data);
}

/** A vector over the memory of a column. */
export const vectorOf = (type: DataType, column: Column): Vector =>
  new Vector([dataFromColumn(type, column, dictionaryVectors)]);

/** A table of the batches, all of which have the schema. Without batches, the table has no rows. */
export function toTable(schema: Schema, batches: readonly RecordBatch[]): Table {
  return new Table(schema, [...batches]);
}
