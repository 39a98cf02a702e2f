/**
 * Addresses of rows: the physical row, and the fragment's id. A column has them as pairs of words, the row
 * first, which are integers of 64 bits; as one number, an address is the fragment's id times 2^32, and the
 * row.
 */

import type { FixedColumn } from "../../arrow/columns/column.js";

const WORD = 2 ** 32;
const ADDRESS_BYTES = 8;

/** The words of a column of addresses. */
export function addressWords({ values }: FixedColumn): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length >>> 2);
}

/** The addresses of physical rows of a fragment. */
export function addressesOf(fragmentId: number, rows: Uint32Array): FixedColumn {
  const words = new Uint32Array(2 * rows.length);
  for (let row = 0; row < rows.length; row++) {
    words[2 * row] = rows[row];
    words[2 * row + 1] = fragmentId;
  }
  return wordPairs(words);
}

/** The last column of some rows, which holds their addresses. */
export function addressesAmong(columns: readonly unknown[]): FixedColumn {
  return columns[columns.length - 1] as FixedColumn;
}

/** The address of a row of a column, as a number. @param words of the column */
export const addressAt = (words: Uint32Array, row: number): number =>
  words[2 * row + 1] * WORD + words[2 * row];

export const addressOf = (fragmentId: number, row: number): number => fragmentId * WORD + row;

/** @param addresses as numbers; as many as `count` are taken */
export function addressColumn(addresses: ArrayLike<number>, count: number): FixedColumn {
  const words = new Uint32Array(2 * count);
  for (let row = 0; row < count; row++) {
    const fragmentId = Math.floor(addresses[row] / WORD);
    words[2 * row] = addresses[row] - fragmentId * WORD;
    words[2 * row + 1] = fragmentId;
  }
  return wordPairs(words);
}

/** A column of integers of 64 bits. @param words low and high, of each */
export function wordPairs(words: Uint32Array): FixedColumn {
  return {
    kind: "fixed",
    length: words.length / 2,
    validity: null,
    byteWidth: ADDRESS_BYTES,
    values: new Uint8Array(words.buffer),
  };
}
