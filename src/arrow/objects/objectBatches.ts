/** Converts plain objects to batches of columns. */

import { type DataType, type Field, Schema, Type } from "apache-arrow";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { InvalidInputError, TableSchemaValidationError } from "../../errors.js";
import type { Column } from "../columns/column.js";
import { isNamedZone } from "../types/times.js";
import { encodeValues } from "./encodeValues.js";
import { describeValue } from "./faults.js";
import { SchemaInference } from "./inferSchema.js";
import { isRecord, memberOf } from "./valueKinds.js";

/** Maximum rows of a batch. */
const BATCH_ROWS = 8192;
/** Maximum rows that are read, and their estimated memory, before a column of nulls is given up. */
const MAX_HEAD_ROWS = 16 * BATCH_ROWS;
const MAX_HEAD_BYTES = 2 ** 26;
/** Maximum levels of nesting whose memory is estimated. */
const MAX_DEPTH = 32;
/** Maximum items of fixed-size lists in a batch. Encoding more at once would block the event loop. */
const BATCH_ITEMS = 2 ** 20;
/** Maximum rows of a batch with timestamps of a named zone. Each offset lookup takes some microseconds. */
const ZONED_BATCH_ROWS = 256;
/** Rows visited between two turns of the event loop. */
const ROWS_AT_ONCE = 1024;

/** Target types of rows of objects. They replace inference from values. */
export interface ObjectTypes {
  /** All columns of the rows. A column that no row names is null. */
  readonly schema?: Schema;
  /** The columns of the table; null if there is no table. Columns that no row names are left out. */
  tableSchema?(): Schema | null | Promise<Schema | null>;
}

/** Source of rows. */
interface RowSource {
  /** The first row, or the first group. */
  readonly first: unknown;
  /** Returns the next row, or the next group. */
  next(): Promise<IteratorResult<unknown>>;
  /** The rows, if they are an array. */
  readonly all: readonly unknown[] | null;
  /** True if rows come in arrays. Each is in memory as a whole. */
  readonly isGroups: boolean;
  /** True if JSON.parse made the rows. */
  readonly isFromJson?: boolean;
}

export interface ObjectBatches {
  readonly schema: Schema;
  readonly batches: AsyncGenerator<{ readonly columns: readonly Column[]; readonly rowCount: number }, void>;
}

/**
 * Opens rows of objects. An iterable has the columns that its first {@link BATCH_ROWS} rows name; an array
 * has those that any row names. Without a schema, the same rows determine the types. While a column has only
 * nulls, more rows of an iterable are read, up to {@link MAX_HEAD_ROWS}.
 * @throws InvalidInputError, TableSchemaValidationError naming row and column
 */
export async function openObjects(source: RowSource, types: ObjectTypes): Promise<ObjectBatches> {
  const { all } = source;
  const rows = new ObjectRows(all === null ? source : inGroups(all));
  const head = await rows.take();
  const ofTable = types.schema === undefined ? ((await types.tableSchema?.()) ?? null) : null;
  if (head.length === 0) return noObjects(requireSchema(types.schema ?? ofTable));
  const schema = types.schema ?? (await schemaOfRows(head, rows, all, ofTable));
  if (schema.fields.length === 0) throw new InvalidInputError("the rows have no members: there is no column");
  const isKnown = types.schema !== undefined || all !== null || rows.isAtEnd;
  const guessed = isKnown ? null : { types: ofTable === null, rowCount: head.length };
  rows.putBack(head);
  return { schema, batches: encodeRows(schema, rows, guessed, source.isFromJson) };
}

/** Cuts an array into groups of the size of a batch: its rows need no promise each. */
function inGroups(all: readonly unknown[]): RowSource {
  let end = 0;
  const next = async (): Promise<IteratorResult<unknown>> => {
    if (end >= all.length) return { done: true, value: undefined };
    const start = end;
    end += BATCH_ROWS;
    return { value: all.slice(start, end) };
  };
  return { first: [], next, all, isGroups: true };
}

/** Facts that the first rows of an iterable determined: the set of columns, and perhaps their types. */
interface Guessed {
  readonly types: boolean;
  /** Number of rows that were looked at. */
  readonly rowCount: number;
}

