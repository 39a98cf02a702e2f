/**
 * Converts record batches and tables of any copy of apache-arrow (releases 15 to 21) to the copy that this
 * module imports. Both share their buffers, unless the alignment of one is wrong.
 */

import {
  Data,
  type DataType,
  type Dictionary,
  RecordBatch,
  type Schema,
  type Struct,
  Table,
  Vector,
} from "apache-arrow";
import { alignedBytes } from "../bytes/aligned.js";
import { bytesOf } from "../bytes/view.js";
import { type DataLike, isOfThisCopy, type RecordBatchLike, type TableLike } from "./like.js";
import { sanitizeSchema, sanitizeType, TypeCache } from "./sanitizeTypes.js";

/** Converts the batches of one table. Dictionaries that batches share stay shared. */
export class BatchAdopter {
  readonly #types = new TypeCache();
  readonly #chunks = new WeakMap<object, Data>();
  readonly #dictionaries = new WeakMap<object, Vector>();
  #schema: { readonly foreign: object; readonly ours: Schema } | null = null;

  /** Returns a schema as one of this copy. */
  schema(foreign: RecordBatchLike["schema"]): Schema {
    if (this.#schema?.foreign !== foreign) {
      this.#schema = { foreign, ours: sanitizeSchema(foreign, this.#types) };
    }
    return this.#schema.ours;
  }

  /** Returns a batch as one of this copy. */
  batch(batchLike: RecordBatchLike): RecordBatch {
    if (isOfThisCopy(batchLike, RecordBatch)) return batchLike;
    if (typeof batchLike !== "object" || batchLike === null) {
      throw new Error("Expected a RecordBatch but object was null/undefined");
    }
    for (const name of ["schema", "data"]) {
      if (name in batchLike) continue;
      throw new Error(
        `The record batch passed in does not appear to be a record batch (no '${name}' property)`,
      );
    }
    const schema = this.schema(batchLike.schema);
    const { data } = batchLike;
    const type = sanitizeType(data?.type, this.#types);
    return new RecordBatch(schema, this.#data(data, type) as Data<Struct>);
  }

  /** @param type the type of the data, as one of this copy */
  #data(dataLike: DataLike, type: DataType): Data {
    const { length, offset, nullCount, children = [] } = dataLike;
    const { valueOffsets, nullBitmap, typeIds } = dataLike;
    const buffers = [valueOffsets, valuesAs(dataLike.values, type), nullBitmap, typeIds];
    const ours = children.map((child, index) => this.#data(child, type.children[index].type));
    const dictionary = this.#dictionary(dataLike, type);
    return new Data(type, offset, length, nullCount, buffers as unknown as Data["buffers"], ours, dictionary);
  }

  #dictionary({ dictionary }: DataLike, type: DataType): Vector | undefined {
    if (dictionary === undefined || dictionary === null) return undefined;
    let vector = this.#dictionaries.get(dictionary);
    if (vector === undefined) {
      const valueType = (type as Dictionary).dictionary;
      vector = new Vector(dictionary.data.map((chunk) => this.#chunk(chunk, valueType))).memoize();
      this.#dictionaries.set(dictionary, vector);
    }
    return vector;
  }

  /** Chunks of a dictionary that grows are shared by its states. */
  #chunk(chunk: DataLike, type: DataType): Data {
    let ours = this.#chunks.get(chunk);
    if (ours === undefined) {
      ours = this.#data(chunk, type);
      this.#chunks.set(chunk, ours);
    }
    return ours;
  }
}

/** Releases of apache-arrow before 17 have 64-bit times as pairs of integers, later ones as bigints. */
function valuesAs(values: unknown, type: DataType): unknown {
  const { ArrayType } = ((type as Dictionary).indices ?? type) as { ArrayType?: TypedArrayClass };
  const width = ArrayType?.BYTES_PER_ELEMENT ?? 1;
  if (!ArrayBuffer.isView(values) || ArrayType === undefined || width === 1) return values;
  if (values.constructor.name === ArrayType.name) return values;
  const bytes = alignedBytes(bytesOf(values), width);
  return new ArrayType(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / width));
}

interface TypedArrayClass {
  readonly BYTES_PER_ELEMENT?: number;
  readonly name: string;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): unknown;
}

/** Returns a table as one of this copy of apache-arrow. */
export function sanitizeTable(tableLike: TableLike): Table {
  if (isOfThisCopy(tableLike, Table)) return tableLike;
  if (typeof tableLike !== "object" || tableLike === null) {
    throw new Error("Expected a Table but object was null/undefined");
  }
  if (!("schema" in tableLike)) {
    throw new Error("The table passed in does not appear to be a table (no 'schema' property)");
  }
  if (!Array.isArray(tableLike.batches)) {
    throw new Error("The table passed in does not appear to be a table (no 'columns' property)");
  }
  const adopter = new BatchAdopter();
  const schema = adopter.schema(tableLike.schema);
  return new Table(
    schema,
    tableLike.batches.map((batch) => adopter.batch(batch)),
  );
}
