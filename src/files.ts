/**
 * Rows from files and to files: CSV, JSON lines and Parquet.
 *
 * @module tiltyard/files
 */

export type { FileTarget, NodeWritable } from "./files/byteSink.js";
export type { FileSource } from "./files/byteSource.js";
export type { CsvFormat } from "./files/csvOptions.js";
export type { FileReadOptions, FileRows } from "./files/fileRows.js";
export { type ReadCsvOptions, readCsv } from "./files/readCsv.js";
export { type ReadJsonLinesOptions, readJsonLines } from "./files/readJsonLines.js";
export { type ReadParquetOptions, readParquet } from "./files/readParquet.js";
export type { FileWriteResult, RowsToWrite } from "./files/rowsToWrite.js";
export { type WriteCsvOptions, writeCsv } from "./files/writeCsv.js";
export { type FileWriteOptions, type WriteJsonLinesOptions, writeJsonLines } from "./files/writeJsonLines.js";
export { type WriteParquetOptions, writeParquet } from "./files/writeParquet.js";