async function schemaOfRows(
  head: object[],
  rows: ObjectRows,
  all: readonly unknown[] | null,
  ofTable: Schema | null,
): Promise<Schema> {
  if (ofTable !== null) return namedBy(all === null ? head : checkedRows(all), ofTable);
  const inference = new SchemaInference();
  if (all === null) {
    await inferFromFirst(inference, head, rows);
  } else {
    await inference.add(checkedRows(all));
  }
  return inference.schema(all === null && !rows.isAtEnd);
}

/** Adds the first rows, and later ones to them while a column has only nulls. */
async function inferFromFirst(inference: SchemaInference, head: object[], rows: ObjectRows): Promise<void> {
  await inference.add(head);
  let bytes = 0;
  while (inference.hasUnknown && !rows.isAtEnd && head.length < MAX_HEAD_ROWS && bytes < MAX_HEAD_BYTES) {
    const more = await rows.take();
    await inference.add(more);
    for (const row of more) {
      bytes += bytesOfValue(row, 0);
      head.push(row);
    }
  }
}

/** Estimates the memory of a value. */
function bytesOfValue(value: unknown, depth: number): number {
  if (typeof value === "string") return 16 + 2 * value.length;
  if (typeof value !== "object" || value === null) return 8;
  if (ArrayBuffer.isView(value)) return 64 + value.byteLength;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  // An array that starts with a number has only numbers.
  const isNumeric = Array.isArray(value) && typeof value[0] === "number";
  if (depth > MAX_DEPTH || isNumeric) return 32 + 8 * items.length;
  return items.reduce<number>((sum, item) => sum + bytesOfValue(item, depth + 1), 32);
}

/** @throws InvalidInputError if nothing tells the columns of input without rows */
export function requireSchema(schema: Schema | null): Schema {
  if (schema !== null) return schema;
  throw new InvalidInputError("there are no rows, and no schema: the input is empty");
}

/** Returns input without rows, with the columns of the schema. */
export function noObjects(schema: Schema): ObjectBatches {
  const next = async () => ({ done: true, value: undefined }) as const;
  const rows = new ObjectRows({ first: [], next, all: null, isGroups: true });
  return { schema, batches: encodeRows(schema, rows, null) };
}

/** @param guessed facts that the first rows determined, for messages; null if there are none */
async function* encodeRows(schema: Schema, rows: ObjectRows, guessed: Guessed | null, isFromJson = false) {
  const hint = guessed?.types
    ? `the types are those of the first ${guessed.rowCount} rows; pass a schema`
    : undefined;
  const columnNames = new Set(schema.fields.map(({ name }) => name));
  const batchRows = rowsOfBatch(schema);
  let firstRow = 0;
  for (let taken = await rows.take(); taken.length > 0; taken = await rows.take()) {
    for (let slot = 0; slot < taken.length; slot += batchRows) {
      const batch = taken.length <= batchRows ? taken : taken.slice(slot, slot + batchRows);
      await yieldToEventLoop();
      for (const [index, row] of batch.entries())
        checkMembers(row, columnNames, firstRow + index, guessed?.rowCount ?? null);
      const start = firstRow;
      const columns: Column[] = [];
      for (const field of schema.fields) {
        const { name } = field;
        const values = batch.map((row) => memberOf(row, name));
        columns.push(
          encodeValues(values, field, { path: name, hint, isFromJson, rowOf: (index) => start + index }),
        );
        await yieldToEventLoop();
      }
      yield { columns, rowCount: batch.length };
      firstRow += batch.length;
    }
  }
}

function rowsOfBatch({ fields }: Schema): number {
  const items = Math.max(1, ...fields.map(({ type }) => itemsOfRow(type)));
  const maxRows = fields.some(({ type }) => hasNamedZone(type)) ? ZONED_BATCH_ROWS : BATCH_ROWS;
  return Math.max(1, Math.min(maxRows, Math.floor(BATCH_ITEMS / items)));
}

/** Number of items that each value has because of its type: those of fixed-size lists. */
function itemsOfRow(type: DataType): number {
  const { listSize, children } = type as { listSize?: number; children?: readonly Field[] };
  const inner = (children ?? []).reduce((sum, field) => sum + itemsOfRow(field.type), 0);
  return Math.max(1, inner) * (listSize ?? 1);
}

