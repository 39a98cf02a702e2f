/**
 * Encodes the columns of a row group in short steps. Those without nesting are encoded from their bytes
 * (parquetChunk.ts). hyparquet-writer encodes others in one step, with a dictionary if values repeat. Large
 * columns and floats seldom have repeated values: they are encoded piece by piece, without a dictionary, as
 * the pages of one column.
 */

import type { ColumnChunk, SchemaTree, Statistics } from "hyparquet";
import type { ParquetWriter } from "hyparquet-writer";
import { writeColumn } from "hyparquet-writer/src/column.js";
import { encodeNestedValues } from "hyparquet-writer/src/dremel.js";
import { schemaPathResolver } from "hyparquet-writer/src/schema.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import { writeFlatChunk } from "./parquetChunk.js";
import type { FlatColumn } from "./parquetFlat.js";

/** Bytes of a page. */
const PAGE_BYTES = 2 ** 18;
/** Bytes from which on a column is encoded piece by piece, whatever its type. */
const LARGE_BYTES = 2 ** 22;

/** A column of a row group in pieces. */
export interface GroupColumn {
  readonly name: string;
  /** Returns the column in physical form; null if its type has none. */
  flat(): Promise<FlatColumn | null>;
  readonly byteLength: number;
  readonly pieceCount: number;
  /** Makes the values of a piece. */
  piece(index: number): readonly unknown[];
}

/** Appends a row group to a file. */
export async function writeRowGroup(
  parquet: ParquetWriter,
  columns: readonly GroupColumn[],
  rowCount: number,
): Promise<void> {
  const { writer } = parquet;
  const pathOf = schemaPathResolver(parquet.schema);
  const start = writer.offset;
  const chunks: ColumnChunk[] = [];
  for (const column of columns) {
    const flat = await column.flat();
    if (flat !== null) {
      const path = pathOf([column.name]).map(({ element }) => element);
      const chunk = await writeFlatChunk(parquet, path, flat);
      chunks.push(chunk);
      parquet.pendingIndexes.push({ chunk });
      continue;
    }
    const values = new Array<readonly unknown[] | undefined>(column.pieceCount);
    for (const path of leavesBelow(pathOf([column.name]))) {
      const parts: ColumnChunk[] = [];
      const isPieced = column.byteLength >= LARGE_BYTES || isFloat(path);
      for (let index = 0; index < column.pieceCount; index++) {
        await yieldToEventLoop();
        values[index] ??= column.piece(index);
        if (isPieced) parts.push(encodeValues(parquet, path, values[index] ?? [], column.pieceCount > 1));
      }
      const all = isPieced ? [] : values.flatMap((piece) => piece ?? []);
      if (!isPieced) parts.push(encodeValues(parquet, path, all, false));
      const chunk = joinedChunk(parts);
      chunks.push(chunk);
      parquet.pendingIndexes.push({ chunk });
    }
  }
  parquet.row_groups.push({
    columns: chunks,
    num_rows: BigInt(rowCount),
    total_byte_size: sumOf(chunks, ({ meta_data: data }) => data?.total_uncompressed_size),
    total_compressed_size: BigInt(writer.offset - start),
  });
  parquet.num_rows += BigInt(rowCount);
  await writer.flush?.();
}

/** Returns the paths of the leaves below a node, each from the root on. */
function leavesBelow(path: SchemaTree[]): SchemaTree[][] {
  const { children } = path[path.length - 1];
  return children.length === 0 ? [path] : children.flatMap((child) => leavesBelow([...path, child]));
}

function isFloat(path: readonly SchemaTree[]): boolean {
  const { type } = path[path.length - 1].element;
  return type === "FLOAT" || type === "DOUBLE";
}

function encodeValues(
  { writer, codec, compressors, statistics }: ParquetWriter,
  path: SchemaTree[],
  rows: readonly unknown[],
  isPlain: boolean,
): ColumnChunk {
  const schemaPath = path.map(({ element }) => element);
  const column = {
    columnName: schemaPath
      .slice(1)
      .map(({ name }) => name)
      .join("."),
    element: schemaPath[schemaPath.length - 1],
    schemaPath,
    codec,
    compressors,
    stats: statistics,
    pageSize: PAGE_BYTES,
    columnIndex: false,
    offsetIndex: false,
    ...(isPlain && { encoding: "PLAIN" as const }),
  };
  return writeColumn({ writer, column, pageData: encodeNestedValues(path, rows as unknown[]) }).chunk;
}

/** Joins the pages of pieces, which follow each other. */
function joinedChunk(parts: readonly ColumnChunk[]): ColumnChunk {
  const [first] = parts;
  const all = parts.flatMap(({ meta_data: data }) => data ?? []);
  if (all.length === 1 || first.meta_data === undefined) return first;
  const counts = all.flatMap(({ encoding_stats: stats = [] }) => stats);
  return {
    ...first,
    meta_data: {
      ...first.meta_data,
      num_values: sumOf(all, (data) => data.num_values),
      total_compressed_size: sumOf(all, (data) => data.total_compressed_size),
      total_uncompressed_size: sumOf(all, (data) => data.total_uncompressed_size),
      encodings: [...new Set(all.flatMap(({ encodings }) => encodings))],
      encoding_stats: [...new Set(counts.map(({ encoding }) => encoding))].map((encoding) => ({
        page_type: "DATA_PAGE_V2" as const,
        encoding,
        count: counts.reduce((sum, each) => sum + (each.encoding === encoding ? each.count : 0), 0),
      })),
      statistics: joinedStatistics(all.flatMap(({ statistics }) => statistics ?? [])),
    },
  };
}

const sumOf = <Item>(items: readonly Item[], count: (item: Item) => bigint | undefined): bigint =>
  items.reduce((sum, item) => sum + (count(item) ?? 0n), 0n);

/** Joins counts of nulls, and bounds of numbers. */
function joinedStatistics(all: readonly Statistics[]): Statistics {
  const nulls = { null_count: sumOf(all, ({ null_count: count }) => count) };
  const least = all.flatMap(({ min_value: value }) => (typeof value === "number" ? value : []));
  const greatest = all.flatMap(({ max_value: value }) => (typeof value === "number" ? value : []));
  if (least.length === 0 || least.length !== greatest.length) return nulls;
  const hasOther = all.some(({ min_value: value }) => value !== undefined && typeof value !== "number");
  return hasOther ? nulls : { ...nulls, min_value: Math.min(...least), max_value: Math.max(...greatest) };
}
