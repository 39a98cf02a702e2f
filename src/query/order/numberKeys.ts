/**
 * Numbers of 4 and 8 bytes as unsigned words that sort like them, and back. Columns store the low word of a
 * number first; sort keys begin with the high one.
 *
 *     unsigned integers        as they are
 *     other integers, times    with the sign bit flipped
 *     floats                   with the sign bit set if positive, else with every bit flipped: the total
 *                              order of IEEE 754
 */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { alignedBytes } from "../../bytes/aligned.js";
import type { ValueType } from "../../expression/values/types.js";
import { ENTRY_WORDS, KEY_WORDS, type TwoWordKeys } from "./twoWordSort.js";

const SIGN = 0x8000_0000;
/** Rows whose keys are made at once. */
const PIECE_ROWS = 8192;

interface NumberOrder {
  readonly type: ValueType;
  readonly ascending: boolean;
}

/** Keys that hold numbers whole: sorted entries give the numbers back. */
export class NumberKeys implements TwoWordKeys {
  readonly rowCount: number;
  readonly #columns: readonly FixedColumn[];
  readonly #byteWidth: number;
  readonly #order: NumberOrder;

  private constructor(columns: readonly FixedColumn[], order: NumberOrder) {
    this.rowCount = columns.reduce((sum, { length }) => sum + length, 0);
    this.#columns = columns;
    this.#byteWidth = columns[0].byteWidth;
    this.#order = order;
  }

  /** Returns the keys of a column in pieces; null unless all are numbers of 4 or 8 bytes and none is null. */
  static of(pieces: readonly Column[], order: NumberOrder): NumberKeys | null {
    const columns: FixedColumn[] = [];
    for (const piece of pieces) {
      if (piece.kind !== "fixed" || piece.validity !== null || !areWordNumbers(piece, order.type))
        return null;
      columns.push(piece);
    }
    return columns.length === 0 ? null : new NumberKeys(columns, order);
  }

  /** Pieces share their memory. */
  *pieces(): Generator<Uint32Array> {
    const { type, ascending } = this.#order;
    const keys = new Uint32Array(KEY_WORDS * PIECE_ROWS);
    const wordCount = this.#byteWidth / 4;
    for (const column of this.#columns) {
      const stored = storedWords(column);
      for (let start = 0; start < column.length; start += PIECE_ROWS) {
        const end = Math.min(start + PIECE_ROWS, column.length);
        const some = stored.subarray(wordCount * start, wordCount * end);
        fillKeyWords(keys, KEY_WORDS, some, wordCount, type);
        const piece = keys.subarray(0, KEY_WORDS * (end - start));
        if (!ascending) invert(piece);
        yield piece;
      }
    }
  }

  /** Returns the numbers of sorted entries. */
  numbersOf(entries: Uint32Array): FixedColumn {
    const { type, ascending } = this.#order;
    const wordCount = this.#byteWidth / 4;
    return numbersColumn(storedWordsOf(entries, wordCount, type, ascending), this.#byteWidth);
  }
}

function invert(words: Uint32Array): void {
  for (let index = 0; index < words.length; index++) words[index] = ~words[index];
}

/** True if the values of a column are numbers of one or two words. */
export const areWordNumbers = ({ byteWidth }: FixedColumn, type: ValueType): boolean =>
  (byteWidth === 4 || byteWidth === 8) && type.kind !== "fixedSizeBinary";

/** Returns the words of such a column as stored. */
export function storedWords({ values }: FixedColumn): Uint32Array {
  const { buffer, byteOffset } = alignedBytes(values, 4);
  return new Uint32Array(buffer, byteOffset, values.byteLength / 4);
}

/**
 * Writes the key words of numbers. A key of more words than the number has ends in zeros.
 * @param stored words of the numbers
 * @param wordCount words of a number
 * @param stride words of a key
 */
export function fillKeyWords(
  keys: Uint32Array,
  stride: number,
  stored: Uint32Array,
  wordCount: number,
  type: ValueType,
): void {
  const isFloat = type.kind === "float";
  const flipped = type.kind === "int" && !type.signed ? 0 : SIGN;
  const highWord = wordCount - 1;
  for (let slot = 0, key = 0; slot < stored.length; slot += wordCount, key += stride) {
    const high = stored[slot + highWord];
    const inverted = isFloat ? (high | 0) >> 31 : 0;
    keys[key] = high ^ (inverted | flipped);
    if (stride > 1) keys[key + 1] = highWord === 0 ? 0 : stored[slot] ^ inverted;
  }
}

/** Returns the words, as stored, of the numbers in entries. @param wordCount words of a number */
function storedWordsOf(
  entries: Uint32Array,
  wordCount: number,
  type: ValueType,
  ascending: boolean,
): Uint32Array {
  const stored = new Uint32Array((entries.length / ENTRY_WORDS) * wordCount);
  const isFloat = type.kind === "float";
  const flipped = type.kind === "int" && !type.signed ? 0 : SIGN;
  const reversed = ascending ? 0 : -1;
  const highWord = wordCount - 1;
  for (let slot = 0, entry = 0; slot < stored.length; slot += wordCount, entry += ENTRY_WORDS) {
    const high = entries[entry] ^ reversed;
    const inverted = isFloat ? ~(high >> 31) : 0;
    stored[slot + highWord] = high ^ (inverted | flipped);
    if (highWord > 0) stored[slot] = entries[entry + 1] ^ reversed ^ inverted;
  }
  return stored;
}
