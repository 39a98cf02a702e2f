/** Makes record batches and tables of apache-arrow from the engine's columns. */

import {
  type Data,
  type Field,
  makeData,
  RecordBatch,
  type Schema,
  Struct,
  Table,
  Vector,
} from "apache-arrow";
import type { Column, FixedColumn, VariableColumn } from "../columns/column.js";
import { dataFromColumn } from "./dataFromColumn.js";

/** Vectors of dictionaries: batches whose columns share a dictionary share its vector too. */
const dictionaryVectors = new WeakMap<VariableColumn | FixedColumn, Vector>();

/** Makes a record batch over columns, which follow the schema's fields and have `rowCount` values. */
export function makeBatch(schema: Schema, columns: readonly Column[], rowCount: number): RecordBatch {
  const children = columns.map((column, index) => dataOf(schema.fields[index], column, rowCount));
  const data = makeData({ type: new Struct(schema.fields), length: rowCount, nullCount: 0, children });
  // The constructor copies the schema. Batches that are kept must not keep a copy each.
  return Object.assign(new RecordBatch(schema, data), { schema });
}

/**
 * A vector over the memory of a column, which has `rowCount` values. Vectors of variable width have an empty
 * second chunk. For a single chunk, the constructor makes closures, and V8 puts them among old objects: only
 * a full garbage collection would free the values.
 */
export function vectorOf(field: Field, column: Column, rowCount: number): Vector {
  const data = dataOf(field, column, rowCount);
  return new Vector(column.kind === "variable" ? [data, data.slice(0, 0)] : [data]);
}

function dataOf({ name, type }: Field, column: Column, rowCount: number): Data {
  if (column.length !== rowCount) {
    throw new RangeError(`column ${name} has ${column.length} values in a batch of ${rowCount} rows`);
  }
  return dataFromColumn(type, column, dictionaryVectors);
}

/** A table of the batches, which all have the schema. Without batches, the table has no rows. */
export function toTable(schema: Schema, batches: readonly RecordBatch[]): Table {
  return new Table(schema, [...batches]);
}
