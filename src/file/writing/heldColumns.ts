/**
 * The memory that columns need: rows that wait to be written must not keep more of it alive, and no more of it goes to
 * another thread.
 */

import type { Column, DictionaryColumn, ListColumn, VariableColumn } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";

/** Memory of the objects around a batch's rows; matters where batches have few rows. */
const PART_OVERHEAD_BYTES = 512;

/** Bytes of a column's values and offsets, without its dictionary. */
export function columnBytes(column: Column): number {
  const validity = column.validity === null ? 0 : column.length >>> 3;
  switch (column.kind) {
    case "fixed":
      return validity + column.length * column.byteWidth;
    case "bits":
      return validity + (column.length >>> 3);
    case "variable":
      return validity + column.length * column.offsets.BYTES_PER_ELEMENT + spanOf(column, 0, column.length);
    case "fixedSizeList":
    case "sizedList":
      return validity + columnBytes(column.items);
    case "dictionary":
      return validity + columnBytes(column.indices);
    case "list":
      return validity + column.length * column.offsets.BYTES_PER_ELEMENT + columnBytes(itemsWithin(column));
    case "struct":
    case "packedStruct":
      return (column.children as readonly Column[]).reduce(
        (sum, child) => sum + columnBytes(child),
        validity,
      );
    case "null":
      return 0;
  }
}

export const spanOf = (column: VariableColumn, start: number, end: number): number =>
  Number(column.offsets[end]) - Number(column.offsets[start]);

/** The same of several columns. */
export const valueBytes = (columns: readonly Column[]): number =>
  columns.reduce((sum, column) => sum + columnBytes(column), 0);

/** The items of the lists from `start` to `end`. */
export function itemsWithin({ offsets, items, length }: ListColumn, start = 0, end = length): Column {
  const first = Number(offsets[start]);
  return sliceColumn(items, first, Number(offsets[end]) - first);
}

/** A column to keep, and an upper bound of the memory it keeps alive. */
export function holdColumn(column: Column): { column: Column; byteCount: number } {
  let byteCount = PART_OVERHEAD_BYTES;
  const hold = (bytes: Uint8Array): Uint8Array => {
    if (bytes.length >= bytes.buffer.byteLength / 2) {
      byteCount += bytes.buffer.byteLength;
      return bytes;
    }
    byteCount += bytes.length;
    return bytes.slice();
  };
  const trimmed = trimmedColumn(column, hold, (source) => {
    byteCount +=
      source.kind === "dictionary"
        ? columnBytes(source.dictionary)
        : (source.length + 1) * source.offsets.BYTES_PER_ELEMENT;
  });
  return { column: trimmed, byteCount };
}

/**
 * A column that reaches no further than its rows: views of its values, and offsets from 0 on.
 * @param hold makes views of what is to be kept of them
 * @param note called for each column in it whose offsets are copied, and for each with a dictionary
 */
export function trimmedColumn(
  column: Column,
  hold: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes,
  note: (source: VariableColumn | ListColumn | DictionaryColumn) => void = () => undefined,
): Column {
  const visit = <C extends Column>(source: C): C => {
    const validity =
      source.validity === null
        ? null
        : {
            ...source.validity,
            bytes: hold(
              source.validity.bytes.subarray(0, (source.validity.bitOffset + source.length + 7) >>> 3),
            ),
          };
    switch (source.kind) {
      case "fixed":
        return { ...source, validity, values: hold(source.values) };
      case "bits":
        return {
          ...source,
          validity,
          bits: hold(source.bits.subarray(0, (source.bitOffset + source.length + 7) >>> 3)),
        };
      case "variable":
        note(source);
        return { ...source, validity, ...holdVariable(source, hold) };
      case "fixedSizeList":
      case "sizedList":
        return { ...source, validity, items: visit<Column>(source.items) };
      case "dictionary":
        note(source);
        // The dictionary itself is not copied: it is compared with the next batch's and shared by all its batches.
        return { ...source, validity, indices: visit(source.indices) };
      case "null":
        return source;
      case "list": {
        note(source);
        const offsets = offsetsFrom(source, Number(source.offsets[0]));
        return { ...source, validity, offsets, items: visit(itemsWithin(source)) };
      }
      case "struct":
      case "packedStruct":
        return { ...source, validity, children: (source.children as readonly Column[]).map(visit) };
    }
  };
  return visit(column);
}

function holdVariable(
  column: VariableColumn,
  hold: (bytes: Uint8Array) => Uint8Array,
): Pick<VariableColumn, "offsets" | "bytes"> {
  const first = Number(column.offsets[0]);
  const kept = hold(column.bytes.subarray(first, Number(column.offsets[column.length])));
  return { offsets: offsetsFrom(column, first), bytes: kept };
}

/** A copy of a column's offsets, counted from `first`. */
function offsetsFrom(column: VariableColumn | ListColumn, first: number): Int32Array | BigInt64Array {
  const offsets = column.offsets.slice(0, column.length + 1);
  if (first === 0) return offsets;
  if (areNarrow(offsets)) for (let index = 0; index < offsets.length; index++) offsets[index] -= first;
  else for (let index = 0; index < offsets.length; index++) offsets[index] -= BigInt(first);
  return offsets;
}
