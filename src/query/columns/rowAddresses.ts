/**
 * Addresses of rows: the physical row and the fragment's id. A column stores each address as a 64-bit
 * integer, which is a pair of words with the row first. As one number, an address is the fragment's id times
 * 2^32 plus the row.
 */

import type { FixedColumn } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";

const WORD = 2 ** 32;
const ADDRESS_BYTES = 8;

/** The 32-bit words of a column of addresses. */
export function addressWords({ values }: FixedColumn): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length >>> 2);
}

/** Returns the addresses of some physical rows of a fragment. */
export function addressesOf(fragmentId: number, rows: Uint32Array): FixedColumn {
  const words = new Uint32Array(2 * rows.length);
  for (let row = 0; row < rows.length; row++) {
    words[2 * row] = rows[row];
    words[2 * row + 1] = fragmentId;
  }
  return wordPairs(words);
}

/** Returns the last column of some rows, which holds their addresses. */
export function addressesAmong(columns: readonly unknown[]): FixedColumn {
  return columns[columns.length - 1] as FixedColumn;
}

/** Address of one row, as a number. @param words of the column */
export const addressAt = (words: Uint32Array, row: number): number =>
  words[2 * row + 1] * WORD + words[2 * row];

export const addressOf = (fragmentId: number, row: number): number => fragmentId * WORD + row;

/** @param addresses as numbers; only the first `count` are used */
export function addressColumn(addresses: ArrayLike<number>, count: number): FixedColumn {
  const words = new Uint32Array(2 * count);
  for (let row = 0; row < count; row++) {
    const fragmentId = Math.floor(addresses[row] / WORD);
    words[2 * row] = addresses[row] - fragmentId * WORD;
    words[2 * row + 1] = fragmentId;
  }
  return wordPairs(words);
}

/** A column of 64-bit integers. @param words low and high word of each integer */
export const wordPairs = (words: Uint32Array): FixedColumn => numbersColumn(words, ADDRESS_BYTES);
