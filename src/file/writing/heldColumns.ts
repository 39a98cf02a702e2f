/**
 * Cuts columns down to the memory that they need: rows that wait to be written keep no more of it alive, and
 * no more of it goes to another thread.
 */

import type { Column, DictionaryColumn, ListColumn, VariableColumn } from "../../arrow/columns/column.js";
import { columnBytes, itemsWithin } from "../../arrow/columns/columnBytes.js";
import { areNarrow } from "../../arrow/columns/offsets.js";

/** Memory of the objects around a batch's rows; it matters for batches of few rows. */
const PART_OVERHEAD_BYTES = 512;

/** Returns a column to keep, and an upper bound of the memory that it keeps alive. */
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
 * Returns the column with views of just its values, and with offsets from 0 on.
 * @param hold replaces such a view. Default: the view stays. If given, offsets are copied
 * @param note called for each column in it that has offsets, and for each with a dictionary
 */
export function trimmedColumn(
  column: Column,
  hold?: (bytes: Uint8Array) => Uint8Array,
  note: (source: VariableColumn | ListColumn | DictionaryColumn) => void = () => undefined,
): Column {
  const held = hold ?? ((bytes) => bytes);
  const offsetsOf = hold === undefined ? offsetsFromZero : copiedOffsets;
  const visit = <C extends Column>(source: C): C => {
    const { length } = source;
    const bitsOf = (bytes: Uint8Array, bitOffset: number) =>
      held(bytes.subarray(0, (bitOffset + length + 7) >>> 3));
    const validity = source.validity && {
      ...source.validity,
      bytes: bitsOf(source.validity.bytes, source.validity.bitOffset),
    };
    switch (source.kind) {
      case "fixed":
        return { ...source, validity, values: held(source.values) };
      case "bits":
        return { ...source, validity, bits: bitsOf(source.bits, source.bitOffset) };
      case "variable": {
        note(source);
        const { offsets } = source;
        const bytes = held(source.bytes.subarray(Number(offsets[0]), Number(offsets[length])));
        return { ...source, validity, offsets: offsetsOf(source), bytes };
      }
      case "fixedSizeList":
      case "sizedList":
        return { ...source, validity, items: visit<Column>(source.items) };
      case "dictionary":
        note(source);
        // The dictionary is not copied: all batches share it, and it is compared with the next batch's.
        return { ...source, validity, indices: visit(source.indices) };
      case "null":
        return source;
      case "list":
        note(source);
        return { ...source, validity, offsets: offsetsOf(source), items: visit(itemsWithin(source)) };
      case "struct":
      case "packedStruct":
        return { ...source, validity, children: (source.children as readonly Column[]).map(visit) };
    }
  };
  return visit(column);
}

/** Returns a column's offsets relative to the first; a view if the first is 0. */
const offsetsFromZero = (column: VariableColumn | ListColumn): Int32Array | BigInt64Array =>
  Number(column.offsets[0]) === 0 ? column.offsets.subarray(0, column.length + 1) : copiedOffsets(column);

/** Returns a copy of a column's offsets, relative to the first. */
function copiedOffsets(column: VariableColumn | ListColumn): Int32Array | BigInt64Array {
  const offsets = column.offsets.slice(0, column.length + 1);
  const first = Number(offsets[0]);
  if (first === 0) return offsets;
  if (areNarrow(offsets)) for (let index = 0; index < offsets.length; index++) offsets[index] -= first;
  else for (let index = 0; index < offsets.length; index++) offsets[index] -= BigInt(first);
  return offsets;
}
