/** Runs embedding functions on the rows of a table, and puts their vectors into its columns. */

import { type Data, Field, Schema, Table } from "apache-arrow";
import { getRegistry } from "./embedding/index.js";
import {
  DEFAULT_VECTOR_COLUMN,
  EMBEDDING_METADATA,
  type EmbeddingFunctionConfig,
} from "./embedding/registry.js";
import { batchOf, dataOf, missingValue } from "./records.js";
import { newVectorType } from "./vectors.js";

/** True for the schema of a table whose metadata records embedding functions. */
export const recordsFunctions = (schema: Schema | undefined): boolean =>
  schema?.metadata.has(EMBEDDING_METADATA) === true;

/**
 * Returns the table with the vectors of embedding functions: those that the metadata of the schema records,
 * and the one that is passed. A column that has vectors already stays as it is.
 * @param schema decides the order and the types of columns. Default: the vectors come last
 * @throws Error for a function that is not registered, for missing columns, and what a function throws
 */
export async function withEmbeddings(
  table: Table,
  embeddings: EmbeddingFunctionConfig | undefined,
  schema: Schema | undefined,
): Promise<Table> {
  const recorded = recordsFunctions(schema)
    ? [...(await getRegistry().parseFunctions((schema as Schema).metadata)).values()]
    : [];
  const ownNames = new Set(recorded.map(({ vectorColumn }) => vectorColumn));
  const isNew = embeddings !== undefined && !ownNames.has(embeddings.vectorColumn ?? DEFAULT_VECTOR_COLUMN);
  let result = table;
  for (const config of isNew ? [...recorded, embeddings] : recorded) {
    result = await withVectors(result, config, schema);
  }
  if (schema !== undefined) result = alignedTo(schema, result);
  return isNew ? withFunction(result, embeddings) : result;
}

async function withVectors(
  table: Table,
  { sourceColumn, vectorColumn: target = DEFAULT_VECTOR_COLUMN, function: embed }: EmbeddingFunctionConfig,
  schema: Schema | undefined,
): Promise<Table> {
  const present = table.getChild(target);
  if (present !== null && (table.numRows === 0 || present.nullCount < table.numRows)) return table;
  const source = table.getChild(sourceColumn);
  if (source === null) {
    throw new Error(
      `Cannot apply embedding function because the source column '${sourceColumn}' was not present in the data`,
    );
  }
  const field = schema?.fields.find(({ name }) => name === target);
  if (schema !== undefined && field === undefined) {
    throw new Error(
      `When using embedding functions and specifying a schema the schema should include the embedding column but the column ${target} was missing`,
    );
  }
  if (table.numRows === 0) {
    const dimensions = embed.ndims();
    if (field === undefined && dimensions === undefined) {
      throw new Error(
        "Cannot apply embedding function to an empty table because the function does not specify `embeddingDimension`, and there is no schema",
      );
    }
    return withColumn(table, field ?? vectorField(target, dimensions as number, embed), []);
  }
  const vectors: unknown = await embed.computeSourceEmbeddings([...source]);
  if (!Array.isArray(vectors) || vectors.length !== table.numRows || !vectors.every(isList)) {
    throw new Error("Embedding function did not return an embedding for each input element");
  }
  return withColumn(table, field ?? vectorField(target, vectors[0].length, embed), vectors);
}

const isList = (vector: unknown): boolean => Array.isArray(vector) || ArrayBuffer.isView(vector);

const vectorField = (name: string, size: number, embed: EmbeddingFunctionConfig["function"]): Field =>
  new Field(name, newVectorType(size, embed.embeddingDataType()), true);

/** Returns the table with a column of values, in place of one of its name or as the last. */
function withColumn(table: Table, field: Field, values: readonly unknown[]): Table {
  const isOther = ({ name }: Field): boolean => name !== field.name;
  const fields = [...table.schema.fields.filter(isOther), field];
  const schema = new Schema(fields, table.schema.metadata);
  let row = 0;
  const batches = table.batches.map((batch) => {
    const start = row;
    row += batch.numRows;
    const origin = { path: field.name, rowOf: (index: number) => start + index };
    const column = dataOf(values.slice(start, row), field, origin);
    const others = batch.schema.fields.flatMap((each, index) =>
      isOther(each) ? [batch.data.children[index]] : [],
    );
    return batchOf(schema, [...others, column], batch.numRows);
  });
  return new Table(schema, batches);
}

/**
 * Returns the table with its columns in the order of the schema. If the schema records embedding functions,
 * columns that the table lacks are added, with nulls.
 */
function alignedTo(schema: Schema, table: Table): Table {
  const isWhole = recordsFunctions(schema);
  const { names } = table.schema;
  const fields = schema.fields.filter(({ name }) => isWhole || names.includes(name));
  const present = table.schema.fields;
  const chosen = fields.map((field) => {
    const index = names.indexOf(field.name);
    if (index < 0) return { field, index };
    const { name, nullable, metadata } = field;
    return { field: new Field(name, present[index].type, nullable, metadata), index };
  });
  const metadata = new Map([...schema.metadata, ...table.schema.metadata]);
  const aligned = new Schema(
    chosen.map(({ field }) => field),
    metadata,
  );
  const batches = table.batches.map((batch) => {
    const children: Data[] = chosen.map(({ field, index }) =>
      index < 0 ? nullData(field, batch.numRows) : batch.data.children[index],
    );
    return batchOf(aligned, children, batch.numRows);
  });
  return new Table(aligned, batches);
}

/** A column of a table that lacks it. */
const nullData = (field: Field, length: number): Data =>
  dataOf(new Array(length).fill(missingValue(field)), field, { path: field.name, rowOf: (index) => index });

/** Returns the table with the record of a function in its metadata. */
function withFunction(table: Table, config: EmbeddingFunctionConfig): Table {
  const metadata = new Map([...table.schema.metadata, ...getRegistry().getTableMetadata([config])]);
  return withMetadata(table, metadata);
}

/** Returns the table with other metadata of its schema. */
export function withMetadata(table: Table, metadata: Map<string, string>): Table {
  const schema = new Schema(table.schema.fields, metadata);
  return new Table(
    schema,
    table.batches.map(({ data, numRows }) => batchOf(schema, data.children, numRows)),
  );
}
