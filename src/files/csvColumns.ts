/**
 * Makes columns from the bytes of CSV cells. A column whose cells all have the plain form of its type is made
 * without texts. Any other is made from texts, and its errors tell what is wrong with a cell.
 */

import {
  type DataType,
  type Field,
  type Float,
  type Int,
  Precision,
  type Timestamp,
  Type,
} from "apache-arrow";
import type { Column, Validity } from "../arrow/columns/column.js";
import { validityFrom } from "../arrow/columns/validity.js";
import { bytesOf } from "../bytes/view.js";
import { isSameBytes, textReader } from "../platform/native.js";
import { dayNumber, decimalNumber, instantNumber, longInteger, shortInteger } from "./csvNumbers.js";
import { type CsvCells, DOUBLED, UNQUOTED } from "./csvRecords.js";
import { type CsvText, textParser } from "./csvTexts.js";

/** Texts that are null, and their bytes. */
export class NullTexts {
  readonly texts: ReadonlySet<string>;
  readonly #hasEmpty: boolean;
  readonly #others: readonly Uint8Array[];

  constructor(texts: readonly string[]) {
    this.texts = new Set(texts);
    this.#hasEmpty = this.texts.has("");
    const encoder = new TextEncoder();
    this.#others = [...this.texts].filter((text) => text !== "").map((text) => encoder.encode(text));
  }

  /** True if the bytes between two offsets are one of the texts. */
  has(bytes: Uint8Array, start: number, end: number): boolean {
    if (start === end) return this.#hasEmpty;
    for (const text of this.#others) {
      if (text.length === end - start && isSameBytes(text, bytes.subarray(start, end))) return true;
    }
    return false;
  }
}

/** Returns the texts of a column; null for a text of `nulls` without quotes. */
export function cellTexts(
  { recordCount, bytes, bounds, forms, firstCells }: CsvCells,
  position: number,
  quote: string,
  nulls: NullTexts,
): CsvText[] {
  const textAt = textReader(bytes);
  return Array.from({ length: recordCount }, (_, record) => {
    const cell = firstCells[record] + position;
    const [start, end] = [bounds[2 * cell], bounds[2 * cell + 1]];
    if (forms[cell] === UNQUOTED && nulls.has(bytes, start, end)) return null;
    const text = textAt(start, end);
    return forms[cell] === DOUBLED ? text.replaceAll(quote + quote, quote) : text;
  });
}

/** Takes the values of a column, cell by cell. */
interface ColumnBuilder {
  /** Adds the value of a row. @returns false if the cell does not have the plain form of the type */
  add(row: number, start: number, end: number, isDoubled: boolean): boolean;
  /** Notes that a row is null. */
  addNull?(row: number): void;
  finish(validity: Validity | null): Column;
}

/**
 * Returns the column of a field; null if a cell does not have the plain form of the type.
 * @param position position of the column in the records, which all have `width` cells
 */
export function columnOfCells(
  cells: CsvCells,
  position: number,
  { type, nullable }: Field,
  quote: string,
  nulls: NullTexts,
): Column | null {
  const { recordCount, bytes, bounds, forms, firstCells } = cells;
  const builder = builderOf(cells, position, type, quote, nulls);
  if (builder === null) return null;
  const isText = type.typeId === Type.Utf8;
  let valid: Uint8Array | null = null;
  for (let row = 0; row < recordCount; row++) {
    const cell = firstCells[row] + position;
    const start = bounds[2 * cell];
    const end = bounds[2 * cell + 1];
    const form = forms[cell];
    if ((!isText || form === UNQUOTED) && nulls.has(bytes, start, end)) {
      if (!nullable) return null;
      valid ??= new Uint8Array((recordCount + 7) >>> 3).fill(0xff);
      valid[row >>> 3] &= ~(1 << (row & 7));
      builder.addNull?.(row);
    } else if (!builder.add(row, start, end, form === DOUBLED)) {
      return null;
    }
  }
  return builder.finish(valid && validityFrom(valid, 0, recordCount));
}

/** Returns null for types whose values are made from texts only. */
function builderOf(
  cells: CsvCells,
  position: number,
  type: DataType,
  quote: string,
  nulls: NullTexts,
): ColumnBuilder | null {
  const { bytes, recordCount } = cells;
  switch (type.typeId) {
    case Type.Utf8:
      return textBuilder(cells, position, quote.charCodeAt(0));
    case Type.Bool:
      return booleanBuilder(bytes, recordCount);
    case Type.Int: {
      const { bitWidth, isSigned } = type as Int;
      if (bitWidth !== 64)
        return numberBuilder(bytes, smallIntegers(bitWidth, isSigned, recordCount), shortInteger);
      return isSigned ? longBuilder(bytes, recordCount, shortInteger, longInteger) : null;
    }
    case Type.Float: {
      const { precision } = type as Float;
      if (precision === Precision.HALF) return null;
      const isDouble = precision === Precision.DOUBLE;
      return floatBuilder(
        bytes,
        isDouble ? new Float64Array(recordCount) : new Float32Array(recordCount),
        textParser(type, nulls.texts),
      );
    }
    case Type.Date:
      return (type as { readonly unit?: number }).unit === 0
        ? numberBuilder(bytes, new Int32Array(recordCount), dayNumber)
        : null;
    case Type.Timestamp: {
      const { unit, timezone } = type as Timestamp;
      const isUtc = timezone === null || timezone === undefined || timezone === "UTC";
      // Nanoseconds since 1970 are beyond the exact doubles.
      if (!isUtc || unit > 2) return null;
      return longBuilder(bytes, recordCount, (source, start, end) =>
        instantNumber(source, start, end, 3 * unit),
      );
    }
    default:
      return null;
  }
}

