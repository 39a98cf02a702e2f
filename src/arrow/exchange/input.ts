/**
 * Converts the rows of callers to one form: a schema of this apache-arrow version, and columns batch by
 * batch. Accepts tables and record batches of any version of apache-arrow, iterables of batches, Arrow IPC as
 * bytes or as a stream of bytes, and iterables of plain objects (arrow/objects). Rows of files fit themselves
 * to the target (`fittableRows`). Recognises Arrow's objects by their members, never by their class.
 *
 * Each batch is validated before it is returned: its buffers, offsets and indices. Memory holds one batch at
 * a time.
 */

import type { Field, Schema } from "apache-arrow";
import { untilAborted } from "../../async/abort.js";
import { runAsync, type Steps } from "../../async/eventLoop.js";
import { lazyModule } from "../../async/lazy.js";
import { InvalidInputError, messageOf, NamespaceError } from "../../errors.js";
import type { MemoryShare } from "../../memory.js";
import type { Column, Layout } from "../columns/column.js";
import { nullColumn } from "../columns/nullColumn.js";
import type { ObjectBatches, ObjectTypes } from "../objects/objectBatches.js";
import { binaryOf, isRecord } from "../objects/valueKinds.js";
import { adoptSchema, type ForeignSchema } from "../types/foreignTypes.js";
import { layoutOf } from "../types/layouts.js";
import { type LogicalField, logicalFieldOf } from "../types/logicalTypes.js";
import { formatType } from "../types/type.js";
import { columnFromDataInSteps, type DictionaryCache, type ForeignData } from "./data.js";
import { FIT_ROWS, isFittable } from "./fittableRows.js";
import { isFromJson } from "./jsonGroups.js";
import { type CheckedDictionaries, validateColumn } from "./validate.js";
import { ViewBounds } from "./viewBounds.js";
import { type PlainDictionaries, withoutViews } from "./views.js";

const ipc = lazyModule(() => import("./ipc.js"));
const objects = lazyModule(() => import("../objects/objectBatches.js"));

export interface InputBatch {
  /** Columns in the order of the schema's fields, with `rowCount` values each. */
  readonly columns: readonly Column[];
  /** Number of rows, above 0. */
  readonly rowCount: number;
  /**
   * True if the columns are valid only until the next request; only rows/writeColumns takes such columns.
   * Default false.
   */
  readonly isTransient?: boolean;
}

/** Bytes that a list item without data adds to the size of a batch. */
const BARE_ITEM_BYTES = 16;

/** Rows that can be read once. */
export interface ArrowInput {
  readonly schema: Schema;
  readonly batches: AsyncIterable<InputBatch>;
  /** Releases the caller's data, even if it was not read to its end. May be called several times. */
  close(): Promise<void>;
}

/** A record batch of any version of apache-arrow. */
interface ForeignBatch {
  readonly schema: ForeignSchema;
  readonly data: { readonly length: number; readonly children: readonly ForeignData[] };
}

/** A table of any version of apache-arrow. */
interface ForeignTable {
  readonly schema: ForeignSchema;
  readonly batches: readonly ForeignBatch[];
}

/** Bounds on the input. */
export interface InputBounds {
  /** Limit in bytes of one inflated IPC batch, and of an IPC file that arrives in pieces. Default: none. */
  readonly maxBatchBytes?: number;
  /** Limit on the rows of all batches. Default: none. */
  readonly maxRows?: number;
  /** Accounts for the memory of IPC that arrives in pieces. */
  readonly memory?: MemoryShare;
}

/**
 * Opens the rows of a caller. Reads only the schema or, if rows are objects, the first of them.
 * @param signal ends the reading with its reason
 * @param types the target types of rows of objects; without any, their types are inferred
 * @throws InvalidInputError for data that is not rows, UnsupportedError for types that cannot be stored; both
 *   also while batches are read, with the error of a failing iterator as `cause`
 */
