/** Columns of index files: their types, and values in memory as columns and back. */

import type { Column, FixedColumn, ListColumn, VariableColumn } from "../arrow/columns/column.js";
import type { LogicalType } from "../arrow/types/type.js";
import { alignedBytes } from "../bytes/aligned.js";
import { CorruptFileError, InternalError } from "../errors.js";

/** A column of an index file, without nulls by default. */
export interface FileColumnType {
  readonly name: string;
  readonly type: LogicalType;
  readonly nullable?: boolean;
  /** Type of the items, which are nullable, if the column holds lists. */
  readonly item?: LogicalType;
  /** Name in files of older releases; the reader accepts both. */
  readonly legacyName?: string;
  /** True if files may lack the column. */
  readonly isOptional?: boolean;
}

export const UINT32: LogicalType = { kind: "int", bits: 32, signed: false };
export const UINT64_TYPE: LogicalType = { kind: "int", bits: 64, signed: false };
export const BINARY_TYPE: LogicalType = { kind: "binary", large: false };
export const LARGE_BINARY_TYPE: LogicalType = { kind: "binary", large: true };
export const TEXT_TYPE: LogicalType = { kind: "string", large: false };
export const FLOAT32_TYPE: LogicalType = { kind: "float", bits: 32 };
export const LIST_TYPE: LogicalType = { kind: "list", large: false, ofStructs: false };
export const BOOL_TYPE: LogicalType = { kind: "bool" };

/** Wraps values of `byteWidth` bytes as a column. */
export function fixedWidthColumn(memory: ArrayBufferView, byteWidth: number): FixedColumn {
  const values = new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength);
  return { kind: "fixed", length: values.length / byteWidth, validity: null, byteWidth, values };
}

/** Wraps integers of 4 bytes as a column. */
export const uint32Column = (words: Uint32Array): FixedColumn => fixedWidthColumn(words, 4);

/** Wraps integers of 8 bytes as a column. @param words pairs: low, high */
export const uint64Column = (words: Uint32Array): FixedColumn => fixedWidthColumn(words, 8);

/** Wraps lists as a column. @param offsets first item of each list, then the number of items */
export const listColumn = (offsets: Int32Array, items: Column): ListColumn => ({
  kind: "list",
  length: offsets.length - 1,
  validity: null,
  offsets,
  items,
});

/** Joins byte strings into a column. */
export function binaryColumn(values: readonly Uint8Array[]): VariableColumn {
  const offsets = new Int32Array(values.length + 1);
  for (const [row, value] of values.entries()) offsets[row + 1] = offsets[row] + value.length;
  const bytes = new Uint8Array(offsets[values.length]);
  for (const [row, value] of values.entries()) bytes.set(value, offsets[row]);
  return { kind: "variable", length: values.length, validity: null, offsets, bytes };
}

/** Returns the values of a binary column. */
export function byteValues(column: Column, start = 0, end = column.length): Uint8Array[] {
  if (column.kind === "null" && column.length === 0) return [];
  if (column.kind !== "variable")
    throw new InternalError(`a column of kind ${column.kind} cannot hold bytes`);
  const { offsets, bytes } = column;
  return Array.from({ length: end - start }, (_, index) =>
    bytes.subarray(Number(offsets[start + index]), Number(offsets[start + index + 1])),
  );
}

/** Returns integers of 4 bytes as words, those of 8 bytes as pairs. @throws CorruptFileError for nulls */
export function integerWords(column: Column, path: string): Uint32Array {
  if (column.kind !== "fixed")
    throw new CorruptFileError(path, 0, `a column of kind ${column.kind} holds integers`);
  if (column.validity !== null) throw new CorruptFileError(path, 0, "a column of integers holds nulls");
  const { buffer, byteOffset } = alignedBytes(column.values, 4);
  return new Uint32Array(buffer, byteOffset, (column.length * column.byteWidth) / 4);
}