type ReadNumber = (bytes: Uint8Array, start: number, end: number) => number;
type Integers = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;

function smallIntegers(bitWidth: number, isSigned: boolean, length: number): Integers {
  if (bitWidth === 8) return isSigned ? new Int8Array(length) : new Uint8Array(length);
  if (bitWidth === 16) return isSigned ? new Int16Array(length) : new Uint16Array(length);
  return isSigned ? new Int32Array(length) : new Uint32Array(length);
}

/** Builds a column of numbers that the array holds as they are. */
function numberBuilder(bytes: Uint8Array, numbers: Integers, read: ReadNumber): ColumnBuilder {
  return {
    add(row, start, end) {
      const number = read(bytes, start, end);
      numbers[row] = number;
      return numbers[row] === number;
    },
    finish: (validity) => fixedColumn(numbers, validity),
  };
}

const WORD = 2 ** 32;

/** Builds a column of 64-bit integers. @param readLong reads those that are not exact as doubles */
function longBuilder(
  bytes: Uint8Array,
  length: number,
  read: ReadNumber,
  readLong?: (bytes: Uint8Array, start: number, end: number) => bigint | null,
): ColumnBuilder {
  const words = new Uint32Array(2 * length);
  const longs = new BigInt64Array(words.buffer);
  return {
    add(row, start, end) {
      const number = read(bytes, start, end);
      if (!Number.isNaN(number)) {
        words[2 * row] = number;
        words[2 * row + 1] = Math.floor(number / WORD);
        return true;
      }
      const long = readLong?.(bytes, start, end) ?? null;
      if (long === null) return false;
      longs[row] = long;
      return true;
    },
    finish: (validity) => fixedColumn(longs, validity),
  };
}

/** Builds a column of floats. @param parse reads texts of other forms, such as 1e5 */
function floatBuilder(
  bytes: Uint8Array,
  floats: Float32Array | Float64Array,
  parse: (text: CsvText) => unknown,
): ColumnBuilder {
  const textAt = textReader(bytes);
  return {
    add(row, start, end, isDoubled) {
      let number = decimalNumber(bytes, start, end);
      if (Number.isNaN(number)) {
        const parsed = isDoubled ? null : parse(textAt(start, end));
        if (typeof parsed !== "number") return false;
        number = parsed;
      }
      floats[row] = number;
      return Number.isFinite(number) === Number.isFinite(floats[row]);
    },
    finish: (validity) => fixedColumn(floats, validity),
  };
}

const fixedColumn = (
  numbers: (Integers | BigInt64Array | Float32Array | Float64Array) & { readonly BYTES_PER_ELEMENT: number },
  validity: Validity | null,
): Column => ({
  kind: "fixed",
  length: numbers.length,
  validity,
  byteWidth: numbers.BYTES_PER_ELEMENT,
  values: bytesOf(numbers),
});

/** Letters of true and false, by which case is ignored. */
const WORDS = [true, false].map((value) => ({ value, letters: new TextEncoder().encode(`${value}`) }));
const LOWER_CASE = 0x20;
const DIGIT_0 = 48;

function booleanBuilder(bytes: Uint8Array, length: number): ColumnBuilder {
  const bits = new Uint8Array((length + 7) >>> 3);
  const booleanOf = (start: number, end: number): boolean | undefined => {
    const digit = bytes[start] - DIGIT_0;
    if (end - start === 1) return digit === 1 ? true : digit === 0 ? false : undefined;
    return WORDS.find(
      ({ letters }) =>
        letters.length === end - start &&
        letters.every((letter, index) => (bytes[start + index] | LOWER_CASE) === letter),
    )?.value;
  };
  return {
    add(row, start, end) {
      const value = booleanOf(start, end);
      if (value === true) bits[row >>> 3] |= 1 << (row & 7);
      return value !== undefined;
    },
    finish: (validity) => ({ kind: "bits", length, validity, bits, bitOffset: 0 }),
  };
}

/** Texts up to this length are copied byte by byte, which is faster than a call. */
const SHORT_TEXT = 48;

function textBuilder(
  { bytes, bounds, firstCells, recordCount }: CsvCells,
  position: number,
  quote: number,
): ColumnBuilder {
  let byteLength = 0;
  for (let row = 0; row < recordCount; row++) {
    const cell = firstCells[row] + position;
    byteLength += bounds[2 * cell + 1] - bounds[2 * cell];
  }
  const texts = new Uint8Array(byteLength);
  const offsets = new Int32Array(recordCount + 1);
  let length = 0;
  const copyDoubled = (start: number, end: number) => {
    for (let offset = start; offset < end; offset++) {
      texts[length++] = bytes[offset];
      if (bytes[offset] === quote) offset++;
    }
  };
  return {
    add(row, start, end, isDoubled) {
      if (isDoubled) copyDoubled(start, end);
      else if (end - start > SHORT_TEXT) {
        texts.set(bytes.subarray(start, end), length);
        length += end - start;
      } else {
        for (let offset = start; offset < end; offset++) texts[length++] = bytes[offset];
      }
      offsets[row + 1] = length;
      return true;
    },
    addNull(row) {
      offsets[row + 1] = length;
    },
    finish: (validity) => ({
      kind: "variable",
      length: recordCount,
      validity,
      offsets,
      bytes: texts.subarray(0, length),
    }),
  };
}
