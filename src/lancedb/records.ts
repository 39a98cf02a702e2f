/** Makes Arrow tables of rows that are objects: schema, then columns, batch by batch. */

import {
  type Data,
  Field,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  Vector,
  vectorFromArray,
} from "apache-arrow";
import { dataFromColumn } from "../arrow/exchange/dataFromColumn.js";
import { encodeValues } from "../arrow/objects/encodeValues.js";
import type { ValuePlace } from "../arrow/objects/faults.js";
import { isRecord, memberOf } from "../arrow/objects/valueKinds.js";
import type { Steps } from "../async/eventLoop.js";
import { TableSchemaValidationError, UnsupportedError } from "../errors.js";
import { isStruct } from "./like.js";
import { loosened, mustLoosen } from "./looseValues.js";
import { endsOfPieces } from "./recordPieces.js";
import { type InferenceOptions, inferSchemaInSteps, requireRow } from "./schema.js";

export type Records = Array<Record<string, unknown>>;

/** Choices of {@link tableOfRecords}. */
export interface RecordOptions extends InferenceOptions {
  /** Types of the columns. Default: inferred from the rows. */
  readonly schema?: Schema | undefined;
  /** True for all columns of the schema, whether or not rows name them. What else rows name is left out. */
  readonly isWhole?: boolean;
  /** Metadata of an inferred schema. */
  readonly metadata?: Map<string, string>;
  /** True for one batch, whatever it takes: LanceDB's `makeArrowTable` makes one. */
  readonly isOneBatch?: boolean;
}

/**
 * Makes the table of rows. With a schema, it has the columns that rows name, in the order of the schema.
 * @throws Error for rows whose types cannot be told, TableSchemaValidationError for a value that does not fit
 */
export function* tableOfRecords(data: Records, options: RecordOptions): Steps<Table> {
  const { schema: wanted } = options;
  if (data.length === 0 && wanted === undefined) {
    throw new Error("At least one record or a schema needs to be provided");
  }
  if (data.length === 0) return new Table(wanted as Schema);
  const isWhole = options.isWhole === true && wanted !== undefined;
  const pieces = options.isOneBatch === true ? [data.length] : yield* endsOfPieces(data);
  const inferred = isWhole ? wanted : yield* inferSchemaInSteps(data, wanted, options, pieces);
  const schema = wanted === undefined ? new Schema(inferred.fields, options.metadata) : inferred;
  if (schema.fields.length === 0) return new Table(schema);
  const batches: RecordBatch[] = [];
  let row = 0;
  for (const end of hasDictionary(schema.fields) ? [data.length] : pieces) {
    const start = row;
    row = end;
    const rows = Array.from(data.slice(start, end), (each, index) => requireRow(each, start + index));
    const children: Data[] = [];
    for (const field of schema.fields) {
      const { name } = field;
      const values = rows.map((each) => memberOf(each, name));
      if (isStruct(field.type)) completeStructs(values, field);
      yield;
      children.push(dataOf(values, field, { path: name, rowOf: (index) => start + index }));
      yield;
    }
    batches.push(batchOf(schema, children, rows.length));
  }
  return new Table(schema, batches);
}

/** Gives values of a struct all its members. A missing value becomes a struct of nulls; null stays null. */
function completeStructs(values: unknown[], field: Field): void {
  const missing = missingValue(field);
  const isNested = field.type.children.some(({ type }: Field) => isStruct(type));
  for (let index = 0; index < values.length; index++) {
    if (values[index] === undefined) values[index] = missing;
    else if (isNested) values[index] = completed(values[index], field);
  }
}

function completed(value: unknown, { type }: Field): unknown {
  if (!isStruct(type) || value === null) return value ?? null;
  return value === undefined || isRecord(value) ? withAllFields(value ?? {}, type.children) : value;
}

/** The value of a row that does not name a field: null, or a struct of nulls. */
export const missingValue = (field: Field): unknown => completed(undefined, field);

/** Returns the members of an object that fields name. Missing members are null, or structs of nulls. */
export function withAllFields(value: object, fields: readonly Field[]): Record<string, unknown> {
  return Object.fromEntries(
    fields.map((field) => [field.name, completed(memberOf(value, field.name), field)]),
  );
}

/** Makes a record batch of columns, which follow the fields of the schema. */
export function batchOf(schema: Schema, children: Data[], rowCount: number): RecordBatch {
  const type = new Struct(schema.fields);
  return new RecordBatch(schema, makeData({ type, length: rowCount, nullCount: 0, children }));
}

/** A file of Arrow IPC has one dictionary per column, so all batches of a table share it. */
const hasDictionary = (fields: readonly Field[]): boolean =>
  fields.some(({ type }) => "dictionary" in type || hasDictionary(type.children ?? []));

/** Makes the column of values. It takes nulls for all fields: the table of the rows refuses them. */
export function dataOf(values: readonly unknown[], field: Field, origin: ValuePlace): Data {
  const { name, type, metadata } = field;
  const nullable = new Field(name, type, true, metadata);
  const encode = (prepared: readonly unknown[]): Data =>
    dataFromColumn(type, encodeValues(prepared, nullable, origin), undefined, { makeData, Vector });
  const loosen = () => values.map((value) => loosened(value, field));
  try {
    return encode(mustLoosen(values, field) ? loosen() : values);
  } catch (error) {
    if (error instanceof TableSchemaValidationError) return encode(loosen());
    // Tables cannot store all types that apache-arrow has.
    if (error instanceof UnsupportedError)
      return vectorFromArray(
        values.map((value) => value ?? null),
        type,
      ).data[0];
    throw error;
  }
}
