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
import type { Lender } from "../../io/memory/arena.js";
import { KEY_WORDS, type TwoWordKeys, twoWordKeys } from "./twoWordSort.js";

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
  /** Memory for the keys of all rows; null if they are made again for each pass. */
  #kept: Uint32Array | null = null;
  #areKept = false;

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

  /**
   * Makes the keys once for all passes. The keys of a single column of 8-byte numbers replace the numbers, so
   * their memory must be the caller's own; other keys lie in memory of `lender`.
   */
  keep(lender: Pick<Lender, "lend">): void {
    const isInPlace = this.#byteWidth === 4 * KEY_WORDS && this.#columns.length === 1;
    this.#kept = isInPlace
      ? storedWords(this.#columns[0])
      : lentWords(lender.lend(4 * KEY_WORDS * this.rowCount));
  }

  /** Pieces share their memory, unless the keys are kept. */
  *pieces(): Generator<Uint32Array> {
    const kept = this.#kept;
    if (kept !== null && this.#areKept) {
      yield* twoWordKeys(kept).pieces();
      return;
    }
    const { type, ascending } = this.#order;
    const shared = kept ?? new Uint32Array(KEY_WORDS * PIECE_ROWS);
    const wordCount = this.#byteWidth / 4;
    let position = 0;
    for (const column of this.#columns) {
      const stored = storedWords(column);
      for (let start = 0; start < column.length; start += PIECE_ROWS) {
        const end = Math.min(start + PIECE_ROWS, column.length);
        const some = stored.subarray(wordCount * start, wordCount * end);
        const length = KEY_WORDS * (end - start);
        const piece = shared.subarray(position, position + length);
        if (kept !== null) position += length;
        fillKeyWords(piece, KEY_WORDS, some, wordCount, type);
        if (!ascending) invert(piece);
        yield piece;
      }
    }
    this.#areKept = true;
  }

  /** Returns the keys of rows `start` to `end - 1`, which are kept, and which the sort has read. */
  keptKeys(start: number, end: number): Uint32Array {
    return (this.#kept as Uint32Array).subarray(KEY_WORDS * start, KEY_WORDS * end);
  }

  /**
   * Returns the numbers of some keys.
   * @param stride words from one key to the next
   * @param memory for the numbers. Default: new memory
   */
  numbersOf(keys: Uint32Array, stride: number, memory?: Uint32Array): FixedColumn {
    const { type, ascending } = this.#order;
    const wordCount = this.#byteWidth / 4;
    const length = (keys.length / stride) * wordCount;
    const stored = memory?.subarray(0, length) ?? new Uint32Array(length);
    fillStoredWords(stored, wordCount, keys, stride, type, ascending);
    return numbersColumn(stored, this.#byteWidth);
  }
}

/** Returns lent memory as words. */
export const lentWords = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint32Array =>
  new Uint32Array(buffer, byteOffset, byteLength / 4);

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
 * Writes the key words of numbers. A key of more words than the number has ends in zeros. Keys of as many
 * words may replace the numbers.
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
    const low = stored[slot];
    const inverted = isFloat ? (high | 0) >> 31 : 0;
    keys[key] = high ^ (inverted | flipped);
    if (stride > 1) keys[key + 1] = highWord === 0 ? 0 : low ^ inverted;
  }
}

/**
 * Writes the words, as stored, of numbers.
 * @param wordCount words of a number
 * @param stride words from one key to the next
 */
function fillStoredWords(
  stored: Uint32Array,
  wordCount: number,
  keys: Uint32Array,
  stride: number,
  type: ValueType,
  ascending: boolean,
): void {
  const isFloat = type.kind === "float";
  const flipped = type.kind === "int" && !type.signed ? 0 : SIGN;
  const reversed = ascending ? 0 : -1;
  const highWord = wordCount - 1;
  for (let slot = 0, key = 0; slot < stored.length; slot += wordCount, key += stride) {
    const high = keys[key] ^ reversed;
    const inverted = isFloat ? ~(high >> 31) : 0;
    stored[slot + highWord] = high ^ (inverted | flipped);
    if (highWord > 0) stored[slot] = keys[key + 1] ^ reversed ^ inverted;
  }
}
