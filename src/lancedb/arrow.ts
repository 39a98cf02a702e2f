/**
 * Converts rows of programs to Arrow tables, and tables to bytes of Arrow IPC. Exports everything that
 * apache-arrow exports, too.
 */

import {
  type Table as ArrowTable,
  type Float,
  Float32,
  type RecordBatch,
  RecordBatchReader,
  Schema,
  Table,
  tableToIPC,
} from "apache-arrow";
import { runAsync, runSync } from "../async/eventLoop.js";
import { recordsFunctions, withEmbeddings } from "./embed.js";
import type { EmbeddingFunction } from "./embedding/embedding_function.js";
import type { EmbeddingFunctionConfig } from "./embedding/registry.js";
import type { Data, SchemaLike } from "./like.js";
import * as like from "./like.js";
import { tableOfRecords, withAllFields } from "./records.js";
import { sanitizeTable } from "./sanitizeData.js";
import { sanitizeSchema } from "./sanitizeTypes.js";

export * from "apache-arrow";
export { dataTypeToJson } from "./dataTypeJson.js";
export * from "./like.js";
// apache-arrow has these names, too.
export { type Data, isArrowTable } from "./like.js";
export * from "./vectors.js";

/** Options of a column of vectors. */
export class VectorColumnOptions {
  /** Type of the items. Default: Float32. */
  type: Float = new Float32();

  constructor(values?: Partial<VectorColumnOptions>) {
    Object.assign(this, values);
  }
}

/** Choices of {@link makeArrowTable}. */
export class MakeArrowTableOptions {
  /** Types of the columns, and their order. Default: inferred from the rows. */
  schema?: SchemaLike = undefined;
  /** Columns of vectors, besides those whose name has "vector" or "embedding" in it. */
  vectorColumns: Record<string, VectorColumnOptions> = { vector: new VectorColumnOptions() };
  embeddings?: EmbeddingFunction<unknown> = undefined;
  embeddingFunction?: EmbeddingFunctionConfig = undefined;
  /** Infers dictionaries for texts, for columns in which few texts repeat. Default: false. */
  dictionaryEncodeStrings: boolean = false;

  constructor(values?: Partial<MakeArrowTableOptions>) {
    Object.assign(this, values);
  }
}

/**
 * Makes an Arrow table of rows. LanceDB's calls do so by themselves.
 *
 * With a schema, the table has those of its columns that rows name. Without one, the types are inferred:
 * boolean to Bool, number to Float64, bigint to Int64, string to Utf8, `Buffer` to Binary, arrays to List,
 * objects to Struct. Typed arrays, and arrays of numbers in a column of vectors, become FixedSizeList.
 *
 * @example
 * ```ts
 * makeArrowTable([{ id: 1, vector: [0.1, 0.2] }]);
 * makeArrowTable([{ id: 1, v: [0.1, 0.2] }], { vectorColumns: { v: { type: new Float16() } } });
 * ```
 * @param metadata is added to that of the schema
 * @throws Error for rows whose types cannot be told, and for values that do not fit the schema
 */
export function makeArrowTable(
  data: Array<Record<string, unknown>>,
  options?: Partial<MakeArrowTableOptions>,
  metadata?: Map<string, string>,
): ArrowTable {
  return runSync(tableSteps(data, options, { metadata, isOneBatch: true }));
}

interface TableChoices {
  readonly metadata?: Map<string, string> | undefined;
  readonly isOneBatch?: boolean;
  readonly isWhole?: boolean;
}

function* tableSteps(
  data: Array<Record<string, unknown>>,
  options: Partial<MakeArrowTableOptions> | undefined,
  { metadata, isOneBatch = false, isWhole = false }: TableChoices,
) {
  if (!Array.isArray(data)) throw new TypeError(`Expected an array of objects but found ${typeof data}`);
  const chosen = new MakeArrowTableOptions(options);
  const { dictionaryEncodeStrings, vectorColumns } = chosen;
  const wanted =
    chosen.schema === undefined || chosen.schema === null ? undefined : sanitizeSchema(chosen.schema);
  const added = metadata ?? new Map<string, string>();
  const schema = wanted && new Schema(wanted.fields, new Map([...wanted.metadata, ...added]));
  const choices = { dictionaryEncodeStrings, vectorColumns, schema, metadata: added, isOneBatch, isWhole };
  return yield* tableOfRecords(data, choices);
}

/** Makes a table without rows. */
export function makeEmptyTable(schema: SchemaLike, metadata?: Map<string, string>): ArrowTable {
  return makeArrowTable([], { schema }, metadata);
}

