/** Rows that are plain objects, as batches of columns. */

import { type Field, Schema } from "apache-arrow";
import { breathe } from "../../async/eventLoop.js";
import { InvalidInputError, TableSchemaValidationError } from "../../errors.js";
import type { Column } from "../columns/column.js";
import { encodeValues, isRecord, memberOf } from "./encodeValues.js";
import { describeValue } from "./faults.js";
import { inferSchema } from "./inferSchema.js";

/** Rows of a batch. */
const BATCH_ROWS = 8192;

/** What rows of objects are fitted to, instead of what their values look like. */
export interface ObjectTypes {
  /** All columns of the rows. Those that no row names are null. */
  readonly schema?: Schema;
  /** The columns that a table has; null where there is none. Those that no row names are absent. */
  tableSchema?(): Schema | null | Promise<Schema | null>;
}

/** Where rows come from: one after the other. */
export type NextRow = () => Promise<IteratorResult<unknown>>;

export interface ObjectBatches {
  readonly schema: Schema;
  readonly batches: AsyncGenerator<{ readonly columns: readonly Column[]; readonly rowCount: number }, void>;
}

/**
 * Opens rows of objects. Of an iterable, the columns are those that its first {@link BATCH_ROWS} rows name; of an array,
 * those that any row names. So are their types, if there is no schema.
 * @param first the first row
 * @param next gives the rows behind the first
 * @param all the rows, if they are at hand
 * @throws InvalidInputError, TableSchemaValidationError naming row and column
 */
export async function openObjects(
  first: unknown,
  next: NextRow,
  all: readonly unknown[] | null,
  types: ObjectTypes,
): Promise<ObjectBatches> {
  const rows = new ObjectRows([first], next);
  const head = await rows.take();
  const seen = all === null ? head : all.map((row, index) => requireRow(row, index));
  const schema = types.schema ?? (await schemaOf(seen, types));
  if (schema.fields.length === 0) throw new InvalidInputError("the rows have no members: there is no column");
  return { schema, batches: encodeRows(schema, head, rows) };
}

/** No rows, of columns that are known all the same. */
export const noObjects = (schema: Schema): ObjectBatches => ({
  schema,
  batches: encodeRows(
    schema,
    [],
    new ObjectRows([], () => Promise.resolve({ done: true, value: undefined })),
  ),
});

async function schemaOf(rows: readonly object[], { tableSchema }: ObjectTypes): Promise<Schema> {
  const ofTable = (await tableSchema?.()) ?? null;
  return ofTable === null ? inferSchema(rows) : namedBy(rows, ofTable);
}

async function* encodeRows(schema: Schema, head: readonly object[], rows: ObjectRows) {
  const known = new Set(schema.fields.map(({ name }) => name));
  let firstRow = 0;
  for (let batch = head; batch.length > 0; batch = await rows.take()) {
    await breathe();
    for (const [index, row] of batch.entries()) checkMembers(row, known, firstRow + index, schema);
    const start = firstRow;
    const columns: Column[] = [];
    for (const field of schema.fields) {
      const { name } = field;
      const values = batch.map((row) => memberOf(row, name));
      columns.push(encodeValues(values, field, { path: name, rowOf: (index) => start + index }));
      await breathe();
    }
    yield { columns, rowCount: batch.length };
    firstRow += batch.length;
  }
}

class ObjectRows {
  readonly #next: NextRow;
  #first: readonly unknown[];
  #count = 0;

  constructor(first: readonly unknown[], next: NextRow) {
    this.#first = first;
    this.#next = next;
  }

  /** The next rows; none at the end. */
  async take(): Promise<object[]> {
    const rows: object[] = [];
    for (const row of this.#first) rows.push(requireRow(row, this.#count++));
    this.#first = [];
    while (rows.length < BATCH_ROWS) {
      const { done, value } = await this.#next();
      if (done === true) break;
      rows.push(requireRow(value, this.#count++));
    }
    return rows;
  }
}

function requireRow(row: unknown, index: number): object {
  if (isRecord(row)) return row;
  throw new InvalidInputError(`row ${index}: ${describeValue(row)} where an object is wanted`);
}

/** The columns of a table that rows name. */
function namedBy(rows: readonly object[], schema: Schema): Schema {
  const known = new Set(schema.fields.map(({ name }) => name));
  const named = new Set<string>();
  for (const [index, row] of rows.entries()) {
    checkMembers(row, known, index, schema);
    for (const name of Object.keys(row)) named.add(name);
  }
  return new Schema(schema.fields.filter(({ name }) => named.has(name)));
}

function checkMembers(row: object, known: ReadonlySet<string>, index: number, schema: Schema): void {
  for (const name of Object.keys(row)) {
    if (!known.has(name)) throw unknownColumn(name, index, schema.fields);
  }
}

const unknownColumn = (name: string, row: number, fields: readonly Field[]): TableSchemaValidationError =>
  new TableSchemaValidationError(
    `row ${row}: there is no column ${name}; the columns of these rows are ${fields.map((field) => field.name).join(", ")}`,
  );
