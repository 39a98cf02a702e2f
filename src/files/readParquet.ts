/** Reads Parquet. */

import { type Field, type RecordBatch, Schema } from "apache-arrow";
import {
  type DecodedArray,
  type FileMetaData,
  parquetMetadataAsync,
  parquetScan,
  parquetSchema,
  type RowGroup,
  type SchemaTree,
} from "hyparquet";
import type { Column } from "../arrow/columns/column.js";
import { nullColumn } from "../arrow/columns/nullColumn.js";
import { makeBatch } from "../arrow/exchange/batch.js";
import { readIpc } from "../arrow/exchange/ipc.js";
import type { ObjectTypes } from "../arrow/objects/objectBatches.js";
import { layoutOf } from "../arrow/types/layouts.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import { decodeBase64 } from "../bytes/base64.js";
import { InvalidInputError, messageOf, NamespaceError, TableSchemaValidationError } from "../errors.js";
import { checkOptionMembers } from "../optionMembers.js";
import type { FileSource } from "./byteSource.js";
import { firstRepeated, positiveOption } from "./fileOptions.js";
import { emptyBatch, type FileReadOptions, type FileRows, fileRows } from "./fileRows.js";
import { compressors } from "./parquetCodecs.js";
import { DecodedQueue, ParquetColumn } from "./parquetColumn.js";
import { checkedColumn, type PageRun } from "./parquetPages.js";
import { openRanges, type RangeFile } from "./parquetSource.js";
import { arrowFieldOf } from "./parquetTypes.js";
import { completeMetadata, physicalMetadata } from "./parquetValues.js";

/** Options of {@link readParquet}. */
export interface ReadParquetOptions extends FileReadOptions {
  /** Names of the columns to read. Default: all. */
  readonly columns?: readonly string[] | undefined;
  /** Maximum rows of a batch. Default: 8192. */
  readonly batchRows?: number | undefined;
  /**
   * Maximum bytes of a stream. Its end is read first, so memory holds a stream as a whole. A path is read by
   * ranges. Default: 268,435,456.
   */
  readonly maxStreamBytes?: number | undefined;
}

const NAME = "readParquet";
const OPTIONS = ["schema", "signal", "columns", "batchRows", "maxStreamBytes"];
const BATCH_ROWS = 8192;
const MAX_STREAM_BYTES = 2 ** 28;
/** Maximum rows of a row group, which bounds the memory that a hostile file takes. */
const MAX_GROUP_ROWS = 2 ** 26;
/** Key of the Arrow schema that writers of Arrow add. */
const ARROW_SCHEMA = "ARROW:schema";

/**
 * Reads a Parquet file. A path is read by ranges, one row group at a time: memory holds the columns of a
 * row group. A few pages are decoded in one step.
 *
 * Files of Arrow's writers keep their Arrow types. A table's columns decide the types of what is written to
 * it.
 *
 * @example
 * await ns.table("trips").create(readParquet("trips.parquet", { columns: ["id", "fare"] }));
 * @throws InvalidInputError for a file that is not Parquet, or damaged
 * @throws UnsupportedError naming the column, for a type that is not read
 * @throws TableSchemaValidationError naming row and column, for a value that does not fit
 */
export function readParquet(source: FileSource, options: ReadParquetOptions = {}): FileRows {
  checkOptionMembers(NAME, options, OPTIONS);
  const batchRows = positiveOption(`${NAME}.batchRows`, options.batchRows, BATCH_ROWS);
  const maxBytes = positiveOption(`${NAME}.maxStreamBytes`, options.maxStreamBytes, MAX_STREAM_BYTES);
  const { columns, signal } = options;
  if (columns !== undefined && !(Array.isArray(columns) && columns.length > 0)) {
    throw new InvalidInputError(`${NAME}.columns: must be a list of names`);
  }
  return fileRows(source, NAME, options, async function* (types) {
    const file = await openRanges(source, NAME, maxBytes, signal);
    try {
      const reading = await openParquet(file, columns);
      yield* batchesOf(reading, await targetOf(reading, types), batchRows, signal);
    } finally {
      await file.close();
    }
  });
}

/** An open file. */
interface Reading {
  readonly file: RangeFile;
  readonly metadata: FileMetaData;
  readonly nodes: readonly SchemaTree[];
  /** Fields of the nodes, and those that the writer recorded. */
  readonly fields: readonly Field[];
  readonly recorded: readonly Field[];
}

async function openParquet(file: RangeFile, columns: readonly string[] | undefined): Promise<Reading> {
  const metadata = await typed(async () => {
    if (file.byteLength < 12) throw new Error("the file is too short for Parquet");
    return completeMetadata(await parquetMetadataAsync(file, { geoparquet: false }));
  });
  const all = await typed(async () => parquetSchema(metadata).children);
  const names = all.map(({ element }) => element.name);
  const unknown = columns?.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new InvalidInputError(
      `${NAME}.columns: the file has no column ${unknown}, only ${names.join(", ")}`,
    );
  }
  const repeated = firstRepeated(names);
  if (repeated !== undefined) throw new InvalidInputError(`${NAME}: two columns are named ${repeated}`);
  const nodes = columns === undefined ? all : columns.map((name) => all[names.indexOf(name)]);
  const fields = nodes.map(arrowFieldOf);
  const ofWriter = recordedFields(metadata);
  return {
    file,
    metadata,
    nodes,
    fields,
    recorded: fields.map((field) => ofWriter.get(field.name) ?? field),
  };
}

