/**
 * Rows of a column that wait to become a page. They are views of the caller's memory if they fill most of it, else copies,
 * so a few bytes of a narrow column never keep a large batch alive.
 */

import type { Column, ListColumn, VariableColumn } from "../../arrow/columns/column.js";
import { columnBytes, itemsWithin, spanOf } from "../../arrow/columns/columnBytes.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { leafColumn, mapLeaf } from "../../arrow/columns/spine.js";
import { bytesOf } from "../../bytes/view.js";
import type { DictionaryValues } from "../structural/dictionary.js";

/** Memory of the objects around a batch's rows; matters where batches have few rows. */
const PART_OVERHEAD_BYTES = 512;

/** Rows of one column that wait to become a page. */
export interface WaitingRows {
  parts: Column[];
  rowCount: number;
  /** Bytes of their values. */
  byteCount: number;
  /** Upper bound of the memory they keep alive. */
  heldBytes: number;
}

export const nothingWaiting = (): WaitingRows => ({ parts: [], rowCount: 0, byteCount: 0, heldBytes: 0 });

/** How the dictionary of a column compares to that of the waiting rows: a page has one dictionary. */
export function sharedDictionary(waiting: WaitingRows, column: Column): "none" | "same" | "differs" {
  if (waiting.parts.length === 0) return "none";
  const first = leafColumn(waiting.parts[0]);
  const next = leafColumn(column);
  if (next.kind !== "dictionary" || first.kind !== "dictionary") return "none";
  return sameDictionary(first.dictionary, next.dictionary) ? "same" : "differs";
}

/** Makes equal dictionaries the same object, so columns can be joined without comparing them again. */
export function withDictionaryOf(column: Column, other: Column): Column {
  const shared = leafColumn(other);
  return mapLeaf(column, (leaf) =>
    leaf.kind === "dictionary" && shared.kind === "dictionary"
      ? { ...leaf, dictionary: shared.dictionary }
      : leaf,
  );
}

function sameDictionary(a: DictionaryValues, b: DictionaryValues): boolean {
  if (a === b) return true;
  if (a.length !== b.length || (a.validity === null) !== (b.validity === null)) return false;
  if (a.validity !== null && b.validity !== null && !sameRuns(a.validity.bytes, b.validity.bytes))
    return false;
  if (a.validity?.bitOffset !== b.validity?.bitOffset) return false;
  if (a.kind === "fixed" && b.kind === "fixed")
    return a.byteWidth === b.byteWidth && sameRuns(a.values, b.values);
  if (a.kind !== "variable" || b.kind !== "variable") return false;
  return sameRuns(bytesOf(a.offsets), bytesOf(b.offsets)) && sameRuns(a.bytes, b.bytes);
}

function sameRuns(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  if (a.buffer === b.buffer && a.byteOffset === b.byteOffset) return true;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** Number of rows from `start` on whose bytes stay within `byteCount`. */
export function rowsWithin(column: Column, start: number, byteCount: number): number {
  const rest = column.length - start;
  if (rest === 0) return 0;
  if (column.kind === "struct" && column.children.length === 1) {
    return rowsWithin(column.children[0], start, byteCount);
  }
  if (column.kind !== "variable" && column.kind !== "list") {
    const total = columnBytes(column);
    return total === 0 ? rest : Math.min(rest, Math.floor(byteCount / (total / column.length)));
  }
  const rowBytes = column.offsets.BYTES_PER_ELEMENT + (column.validity === null ? 0 : 1 / 8);
  const bytesOfRows = (end: number): number =>
    column.kind === "list" ? columnBytes(itemsWithin(column, start, end)) : spanOf(column, start, end);
  let low = 0;
  let high = rest;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (bytesOfRows(start + middle) + middle * rowBytes <= byteCount) low = middle;
    else high = middle - 1;
  }
  return low;
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
        byteCount += (source.length + 1) * source.offsets.BYTES_PER_ELEMENT;
        return { ...source, validity, ...holdVariable(source, hold) };
      case "fixedSizeList":
      case "sizedList":
        return { ...source, validity, items: visit<Column>(source.items) };
      case "dictionary":
        // The dictionary itself is not copied: it is compared with the next batch's and shared by all its batches.
        byteCount += columnBytes(source.dictionary);
        return { ...source, validity, indices: visit(source.indices) };
      case "null":
        return source;
      case "list": {
        byteCount += (source.length + 1) * source.offsets.BYTES_PER_ELEMENT;
        const offsets = offsetsFrom(source, Number(source.offsets[0]));
        return { ...source, validity, offsets, items: visit(itemsWithin(source)) };
      }
      case "struct":
      case "packedStruct":
        return { ...source, validity, children: (source.children as readonly Column[]).map(visit) };
    }
  };
  return { column: visit(column), byteCount };
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
