/** Hashes and comparison of keys: column by column, as bytes. */

import type { FixedColumn, VariableColumn } from "../../arrow/columns/column.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { InternalError } from "../../errors.js";
import { type KeyColumn, positionsOf } from "../../query/compare/keyColumns.js";

/** True if a row of one column equals a row of another. Neither value is null. */
export type SameKey = (row: number, otherRow: number) => boolean;

/**
 * Returns a hash for each row; a key with a null may have any.
 * @param seed a random number, so that whoever chooses the keys can't choose their hashes
 */
export function hashKeys(columns: readonly KeyColumn[], rowCount: number, seed: number): Int32Array {
  const hashes = new Int32Array(rowCount);
  const [first] = columns;
  if (columns.length === 1 && first.kind === "fixed" && first.byteWidth === 8) {
    hashPairs(wordsIn(first.values, rowCount * 2), seed, hashes);
    return hashes;
  }
  hashes.fill(seed);
  for (const column of columns) {
    if (column.kind === "fixed") hashFixed(column, hashes);
    else hashVariable(column, hashes);
  }
  for (let row = 0; row < rowCount; row++) hashes[row] = finished(hashes[row]);
  return hashes;
}

/** Hashes the most common keys, single 64-bit integers, in one loop. */
function hashPairs(words: Int32Array, seed: number, hashes: Int32Array): void {
  for (let row = 0; row < hashes.length; row++) {
    hashes[row] = finished(mixed(mixed(seed, words[2 * row]), words[2 * row + 1]));
  }
}

/** Spreads a hash over all of its bits. */
function finished(word: number): number {
  let hash = word;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return hash ^ (hash >>> 16);
}

/** Adds a word to a hash. */
function mixed(hash: number, word: number): number {
  const scrambled = Math.imul(word, 0xcc9e_2d51);
  const turned = hash ^ Math.imul((scrambled << 15) | (scrambled >>> 17), 0x1b87_3593);
  return (Math.imul((turned << 13) | (turned >>> 19), 5) + 0xe654_6b64) | 0;
}

function hashFixed({ values, byteWidth }: FixedColumn, hashes: Int32Array): void {
  const { length } = hashes;
  if (byteWidth % 4 !== 0) {
    for (let row = 0, byte = 0; row < length; row++) {
      let hash = hashes[row];
      for (const end = byte + byteWidth; byte < end; byte++) hash = mixed(hash, values[byte]);
      hashes[row] = hash;
    }
    return;
  }
  const words = wordsIn(values, length * (byteWidth >>> 2));
  if (byteWidth === 4) {
    for (let row = 0; row < length; row++) hashes[row] = mixed(hashes[row], words[row]);
  } else if (byteWidth === 8) {
    for (let row = 0; row < length; row++) {
      hashes[row] = mixed(mixed(hashes[row], words[2 * row]), words[2 * row + 1]);
    }
  } else {
    const stride = byteWidth >>> 2;
    for (let row = 0, word = 0; row < length; row++) {
      let hash = hashes[row];
      for (const end = word + stride; word < end; word++) hash = mixed(hash, words[word]);
      hashes[row] = hash;
    }
  }
}

function hashVariable({ offsets, bytes }: VariableColumn, hashes: Int32Array): void {
  const { length } = hashes;
  const positions = positionsOf(offsets);
  for (let row = 0; row < length; row++) {
    const end = positions[row + 1];
    let offset = positions[row];
    let hash = mixed(hashes[row], end - offset);
    for (; offset + 4 <= end; offset += 4) {
      hash = mixed(
        hash,
        bytes[offset] | (bytes[offset + 1] << 8) | (bytes[offset + 2] << 16) | (bytes[offset + 3] << 24),
      );
    }
    let rest = 0;
    for (; offset < end; offset++) rest = (rest << 8) | bytes[offset];
    hashes[row] = mixed(hash, rest);
  }
}

/** Compares the keys of rows. Both lists have columns of the same types; a list without rows may be empty. */
export function sameKey(columns: readonly KeyColumn[], others: readonly KeyColumn[]): SameKey {
  const each = columns.map((column, index) => sameValue(column, others[index]));
  if (each.length === 1) return each[0];
  return (row, otherRow) => {
    for (const same of each) if (!same(row, otherRow)) return false;
    return true;
  };
}

function sameValue(column: KeyColumn, otherColumn: KeyColumn): SameKey {
  if (column.kind === "variable" && otherColumn.kind === "variable") return sameVariable(column, otherColumn);
  if (column.kind !== "fixed" || otherColumn.kind !== "fixed" || column.byteWidth !== otherColumn.byteWidth) {
    throw new InternalError("the keys have different types");
  }
  const { byteWidth } = column;
  if (byteWidth === 4 || byteWidth === 8) {
    const stride = byteWidth >>> 2;
    const a = wordsIn(column.values, column.length * stride);
    const b = wordsIn(otherColumn.values, otherColumn.length * stride);
    if (stride === 1) return (row, otherRow) => a[row] === b[otherRow];
    return (row, otherRow) => a[2 * row] === b[2 * otherRow] && a[2 * row + 1] === b[2 * otherRow + 1];
  }
  const a = column.values;
  const b = otherColumn.values;
  return (row, otherRow) => {
    const from = row * byteWidth;
    const otherFrom = otherRow * byteWidth;
    for (let byte = 0; byte < byteWidth; byte++) if (a[from + byte] !== b[otherFrom + byte]) return false;
    return true;
  };
}

function sameVariable(column: VariableColumn, otherColumn: VariableColumn): SameKey {
  const positions = positionsOf(column.offsets);
  const otherPositions = positionsOf(otherColumn.offsets);
  const a = column.bytes;
  const b = otherColumn.bytes;
  return (row, otherRow) => {
    const from = positions[row];
    const otherFrom = otherPositions[otherRow];
    const length = positions[row + 1] - from;
    if (otherPositions[otherRow + 1] - otherFrom !== length) return false;
    for (let byte = 0; byte < length; byte++) if (a[from + byte] !== b[otherFrom + byte]) return false;
    return true;
  };
}

const wordsIn = (values: Uint8Array, count: number): Int32Array => {
  const bytes = alignedBytes(values, 4);
  return new Int32Array(bytes.buffer, bytes.byteOffset, count);
};