export async function openInput(
  data: unknown,
  signal?: AbortSignal,
  bounds: InputBounds = {},
  types: ObjectTypes = {},
): Promise<ArrowInput> {
  signal?.throwIfAborted();
  if (isFittable(data)) return openInput(data[FIT_ROWS](types), signal, bounds);
  const source = new Source(signal);
  try {
    const rows = await openRows(data, source, bounds, types);
    if ("isObjects" in rows) {
      return new Rows(rows.schema, countedObjects(rows.batches, source, bounds), source);
    }
    const conversion = new Conversion(rows.schema, bounds);
    if (types.schema !== undefined && !isSameShape(types.schema, conversion.schema)) {
      throw new InvalidInputError(
        "schema: applies only to rows that are objects; Arrow data has its own schema, which differs from this one",
      );
    }
    return new Rows(conversion.schema, conversion.convert(rows.batches, source), source);
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** True if two schemas have the same names and types. */
export const isSameShape = ({ fields }: Schema, { fields: others }: Schema): boolean =>
  fields.length === others.length &&
  fields.every(
    ({ name, type }, index) => name === others[index].name && `${type}` === `${others[index].type}`,
  );

interface OpenedObjects extends ObjectBatches {
  readonly isObjects: true;
}

interface OpenedRows {
  readonly schema: ForeignSchema;
  readonly batches: Iterable<ForeignBatch> | AsyncIterable<ForeignBatch>;
}

async function openRows(
  data: unknown,
  source: Source,
  { maxBatchBytes, memory }: InputBounds,
  types: ObjectTypes,
): Promise<OpenedRows | OpenedObjects> {
  if (isTable(data)) return data;
  if (isBatch(data)) return { schema: data.schema, batches: [data] };
  const bytes = binaryOf(data);
  if (bytes !== null) return (await ipc.get()).openIpcBytes(bytes, maxBatchBytes);
  const iterator = openIterator(data);
  if (iterator === null) {
    throw new InvalidInputError(
      `rows must be an array of objects, an Arrow table, record batches or Arrow IPC bytes, not ${describe(data)}`,
    );
  }
  source.attach(iterator);
  const first = await source.next();
  if (first.done === true) {
    // Anything except an array may be an empty stream of bytes.
    const ofTable = Array.isArray(data) ? await types.tableSchema?.() : null;
    const { noObjects, requireSchema } = await objects.get();
    return { isObjects: true, ...noObjects(requireSchema(types.schema ?? ofTable ?? null)) };
  }
  if (binaryOf(first.value) !== null) {
    return (await ipc.get()).openIpcStream(byteIterator(first.value, source), maxBatchBytes, memory);
  }
  if (isBatch(first.value) || isTable(first.value)) {
    return { schema: first.value.schema, batches: batchIterator(first.value, source) };
  }
  const isGroups = Array.isArray(first.value) && !Array.isArray(data);
  if (isRecord(first.value) || isGroups) {
    const all = Array.isArray(data) ? data : null;
    const rows = {
      first: first.value,
      next: () => source.next(),
      all,
      isGroups,
      isFromJson: isFromJson(data),
    };
    return { isObjects: true, ...(await (await objects.get()).openObjects(rows, types)) };
  }
  throw new InvalidInputError(
    `rows must come as objects, as record batches or as bytes of an Arrow IPC stream, not as ${describe(first.value)}`,
  );
}

async function* byteIterator(first: unknown, source: Source): AsyncGenerator<Uint8Array> {
  let next: IteratorResult<unknown> = { value: first };
  for (; next.done !== true; next = await source.next()) {
    const bytes = binaryOf(next.value);
    if (bytes === null) throw new InvalidInputError(`${describe(next.value)} was found in a stream of bytes`);
    yield bytes;
  }
}

async function* batchIterator(first: unknown, source: Source): AsyncGenerator<ForeignBatch> {
  let next: IteratorResult<unknown> = { value: first };
  for (; next.done !== true; next = await source.next()) {
    const { value } = next;
    if (isTable(value)) yield* value.batches;
    else if (isBatch(value)) yield value;
    else throw new InvalidInputError(`${describe(value)} was found in a sequence of record batches`);
  }
}

/** Rows of a caller, whose source is closed after the last batch. */
class Rows implements ArrowInput {
  readonly schema: Schema;
  readonly #batches: AsyncIterable<InputBatch>;
  readonly #source: Source;
  #taken = false;

  constructor(schema: Schema, batches: AsyncIterable<InputBatch>, source: Source) {
    this.schema = schema;
    this.#batches = batches;
    this.#source = source;
  }

  get batches(): AsyncIterable<InputBatch> {
    return { [Symbol.asyncIterator]: () => this.#read() };
  }

  close(): Promise<void> {
    return this.#source.close();
  }

  async *#read(): AsyncGenerator<InputBatch> {
    if (this.#taken) throw new InvalidInputError("rows can be read only once");
    this.#taken = true;
    try {
      yield* this.#batches;
    } finally {
      await this.#source.close();
    }
  }
}

/** Returns a function that counts rows, and throws an InvalidInputError beyond the bound. */
function rowCounter({ maxRows = Number.POSITIVE_INFINITY }: InputBounds): (rowCount: number) => void {
  let total = 0;
  return (rowCount) => {
    total += rowCount;
    if (total > maxRows) throw new InvalidInputError(`the input has more than ${maxRows} rows`);
  };
}

async function* countedObjects(
  batches: ObjectBatches["batches"],
  source: Source,
  bounds: InputBounds,
): AsyncGenerator<InputBatch> {
  const count = rowCounter(bounds);
  for await (const batch of batches) {
    source.throwIfAborted();
    count(batch.rowCount);
    yield batch;
  }
}

/** Converts batches of one schema. */
class Conversion {
  readonly schema: Schema;
  readonly #layouts: readonly Layout[];
  readonly #typeNames: readonly string[];
  readonly #dictionaries: DictionaryCache = new WeakMap();
  readonly #plainDictionaries: PlainDictionaries = new WeakMap();
  readonly #checked: CheckedDictionaries = new WeakSet();
  /** Schemas of batches that agree with `schema`. */
  readonly #agreeing = new WeakSet<object>();
  readonly #bounds: InputBounds;
  readonly #count: (rowCount: number) => void;

  constructor(schema: ForeignSchema, bounds: InputBounds) {
    this.schema = adoptSchema(schema);
    this.#layouts = this.schema.fields.map((field) => layoutOf(field.type, field.name));
    this.#typeNames = this.schema.fields.map((field) => typeName(field));
    this.#agreeing.add(schema);
    this.#bounds = bounds;
    this.#count = rowCounter(bounds);
  }

  /** Yields the batches that have rows. */
  async *convert(batches: OpenedRows["batches"], source: Source): AsyncGenerator<InputBatch> {
    const { maxBatchBytes = Number.POSITIVE_INFINITY, memory } = this.#bounds;
    for await (const batch of batches) {
      source.throwIfAborted();
      const viewBounds = new ViewBounds(maxBatchBytes, memory);
      try {
        const converted = await runAsync(this.#convert(batch, viewBounds));
        if (converted.rowCount > 0) yield converted;
      } finally {
        viewBounds.release();
      }
    }
  }

  *#convert(batch: ForeignBatch, viewBounds: ViewBounds): Steps<InputBatch> {
    this.#checkSchema(batch.schema);
    const { children, length: rowCount } = batch.data;
    if (!Number.isSafeInteger(rowCount) || rowCount < 0)
      throw new InvalidInputError(`a batch states ${rowCount} as its number of rows`);
    const { maxBatchBytes = Number.POSITIVE_INFINITY } = this.#bounds;
    this.#count(rowCount);
    const columns: Column[] = [];
    for (const [index, layout] of this.#layouts.entries()) {
      const { name } = this.schema.fields[index];
      const data = children[index];
      if (data === undefined && rowCount === 0) {
        columns.push(nullColumn(layout, 0));
        continue;
      }
      if (data === undefined) throw new InvalidInputError(`column ${name} is missing from a batch`);
      if (data.length !== rowCount) {
        throw new InvalidInputError(
          `column ${name} has ${data.length} values in a batch of ${rowCount} rows`,
        );
      }
      const column = yield* this.#column(data, layout, name, viewBounds);
      yield* validateColumn(column, layout, name, this.#checked);
      columns.push(column);
    }
    const bareItems = columns.reduce((sum, column) => sum + countBareItems(column), 0);
    if (bareItems * BARE_ITEM_BYTES > maxBatchBytes) {
      throw new InvalidInputError(
        `a batch has ${bareItems} items of lists that have no bytes; pass smaller batches`,
      );
    }
    return { columns, rowCount };
  }

  *#column(data: ForeignData, layout: Layout, name: string, viewBounds: ViewBounds): Steps<Column> {
    try {
      const plain = yield* withoutViews(data, viewBounds, this.#plainDictionaries);
      return yield* columnFromDataInSteps(plain, layout, {
        dictionaries: this.#dictionaries,
        bounds: viewBounds,
      });
    } catch (error) {
      const reason = error instanceof NamespaceError ? `: ${error.message}` : " cannot be read";
      throw new InvalidInputError(`column ${name}${reason}`, { cause: error });
    }
  }

  /** Nullability and metadata may differ from batch to batch; names and types may not. */
  #checkSchema(schema: ForeignSchema): void {
    if (this.#agreeing.has(schema)) return;
    const { fields } = adoptSchema(schema);
    if (fields.length !== this.schema.fields.length) {
      throw new InvalidInputError(
        `a batch has ${fields.length} columns, but other batches have ${this.schema.fields.length}`,
      );
    }
    for (const [index, { name }] of fields.entries()) {
      const expected = this.schema.fields[index].name;
      if (name !== expected)
        throw new InvalidInputError(`a batch has column ${name}, but other batches have ${expected}`);
      const type = typeName(fields[index]);
      if (type !== this.#typeNames[index]) {
        throw new InvalidInputError(
          `column ${name} is of type ${type} in one batch and ${this.#typeNames[index]} in another`,
        );
      }
    }
    this.#agreeing.add(schema);
  }
}

/** Number of list items without bytes of their own. Each still takes memory while a page is built. */
function countBareItems(column: Column, isItem = false): number {
  switch (column.kind) {
    case "null":
      return isItem ? column.length : 0;
    case "fixed":
      return isItem && column.byteWidth === 0 ? column.length : 0;
    case "list":
    case "sizedList":
    case "fixedSizeList":
      return countBareItems(column.items, true);
    case "struct":
    case "packedStruct": {
      if (column.children.length === 0) return isItem ? column.length : 0;
      const children: readonly Column[] = column.children;
      return children.reduce((sum, child) => sum + countBareItems(child, isItem), 0);
    }
    default:
      return 0;
  }
}

/** The name of a field's type with all nested types. Equal types have equal names. */
function typeName(field: Field): string {
  const describe = ({ type, children }: LogicalField): string =>
    children.length === 0
      ? formatType(type)
      : `${formatType(type)}<${children.map((child) => `${child.name}: ${describe(child)}`).join(", ")}>`;
  return describe(logicalFieldOf(field, field.name));
}

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>;

/**
 * The caller's iterator. Wraps the iterator's errors, ends waits when the signal aborts, and calls `return`
 * of the iterator on `close`.
 */
class Source {
  readonly #signal: AbortSignal | undefined;
  #iterator: AnyIterator | null = null;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  attach(iterator: AnyIterator): void {
    this.#iterator = iterator;
  }

  throwIfAborted(): void {
    this.#signal?.throwIfAborted();
  }

  async next(): Promise<IteratorResult<unknown>> {
    this.throwIfAborted();
    const iterator = this.#iterator;
    if (iterator === null) return { done: true, value: undefined };
    try {
      const result = await untilAborted(iterator.next(), this.#signal);
      if (result.done === true) this.#iterator = null;
      return result;
    } catch (error) {
      this.throwIfAborted();
      this.#iterator = null;
      if (error instanceof NamespaceError) throw error;
      throw sourceFailed(error);
    }
  }

  async close(): Promise<void> {
    const iterator = this.#iterator;
    this.#iterator = null;
    if (iterator?.return === undefined) return;
    try {
      // A source that waits for its next value cannot return before that value arrives.
      await untilAborted(iterator.return(), this.#signal);
    } catch {
      // All wanted rows are read, so an error of the release must not fail the write.
    }
  }
}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === "object" && value !== null;
}

function hasSchema(value: unknown): value is { schema: ForeignSchema } & Record<string, unknown> {
  return isObject(value) && isObject(value.schema) && Array.isArray(value.schema.fields);
}

function isTable(value: unknown): value is ForeignTable {
  return hasSchema(value) && Array.isArray(value.batches);
}

function isBatch(value: unknown): value is ForeignBatch {
  return hasSchema(value) && isObject(value.data) && Array.isArray(value.data.children);
}

function sourceFailed(error: unknown): InvalidInputError {
  return new InvalidInputError(`the rows' source failed: ${messageOf(error)}`, { cause: error });
}

/** Opens the iterator of a value. Throws for a stream that another reader has locked. */
function openIterator(value: unknown): AnyIterator | null {
  try {
    return iteratorOf(value);
  } catch (error) {
    throw sourceFailed(error);
  }
}

function iteratorOf(value: unknown): AnyIterator | null {
  if (!isObject(value)) return null;
  const asynchronous = value[Symbol.asyncIterator];
  if (typeof asynchronous === "function") return asynchronous.call(value) as AsyncIterator<unknown>;
  const synchronous = value[Symbol.iterator];
  if (typeof synchronous === "function") return synchronous.call(value) as Iterator<unknown>;
  if (typeof value.getReader === "function")
    return streamIterator(value as unknown as ReadableStream<unknown>);
  return null;
}

/** Iterates a stream on platforms where streams are not iterable. */
async function* streamIterator(stream: ReadableStream<unknown>): AsyncGenerator<unknown> {
  const reader = stream.getReader();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        ended = true;
        return;
      }
      yield value;
    }
  } finally {
    if (!ended) await reader.cancel();
    reader.releaseLock();
  }
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a text";
  if (typeof value !== "object") return `a ${typeof value}`;
  const { then, scan } = value as { readonly then?: unknown; readonly scan?: unknown };
  if (typeof then === "function") return "a promise: await it first";
  if (typeof scan === "function") return "the handle of a table: scan() gives its rows";
  const name = (value as object).constructor?.name;
  return name === undefined || name === "Object"
    ? "an object; write [row] for a single row"
    : `an object of class ${name}`;
}