/** Makes a table without rows. */
export function createEmptyTable(schema: Schema): ArrowTable {
  return new Table(sanitizeSchema(schema));
}

/**
 * Makes an Arrow table of rows as {@link makeArrowTable} does, with the vectors that an embedding function
 * makes of one of its columns. A schema must have the column of vectors; without one it comes last.
 */
export async function convertToTable(
  data: Array<Record<string, unknown>>,
  embeddings?: EmbeddingFunctionConfig,
  makeTableOptions?: Partial<MakeArrowTableOptions>,
): Promise<ArrowTable> {
  const { schema: schemaLike } = makeTableOptions ?? {};
  const schema = schemaLike === undefined || schemaLike === null ? undefined : sanitizeSchema(schemaLike);
  const isWhole = recordsFunctions(schema);
  const table = await runAsync(tableSteps(data, { ...makeTableOptions, schema }, { isWhole }));
  return withEmbeddings(table, embeddings, schema);
}

/**
 * Makes an Arrow table of rows or of a table of any copy of apache-arrow, with the vectors of embedding
 * functions.
 * @param schema the schema of the table that the rows go to
 */
export async function tableFromData(
  data: Data,
  embeddings?: EmbeddingFunctionConfig,
  schema?: SchemaLike,
): Promise<ArrowTable> {
  if (!like.isArrowTable(data)) return convertToTable(data, embeddings, schema && { schema });
  return withEmbeddings(sanitizeTable(data), embeddings, schema && sanitizeSchema(schema));
}

const toBuffer = (table: ArrowTable, form: "file" | "stream"): Buffer => {
  const bytes = tableToIPC(table, form);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};

/** Returns rows as a file of Arrow IPC, after {@link convertToTable}. */
export async function fromRecordsToBuffer(
  data: Array<Record<string, unknown>>,
  embeddings?: EmbeddingFunctionConfig,
  schema?: Schema,
): Promise<Buffer> {
  return toBuffer(await tableFromData(data, embeddings, schema), "file");
}

/** Returns rows as a stream of Arrow IPC, after {@link convertToTable}. */
export async function fromRecordsToStreamBuffer(
  data: Array<Record<string, unknown>>,
  embeddings?: EmbeddingFunctionConfig,
  schema?: Schema,
): Promise<Buffer> {
  return toBuffer(await tableFromData(data, embeddings, schema), "stream");
}

/** Returns a table as a file of Arrow IPC, with the vectors of an embedding function. */
export async function fromTableToBuffer(
  table: ArrowTable,
  embeddings?: EmbeddingFunctionConfig,
  schema?: SchemaLike,
): Promise<Buffer> {
  return toBuffer(await tableFromData(table, embeddings, schema), "file");
}

/** Returns a table as a stream of Arrow IPC, with the vectors of an embedding function. */
export async function fromTableToStreamBuffer(
  table: ArrowTable,
  embeddings?: EmbeddingFunctionConfig,
  schema?: SchemaLike,
): Promise<Buffer> {
  return toBuffer(await tableFromData(table, embeddings, schema), "stream");
}

/** Returns rows or a table as a file of Arrow IPC, with the vectors of an embedding function. */
export async function fromDataToBuffer(
  data: Data,
  embeddings?: EmbeddingFunctionConfig,
  schema?: Schema,
): Promise<Buffer> {
  return toBuffer(await tableFromData(data, embeddings, schema), "file");
}

/** Reads the first record batch of Arrow IPC; null if it has none. */
export async function fromBufferToRecordBatch(data: Buffer): Promise<RecordBatch | null> {
  const reader = RecordBatchReader.from(data);
  const { value } = reader.next();
  return value ?? null;
}

/** Returns a record batch as a file of Arrow IPC. */
export async function fromRecordBatchToBuffer(batch: RecordBatch): Promise<Buffer> {
  return toBuffer(new Table([batch]), "file");
}

/** Returns a record batch as a stream of Arrow IPC. */
export async function fromRecordBatchToStreamBuffer(batch: RecordBatch): Promise<Buffer> {
  return toBuffer(new Table([batch]), "stream");
}

/**
 * Returns the rows with exactly the members that the schema has: those that are missing are null, and objects
 * that are missing have null members.
 */
export function ensureNestedFieldsExist(
  data: Array<Record<string, unknown>>,
  schema: Schema,
): Array<Record<string, unknown>> {
  return data.map((row) => withAllFields(row, schema.fields));
}