/** True if a type contains timestamps of a named zone. */
function hasNamedZone(type: DataType): boolean {
  const { timezone, children } = type as { timezone?: string | null; children?: readonly Field[] };
  if (typeof timezone === "string" && isNamedZone(timezone)) return true;
  return (children ?? []).some((field) => hasNamedZone(field.type));
}

class ObjectRows {
  readonly #next: RowSource["next"];
  readonly #isGroups: boolean;
  /** Rows or groups that were read ahead. */
  #ahead: readonly unknown[];
  /** Rows that were put back. */
  #returned: object[] = [];
  #count = 0;
  isAtEnd = false;

  /** The source's first row or group may be large, so it is not kept. */
  constructor({ first, next, isGroups }: RowSource) {
    this.#next = next;
    this.#isGroups = isGroups;
    this.#ahead = [first];
  }

  /** Makes rows that were taken the next ones again. */
  putBack(rows: object[]): void {
    this.#returned = rows;
  }

  /** Returns the next rows: those put back, a group that has any, or enough for a batch; none at the end. */
  async take(): Promise<object[]> {
    const isGroups = this.#isGroups;
    const rows = this.#returned;
    this.#returned = [];
    if (rows.length > 0) return rows;
    while (isGroups ? rows.length === 0 : rows.length < BATCH_ROWS) {
      const { done, value } = await this.#read();
      if (done === true) {
        this.isAtEnd = true;
        break;
      }
      if (!isGroups) rows.push(requireRow(value, this.#count++));
      else for (const row of requireGroup(value, this.#count)) rows.push(requireRow(row, this.#count++));
    }
    return rows;
  }

  /** Not async: each row of an iterable would wait for one more promise. */
  #read(): IteratorResult<unknown> | Promise<IteratorResult<unknown>> {
    if (this.#ahead.length === 0) return this.#next();
    const [value] = this.#ahead;
    this.#ahead = [];
    return { value };
  }
}

function requireGroup(group: unknown, firstRow: number): readonly unknown[] {
  if (Array.isArray(group)) return group;
  throw new InvalidInputError(`row ${firstRow}: ${describeValue(group)} where an array of rows is wanted`);
}

function* checkedRows(rows: readonly unknown[]): Generator<object, void> {
  for (let index = 0; index < rows.length; index++) yield requireRow(rows[index], index);
}

function requireRow(row: unknown, index: number): object {
  if (isRecord(row)) return row;
  throw new InvalidInputError(`row ${index}: ${describeValue(row)} where an object is wanted`);
}

/** Returns the columns of a table that rows name; if they name none, a column that can be null. */
async function namedBy(rows: Iterable<object>, schema: Schema): Promise<Schema> {
  const columnNames = new Set(schema.fields.map(({ name }) => name));
  const named = new Set<string>();
  let index = 0;
  for (const row of rows) {
    if (index % ROWS_AT_ONCE === 0) await yieldToEventLoop();
    checkMembers(row, columnNames, index++, null);
    for (const name of Object.keys(row)) named.add(name);
  }
  const fields = schema.fields.filter(({ name }) => named.has(name));
  return new Schema(fields.length > 0 ? fields : nullColumnOf(schema));
}

/** Returns the field that rows without members get: files of version 2.0 store no null structs. */
function nullColumnOf({ fields }: Schema): Field[] {
  const nullable = fields.filter((field) => field.nullable);
  const field = nullable.find(({ type }) => type.typeId !== Type.Struct) ?? nullable[0] ?? fields[0];
  return field === undefined ? [] : [field];
}

function checkMembers(
  row: object,
  columnNames: ReadonlySet<string>,
  index: number,
  guessedRows: number | null,
): void {
  for (const name of Object.keys(row)) {
    if (columnNames.has(name)) continue;
    const names = [...columnNames].join(", ");
    throw new TableSchemaValidationError(
      guessedRows !== null
        ? `row ${index}: the first ${guessedRows} rows have no column ${name}, only ${names}; set ${name} to null in one of them, or pass a schema`
        : `row ${index}: there is no column ${name}; the columns of these rows are ${names}`,
    );
  }
}
