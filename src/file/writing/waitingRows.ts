/**
 * Rows of a column that wait to become a page. They are views of the caller's memory if they fill most of it,
 * else copies: a few bytes of a narrow column never keep a large batch alive. Rows in lent memory are copied,
 * back to back.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes, itemsWithin, spanOf, valueBytes } from "../../arrow/columns/columnBytes.js";
import type { ColumnGatherer } from "../../arrow/columns/columnGatherer.js";
import { leafColumn, mapLeaf } from "../../arrow/columns/spine.js";
import { firstIndex } from "../../bytes/search.js";
import { bytesOf } from "../../bytes/view.js";
import type { Arena } from "../../io/memory/arena.js";
import { isSameBytes } from "../../platform/native.js";
import type { DictionaryValues } from "../structural/dictionary.js";

/** Rows of one column that wait to become a page. */
export interface WaitingRows {
  parts: Column[];
  rowCount: number;
  /** Bytes of their values; approximate while rows are being copied. */
  byteCount: number;
  /** Upper bound of the memory they keep alive. */
  heldBytes: number;
  /** Copies of the last rows, which follow the parts; null if no rows are being copied. */
  copies: ColumnGatherer | null;
  /** Holds the copies; null if there are none. */
  arena: Arena | null;
}

export const nothingWaiting = (): WaitingRows => ({
  parts: [],
  rowCount: 0,
  byteCount: 0,
  heldBytes: 0,
  copies: null,
  arena: null,
});

/** Turns copied rows into a part: other rows follow them, or a page is cut. */
export function endCopies(waiting: WaitingRows): void {
  if (waiting.copies === null) return;
  waiting.parts.push(waiting.copies.finish());
  waiting.copies = null;
  // The sum over batches omits fractions of bytes, and the validity of batches without nulls.
  waiting.byteCount = valueBytes(waiting.parts);
}

/** Compares the dictionary of a column with that of the waiting rows: a page has one dictionary. */
export function sharedDictionary(waiting: WaitingRows, column: Column): "none" | "same" | "differs" {
  if (waiting.parts.length === 0) return "none";
  const first = leafColumn(waiting.parts[0]);
  const next = leafColumn(column);
  if (next.kind !== "dictionary" || first.kind !== "dictionary") return "none";
  return sameDictionary(first.dictionary, next.dictionary) ? "same" : "differs";
}

/** Makes equal dictionaries the same object, so that joining columns does not compare them again. */
export function withDictionaryOf(column: Column, sample: Column): Column {
  const shared = leafColumn(sample);
  return mapLeaf(column, (leaf) =>
    leaf.kind === "dictionary" && shared.kind === "dictionary"
      ? { ...leaf, dictionary: shared.dictionary }
      : leaf,
  );
}

function sameDictionary(a: DictionaryValues, b: DictionaryValues): boolean {
  if (a === b) return true;
  if (a.length !== b.length || a.validity?.bitOffset !== b.validity?.bitOffset) return false;
  if (a.validity && b.validity && !sameRuns(a.validity.bytes, b.validity.bytes)) return false;
  if (a.kind === "fixed" && b.kind === "fixed") {
    return a.byteWidth === b.byteWidth && sameRuns(a.values, b.values);
  }
  if (a.kind !== "variable" || b.kind !== "variable") return false;
  return sameRuns(bytesOf(a.offsets), bytesOf(b.offsets)) && sameRuns(a.bytes, b.bytes);
}

const sameRuns = (a: Uint8Array, b: Uint8Array): boolean =>
  (a.length === b.length && a.buffer === b.buffer && a.byteOffset === b.byteOffset) || isSameBytes(a, b);

/** Returns the number of rows from `start` on whose bytes stay within `byteCount`. */
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
  return firstIndex(1, rest + 1, (rows) => bytesOfRows(start + rows) + rows * rowBytes > byteCount) - 1;
}
