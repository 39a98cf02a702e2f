/** Writes Parquet. */

import { Schema } from "apache-arrow";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { Column } from "../arrow/columns/column.js";
import { valueBytes } from "../arrow/columns/columnBytes.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import type { InputBatch } from "../arrow/exchange/input.js";
import { ipcBytes } from "../arrow/exchange/ipcOutput.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import { encodeBase64 } from "../bytes/base64.js";
import { InvalidInputError, messageOf, NamespaceError } from "../errors.js";
import { checkOptionMembers } from "../optionMembers.js";
import { type ByteSink, type FileTarget, writeTo } from "./byteSink.js";
import { choiceOption, positiveOption } from "./fileOptions.js";
import { flatColumn } from "./parquetFlat.js";
import { type GroupColumn, writeRowGroup } from "./parquetGroup.js";
import { elementsOf } from "./parquetTypes.js";
import { parquetValues } from "./parquetValues.js";
import { type FileWriteResult, openRows, type RowsToWrite } from "./rowsToWrite.js";
import type { FileWriteOptions } from "./writeJsonLines.js";

/** Options of {@link writeParquet}. */
export interface WriteParquetOptions extends FileWriteOptions {
  /** Rows of a row group. Large rows make smaller groups. Default: 65,536. */
  readonly rowGroupRows?: number | undefined;
  /** Compression of pages. Default: `"snappy"`. */
  readonly compression?: "snappy" | "none" | undefined;
}

const NAME = "writeParquet";
const OPTIONS = ["schema", "signal", "rowGroupRows", "compression"];
const ROW_GROUP_ROWS = 65_536;
/** Maximum rows, and approximate bytes, of the pieces of which row groups are made. */
const PIECE_ROWS = 8192;
const PIECE_BYTES = 2 ** 20;
/** Bytes of columns that make a row group, whatever the number of its rows. */
const ROW_GROUP_BYTES = 2 ** 26;

/**
 * Writes rows as Parquet. The file records the Arrow schema, so that `readParquet` and Arrow's readers get
 * the same types. Memory holds one row group. Columns of a row group are encoded in short steps.
 *
 * @example
 * await writeParquet(table.scan(), "trips.parquet");
 * @returns the number of rows and bytes
 * @throws UnsupportedError naming column and type, for a type that Parquet lacks
 */
export async function writeParquet(
  rows: RowsToWrite,
  target: FileTarget,
  options: WriteParquetOptions = {},
): Promise<FileWriteResult> {
  checkOptionMembers(NAME, options, OPTIONS);
  const groupRows = positiveOption(`${NAME}.rowGroupRows`, options.rowGroupRows, ROW_GROUP_ROWS);
  const compression = choiceOption(`${NAME}.compression`, options.compression, ["snappy", "none"] as const);
  const { schema, signal } = options;
  const input = await openRows(rows, signal, schema);
  try {
    const columns = input.schema.fields.flatMap((field) => elementsOf(field, field.name));
    const root = { name: "schema", num_children: input.schema.fields.length };
    const recorded = encodeBase64(await ipcBytes(new Schema(input.schema.fields), noBatches()));
    return await writeTo(target, NAME, signal, async (sink) => {
      const writer = new SinkWriter(sink);
      const parquet = new ParquetWriter({
        writer,
        schema: [root, ...columns],
        codec: compression === "snappy" ? "SNAPPY" : "UNCOMPRESSED",
        kvMetadata: [{ key: "ARROW:schema", value: recorded }],
        createdBy: "tiltyard",
      });
      let rowCount = 0;
      for await (const group of groupsOf(input.batches, groupRows)) {
        signal?.throwIfAborted();
        await yieldToEventLoop();
        await written(() => writeRowGroup(parquet, groupColumns(input.schema, group), group.rowCount));
        rowCount += group.rowCount;
      }
      await written(() => parquet.finish());
      return { rowCount, byteCount: writer.offset };
    });
  } finally {
    await input.close();
  }
}

async function* noBatches() {}

/** Failures of the package mean values or types that Parquet lacks. */
async function written(step: () => void | Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (error instanceof NamespaceError || !/^parquet|out of range/.test(messageOf(error))) throw error;
    throw new InvalidInputError(`${NAME}: ${messageOf(error)}`, { cause: error });
  }
}

/** Rows of a row group. */
interface RowGroup {
  readonly rowCount: number;
  /** Batches of each piece: small batches share one. */
  readonly pieces: readonly (readonly InputBatch[])[];
}

/** Yields rows in groups, made of pieces of batches. */
async function* groupsOf(batches: AsyncIterable<InputBatch>, groupRows: number): AsyncGenerator<RowGroup> {
  let pieces: InputBatch[][] = [];
  let groupCount = 0;
  let bytes = 0;
  let lastPiece = { rowCount: 0, bytes: 0 };
  for await (const { columns, rowCount } of batches) {
    const pieceRows = Math.max(1, Math.floor((PIECE_BYTES * rowCount) / Math.max(1, valueBytes(columns))));
    for (let start = 0; start < rowCount; ) {
      const count = Math.min(PIECE_ROWS, pieceRows, groupRows - groupCount, rowCount - start);
      const batch = { rowCount: count, columns: columns.map((column) => sliceColumn(column, start, count)) };
      const batchBytes = valueBytes(batch.columns);
      start += count;
      groupCount += count;
      bytes += batchBytes;
      lastPiece = { rowCount: lastPiece.rowCount + count, bytes: lastPiece.bytes + batchBytes };
      const fits = pieces.length > 0 && lastPiece.rowCount <= PIECE_ROWS && lastPiece.bytes <= PIECE_BYTES;
      if (fits) pieces[pieces.length - 1].push(batch);
      else {
        pieces.push([batch]);
        lastPiece = { rowCount: count, bytes: batchBytes };
      }
      if (groupCount < groupRows && bytes < ROW_GROUP_BYTES) continue;
      yield { rowCount: groupCount, pieces };
      pieces = [];
      groupCount = bytes = 0;
    }
  }
  if (groupCount > 0) yield { rowCount: groupCount, pieces };
}

/** Returns columns whose values are made when the writer asks for them: those of one column at a time. */
const groupColumns = ({ fields }: Schema, { pieces }: RowGroup): GroupColumn[] =>
  fields.map(({ name, type }, index) => ({
    name,
    flat: () => flatColumn(partsOf(pieces, index), type),
    byteLength: valueBytes(partsOf(pieces, index)),
    pieceCount: pieces.length,
    piece: (piece) =>
      pieces[piece].flatMap(({ columns }) => parquetValues(columns[index] as Column, type, name)),
  }));

const partsOf = (pieces: RowGroup["pieces"], index: number): Column[] =>
  pieces.flatMap((batches) => batches.map(({ columns }) => columns[index] as Column));

/** The bytes of a file, which go to a sink after each row group. */
class SinkWriter extends ByteWriter {
  readonly #sink: ByteSink;

  constructor(sink: ByteSink) {
    super(2 ** 20);
    this.#sink = sink;
  }

  async flush(): Promise<void> {
    const bytes = this.getBytes().slice();
    this.index = 0;
    await this.#sink.write(bytes);
  }

  override finish(): Promise<void> {
    return this.flush();
  }
}
