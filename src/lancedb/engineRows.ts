/** Converts the rows of LanceDB's calls to what the engine takes: a table, or batches one by one. */

import { type RecordBatch, Schema, Table } from "apache-arrow";
import { runAsync } from "../async/eventLoop.js";
import { tableFromData } from "./arrow.js";
import { recordsFunctions, withEmbeddings } from "./embed.js";
import { type EmbeddingFunctionConfig, getRegistry } from "./embedding/registry.js";
import { castTable, needsCast } from "./fitTable.js";
import { type Data, isArrowTable, type SchemaLike, type TableLike } from "./like.js";
import { oneBatch } from "./rowBatches.js";
import { sanitizeTable } from "./sanitizeData.js";
import { sanitizeSchema } from "./sanitizeTypes.js";
import { Scannable } from "./scannable.js";

/** Rows that the engine's calls take as their `data`. */
export type EngineRows = TableLike | ScannedRows;

/** Batches that are read one by one. */
interface ScannedRows extends AsyncIterable<RecordBatch> {
  /** Schema of a table that would have these rows. */
  readonly schema: Schema;
}

/** Choices of {@link rowsToCreate}. */
export interface CreatedRows {
  readonly schema?: SchemaLike | undefined;
  readonly embeddingFunction?: EmbeddingFunctionConfig | undefined;
}

/**
 * Returns rows for a table that has the given schema: objects as the types of its columns, and vectors of the
 * embedding functions that its metadata records. Tables of any copy of apache-arrow pass unchanged where no
 * function has to run, and no column of an append has to be cast.
 * @param isAppend true for rows that the table gets as they are; LanceDB casts columns only then
 * @throws Error for objects that do not fit, and what embedding functions throw
 */
export async function rowsToAdd(
  data: Data | Scannable,
  tableSchema: Schema,
  isAppend = false,
): Promise<EngineRows> {
  if (data instanceof Scannable) return scannedRows(data, tableSchema);
  const rows = requireData(data);
  const isTable = isArrowTable(rows);
  const fitted =
    isTable && isAppend && needsCast(rows, tableSchema)
      ? await runAsync(castTable(sanitizeTable(rows), tableSchema))
      : rows;
  if (isTable && !recordsFunctions(tableSchema)) return fitted as TableLike;
  return tableFromData(fitted, undefined, tableSchema);
}

/**
 * Returns rows for a new table. The result's schema is that of the table, with the record of its embedding
 * functions in the metadata. A schema decides the types of objects; tables have their own.
 */
export async function rowsToCreate(data: Data | Scannable, options: CreatedRows = {}): Promise<EngineRows> {
  const { embeddingFunction, schema } = options;
  if (data instanceof Scannable) return scannedRows(data, undefined);
  const rows = requireData(data);
  if (!isArrowTable(rows)) return tableFromData(rows, embeddingFunction, schema);
  const recorded = schema === undefined ? undefined : sanitizeSchema(schema);
  if (embeddingFunction === undefined && !recordsFunctions(recorded)) return rows;
  return tableFromData(rows, embeddingFunction, recordsFunctions(recorded) ? recorded : undefined);
}

/** Returns the schema of a new table without rows. */
export function schemaToCreate(schemaLike: SchemaLike, embeddingFunction?: EmbeddingFunctionConfig): Schema {
  const schema = sanitizeSchema(schemaLike);
  if (embeddingFunction === undefined) return schema;
  const record = getRegistry().getTableMetadata([embeddingFunction]);
  return new Schema(schema.fields, new Map([...schema.metadata, ...record]));
}

/** @throws Error for data that is neither an array nor a table */
function requireData(data: unknown): Data {
  if (data === undefined || data === null) throw new Error("data is required");
  if (Array.isArray(data) || (typeof data === "object" && isArrowTable(data))) return data as Data;
  throw new Error(`Expected an array of objects or an Arrow table, but found ${typeof data}`);
}

/** Returns the rows of a source. It is opened when the engine reads, not for a call that is refused. */
function scannedRows({ inner }: Scannable, tableSchema: Schema | undefined): EngineRows {
  const schema = sanitizeSchema(inner.schema);
  const isEmbedded = tableSchema !== undefined && recordsFunctions(tableSchema);
  return {
    schema,
    async *[Symbol.asyncIterator]() {
      let isEmpty = true;
      const batches = inner.scan();
      for await (const batch of isEmbedded ? embedded(batches, tableSchema) : batches) {
        isEmpty = false;
        yield batch;
      }
      // The engine takes the schema of the rows from their first batch.
      if (isEmpty) yield oneBatch(new Table(schema));
    },
  };
}

async function* embedded(batches: AsyncIterable<RecordBatch>, schema: Schema): AsyncGenerator<RecordBatch> {
  for await (const batch of batches) {
    const table = sanitizeTable({ schema: batch.schema, batches: [batch] });
    yield* (await withEmbeddings(table, undefined, schema)).batches;
  }
}
