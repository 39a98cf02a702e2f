/**
 * Writes a column without nesting to a row group: a dictionary page if values repeat, and pages of version 2.
 *
 *     page     header (Thrift), levels of definition, values
 *     levels   one bit a row, 0 for null: a run of one value, or one packed run. None for a column of
 *              required values
 *     values   PLAIN (parquetFlat.ts), or indices of the dictionary as runs. Compressed
 */

import type { ColumnChunk, SchemaElement } from "hyparquet";
import type { ParquetWriter } from "hyparquet-writer";
import { ByteWriter } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import type { Column, FixedColumn, VariableColumn } from "../arrow/columns/column.js";
import { columnBytes } from "../arrow/columns/columnBytes.js";
import { areNarrow } from "../arrow/columns/offsets.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import { isSet, shiftBits } from "../arrow/columns/validity.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import { ValueSet } from "../bytes/valueSet.js";
import { type FlatColumn, flatStatistics, plainBytes, validCount } from "./parquetFlat.js";

/** Approximate bytes of a page, and its maximum rows. */
const PAGE_BYTES = 2 ** 18;
const PAGE_ROWS = 2 ** 16;
/** Rows that one step looks up in a dictionary. */
const STEP_ROWS = 8192;
/** Maximum entries of a dictionary. */
const MAX_ENTRIES = 2 ** 16;

/** Values of a column as indices of distinct ones. */
interface ChunkDictionary {
  readonly entries: FlatColumn;
  /** Index for each row; those of nulls mean nothing. */
  readonly indices: Uint32Array;
  readonly bitWidth: number;
}

/** Appends a column to the row group that is being written. */
export async function writeFlatChunk(
  parquet: ParquetWriter,
  path: readonly SchemaElement[],
  flat: FlatColumn,
): Promise<ColumnChunk> {
  const { writer } = parquet;
  const element = path[path.length - 1];
  const start = writer.offset;
  const dictionary = await dictionaryOf(flat);
  const isNullable = element.repetition_type !== "REQUIRED";
  let uncompressed = 0;
  if (dictionary !== null) uncompressed += writeDictionaryPage(parquet, dictionary.entries);
  const firstPage = writer.offset;
  let pageCount = 0;
  for (const { firstRow, rowCount } of pagesOf(flat.column)) {
    await yieldToEventLoop();
    const column = sliceColumn(flat.column, firstRow, rowCount);
    const values =
      dictionary === null ? plainBytes({ ...flat, column }) : indexValues(dictionary, column, firstRow);
    uncompressed += writeDataPage(parquet, column, isNullable, values, dictionary !== null);
    pageCount++;
  }
  const encoding = dictionary === null ? "PLAIN" : "RLE_DICTIONARY";
  return {
    file_offset: BigInt(start),
    meta_data: {
      type: element.type as NonNullable<SchemaElement["type"]>,
      encodings: dictionary === null ? ["PLAIN"] : ["PLAIN", "RLE_DICTIONARY"],
      path_in_schema: path.slice(1).map(({ name }) => name),
      codec: parquet.codec,
      num_values: BigInt(flat.column.length),
      total_compressed_size: BigInt(writer.offset - start),
      total_uncompressed_size: BigInt(uncompressed),
      data_page_offset: BigInt(firstPage),
      ...(dictionary !== null && { dictionary_page_offset: BigInt(start) }),
      statistics: flatStatistics(flat),
      encoding_stats: [
        ...(dictionary === null
          ? []
          : [{ page_type: "DICTIONARY_PAGE" as const, encoding: "PLAIN" as const, count: 1 }]),
        { page_type: "DATA_PAGE_V2" as const, encoding, count: pageCount },
      ],
    },
  };
}

/** Divides the rows of a column into pages. */
function* pagesOf(column: Column): Generator<{ readonly firstRow: number; readonly rowCount: number }> {
  for (let firstRow = 0; firstRow < column.length; ) {
    let rowCount = Math.min(PAGE_ROWS, column.length - firstRow);
    // Rows of one column may differ in size.
    while (rowCount > 1 && columnBytes(sliceColumn(column, firstRow, rowCount)) > PAGE_BYTES) {
      rowCount = Math.ceil(rowCount / 2);
    }
    yield { firstRow, rowCount };
    firstRow += rowCount;
  }
}

// --------------------------------------------------------------------------------------------- dictionaries