/** Returns the fields of the Arrow schema in the metadata, as far as they can be read. */
function recordedFields({ key_value_metadata: entries = [] }: FileMetaData): ReadonlyMap<string, Field> {
  const bytes = decodeBase64(entries.find(({ key }) => key === ARROW_SCHEMA)?.value ?? "");
  const fields = new Map<string, Field>();
  try {
    if (bytes === null || bytes.byteLength === 0) return fields;
    for (const field of readIpc(bytes).schema.fields) {
      layoutOf(field.type, field.name);
      fields.set(field.name, field);
    }
  } catch {
    // The file has types of its own.
  }
  return fields;
}

/** Returns the columns of the batches. */
async function targetOf({ fields, recorded }: Reading, types: ObjectTypes): Promise<Schema> {
  const ofTable = types.schema === undefined ? ((await types.tableSchema?.()) ?? null) : null;
  const target = types.schema ?? ofTable;
  if (target === null) return new Schema([...recorded]);
  const names = new Set(target.fields.map(({ name }) => name));
  const unknown = fields.find(({ name }) => !names.has(name));
  if (unknown !== undefined) {
    throw new TableSchemaValidationError(
      `${NAME}: there is no column ${unknown.name}; the columns are ${[...names].join(", ")}`,
    );
  }
  if (ofTable === null) return target;
  const ofFile = new Set(fields.map(({ name }) => name));
  return new Schema(
    target.fields.filter(({ name }) => ofFile.has(name)),
    target.metadata,
  );
}

async function* batchesOf(
  reading: Reading,
  schema: Schema,
  batchRows: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<RecordBatch> {
  let firstRow = 0;
  for (const group of reading.metadata.row_groups) {
    signal?.throwIfAborted();
    const rowCount = Number(group.num_rows);
    if (!(rowCount >= 0 && rowCount <= MAX_GROUP_ROWS)) {
      throw new InvalidInputError(
        `${NAME}: a row group has ${rowCount} rows, but at most ${MAX_GROUP_ROWS} are read`,
      );
    }
    const sizes = sizesOf(rowCount, batchRows);
    const columns: Column[][] = [];
    for (const field of schema.fields) columns.push(await readColumn(reading, field, group, firstRow, sizes));
    for (const [index, size] of sizes.entries()) {
      signal?.throwIfAborted();
      yield makeBatch(
        schema,
        columns.map((pieces) => pieces[index]),
        size,
      );
    }
    firstRow += rowCount;
  }
  if (firstRow === 0) yield emptyBatch(schema);
}

function sizesOf(rowCount: number, batchRows: number): number[] {
  const count = Math.ceil(rowCount / batchRows);
  return Array.from({ length: count }, (_, index) => Math.min(batchRows, rowCount - index * batchRows));
}

/** Returns a column of a row group, batch by batch. */
async function readColumn(
  { file, metadata, nodes, fields }: Reading,
  target: Field,
  group: RowGroup,
  firstRow: number,
  sizes: readonly number[],
): Promise<Column[]> {
  const index = fields.findIndex(({ name }) => name === target.name);
  if (index < 0) return sizes.map((size) => nullColumn(layoutOf(target.type, target.name), size));
  const column = new ParquetColumn(nodes[index], fields[index], target);
  const values = new DecodedQueue();
  const pieces: Column[] = [];
  let row = firstRow;
  for (const part of await typed(() => checkedColumn(file, group, nodes[index]))) {
    await yieldToEventLoop();
    const decoded = await typed(() => decodePart(metadata, part, fields[index].name));
    if (decoded.length !== part.rowCount) {
      throw new InvalidInputError(
        `${NAME}: column ${target.name} has ${decoded.length} values in pages of ${part.rowCount} rows`,
      );
    }
    values.add(decoded);
    while (pieces.length < sizes.length && values.count >= sizes[pieces.length]) {
      await yieldToEventLoop();
      const piece = values.take(sizes[pieces.length]);
      pieces.push(await typed(async () => column.encode(piece, row)));
      row += piece.length;
    }
  }
  return pieces;
}

/** Decodes some pages of a column, as a file that has only these. */
async function decodePart(
  metadata: FileMetaData,
  { file, group, rowCount }: PageRun,
  name: string,
): Promise<DecodedArray> {
  const range = { rowStart: 0, rowEnd: rowCount };
  const scan = await parquetScan({
    ...range,
    file,
    metadata: physicalMetadata({ ...metadata, num_rows: BigInt(rowCount), row_groups: [group] }),
    columns: [name],
    compressors,
    parsers: PARSERS,
    utf8: false,
    useOffsetIndex: false,
    geoparquet: false,
  });
  return scan.readColumn({ ...range, column: name });
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const same = <Value>(value: Value): Value => value;

/** Values stay as they are stored, and texts are checked. */
const PARSERS = {
  timestampFromNanoseconds: same,
  stringFromBytes: (bytes: Uint8Array | undefined) => bytes && decoder.decode(bytes),
};

/** Runs a step whose failures mean that the file is wrong. */
async function typed<Result>(step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof NamespaceError) throw error;
    throw new InvalidInputError(`${NAME}: the file is not Parquet, or damaged: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
