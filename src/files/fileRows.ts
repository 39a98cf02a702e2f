/** Rows of a file that is being read. */

import type { RecordBatch, Schema } from "apache-arrow";
import { nullColumn } from "../arrow/columns/nullColumn.js";
import { makeBatch } from "../arrow/exchange/batch.js";
import { FIT_ROWS, type FittableRows } from "../arrow/exchange/fittableRows.js";
import type { ObjectTypes } from "../arrow/objects/objectBatches.js";
import { adoptSchema, type ForeignSchema } from "../arrow/types/foreignTypes.js";
import { layoutOf } from "../arrow/types/layouts.js";
import { isWebBlob, tagOf } from "../bytes/anyRealm.js";
import { InvalidInputError } from "../errors.js";
import { shortly } from "../optionMembers.js";
import { bytesInMemory } from "./byteSource.js";

/**
 * Rows of a file as record batches. Pass them as `data` wherever rows are taken: the file is then read as the
 * table is written, and its values are fitted to the table's columns. Iterated by the caller, they have the
 * types of `schema`, or inferred ones.
 *
 * A path, bytes and a Blob can be read any number of times; a stream only once.
 */
export interface FileRows extends AsyncIterable<RecordBatch> {}

/** Options that all readers of files take. */
export interface FileReadOptions {
  /**
   * Columns of the rows. Default: those of the table that the rows are written to; for a new table, and for
   * rows that the caller iterates, the file decides.
   */
  readonly schema?: Schema | undefined;
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Returns the rows of a source.
 * @param name name of the reader, for messages
 * @param read reads the rows once
 */
export function fileRows(
  source: unknown,
  name: string,
  options: FileReadOptions,
  read: (types: ObjectTypes) => AsyncIterable<RecordBatch>,
): FileRows {
  const schema = options.schema === undefined ? undefined : requireSchema(options.schema, name);
  const isStream = typeof source === "object" && bytesInMemory(source) === null;
  const canRepeat = !isStream || tagOf(source) === "URL" || isWebBlob(source) || Array.isArray(source);
  let isUsed = false;
  const open = (types: ObjectTypes): AsyncIterator<RecordBatch> => {
    if (isUsed && !canRepeat) throw new InvalidInputError(`${name}: a stream can be read only once`);
    isUsed = true;
    return read(schema === undefined ? types : { schema })[Symbol.asyncIterator]();
  };
  const rows: FittableRows = {
    [Symbol.asyncIterator]: () => open({}),
    [FIT_ROWS]: (types) => ({ [Symbol.asyncIterator]: () => open(types) }),
  };
  return rows;
}

function requireSchema(schema: unknown, name: string): Schema {
  if (Array.isArray((schema as Schema | null)?.fields)) return adoptSchema(schema as ForeignSchema);
  throw new InvalidInputError(`${name}.schema: must be an Arrow schema, not ${shortly(schema)}`);
}

/** Returns a batch without rows, which tells the schema. */
export const emptyBatch = (schema: Schema): RecordBatch =>
  makeBatch(
    schema,
    schema.fields.map(({ type, name }) => nullColumn(layoutOf(type, name), 0)),
    0,
  );