/** Returns the dictionary of a column; null unless it halves the bytes. */
async function dictionaryOf({ column, order }: FlatColumn): Promise<ChunkDictionary | null> {
  // Floats and booleans are not worth one.
  if (column.kind === "bits" || order === "float" || order === "double" || validCount(column) === 0)
    return null;
  const texts = column.kind === "fixed" ? asTexts(column) : column;
  const { offsets, bytes } = texts;
  if (!areNarrow(offsets)) return null;
  const set = new ValueSet(offsets, bytes, MAX_ENTRIES);
  const indices = new Uint32Array(column.length);
  const nulls = nullMarks(column);
  for (let start = 0; start < column.length; start += STEP_ROWS) {
    const end = Math.min(column.length, start + STEP_ROWS);
    if (!set.number(null, nulls, indices, start, end) || 2 * set.itemCount > end) return null;
    await yieldToEventLoop();
  }
  const { itemCount: length } = set;
  const entries = { kind: "variable" as const, length, validity: null, ...set.collect() };
  const bitWidth = Math.ceil(Math.log2(length));
  const entryBytes = entries.bytes.length + (column.kind === "fixed" ? 0 : 4 * length);
  const valueBytes = bytesOfValues(column);
  if (2 * (entryBytes + (validCount(column) * bitWidth) / 8) > valueBytes) return null;
  const stored: FlatColumn["column"] =
    column.kind === "fixed" ? { ...column, length, validity: null, values: entries.bytes } : entries;
  return { entries: { order, column: stored }, indices, bitWidth };
}

/** Returns numbers as texts of one length. */
function asTexts({ values, byteWidth, length, validity }: FixedColumn): VariableColumn {
  const offsets = new Int32Array(length + 1);
  for (let row = 1; row <= length; row++) offsets[row] = row * byteWidth;
  return { kind: "variable", length, validity, offsets, bytes: values };
}

/** Returns 1 for each row that is null; null if there is none. */
function nullMarks({ length, validity }: Column): Uint16Array | null {
  if (validity === null) return null;
  return Uint16Array.from({ length }, (_, row) => (isSet(validity, row) ? 0 : 1));
}

function bytesOfValues(column: FixedColumn | VariableColumn): number {
  const count = validCount(column);
  if (column.kind === "fixed") return count * column.byteWidth;
  return 4 * count + Number(column.offsets[column.length]) - Number(column.offsets[0]);
}

/** Returns the indices of some rows: the width of an index, and runs. */
function indexValues({ indices, bitWidth }: ChunkDictionary, column: Column, firstRow: number): Uint8Array {
  const { length, validity } = column;
  let dense = indices.subarray(firstRow, firstRow + length);
  if (validity !== null) dense = dense.filter((_, row) => isSet(validity, row));
  const bytes = new ByteWriter();
  bytes.appendUint8(bitWidth);
  writeRleBitPackedHybrid(bytes, dense, bitWidth);
  return bytes.getBytes();
}

// --------------------------------------------------------------------------------------------- pages

/** Writes the page of a dictionary, and returns its uncompressed bytes. */
function writeDictionaryPage({ writer, codec, compressors }: ParquetWriter, entries: FlatColumn): number {
  const plain = plainBytes(entries);
  const compressed = compressors[codec]?.(plain) ?? plain;
  const start = writer.offset;
  writePageHeader(writer, {
    type: "DICTIONARY_PAGE",
    uncompressed_page_size: plain.byteLength,
    compressed_page_size: compressed.byteLength,
    dictionary_page_header: { num_values: entries.column.length, encoding: "PLAIN" },
  });
  const headerBytes = writer.offset - start;
  writer.appendBytes(compressed);
  return headerBytes + plain.byteLength;
}

/** Writes a page of values, and returns its uncompressed bytes. */
function writeDataPage(
  { writer, codec, compressors }: ParquetWriter,
  column: Column,
  isNullable: boolean,
  values: Uint8Array,
  isIndexed: boolean,
): number {
  const compressed = compressors[codec]?.(values) ?? values;
  const levels = isNullable ? definitionLevels(column) : new Uint8Array(0);
  const start = writer.offset;
  writePageHeader(writer, {
    type: "DATA_PAGE_V2",
    uncompressed_page_size: levels.byteLength + values.byteLength,
    compressed_page_size: levels.byteLength + compressed.byteLength,
    data_page_header_v2: {
      num_values: column.length,
      num_nulls: column.length - validCount(column),
      num_rows: column.length,
      encoding: isIndexed ? "RLE_DICTIONARY" : "PLAIN",
      definition_levels_byte_length: levels.byteLength,
      repetition_levels_byte_length: 0,
      is_compressed: true,
    },
  });
  const headerBytes = writer.offset - start;
  writer.appendBytes(levels);
  writer.appendBytes(compressed);
  return headerBytes + levels.byteLength + values.byteLength;
}

/** Returns the levels of rows as a run: of the level 1, or of the bits of the validity. */
function definitionLevels({ length, validity }: Column): Uint8Array {
  const bytes = new ByteWriter(16);
  if (validity === null) {
    bytes.appendVarInt(length << 1);
    bytes.appendUint8(1);
    return bytes.getBytes();
  }
  const groupCount = (length + 7) >>> 3;
  bytes.appendVarInt((groupCount << 1) | 1);
  const bits = shiftBits(validity.bytes, validity.bitOffset, 0, length).slice(0, groupCount);
  if (length % 8 !== 0) bits[groupCount - 1] &= (1 << (length % 8)) - 1;
  bytes.appendBytes(bits);
  return bytes.getBytes();
}
