/**
 * Key columns of rows in the form in which merges compare them: hashed and compared column by column, as
 * bytes.
 *
 * Two keys match if SQL's `=` says so: a key with a null matches no key. Floats compare like LanceDB's: all
 * NaNs are equal, and 0 and -0 differ. Structs and lists follow the same rules for floats; a null inside them
 * is a value.
 */

import type { Column, FixedColumn, Validity, VariableColumn } from "../../arrow/columns/column.js";
import { decodeDictionary } from "../../arrow/columns/dictionaries.js";
import { areNarrow, checkOffsetRange, wordsOf } from "../../arrow/columns/offsets.js";
import { bothValid, isValid } from "../../arrow/columns/validity.js";
import { type LogicalType, typeInText } from "../../arrow/types/type.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { enlarged } from "../../bytes/growing.js";
import { InternalError, UnsupportedError } from "../../errors.js";

/** A key column: values of fixed or variable width. */
export type KeyColumn = FixedColumn | VariableColumn;

/** Conversion of a column to a key column; a list holds the forms of its children. */
export type KeyForm = LeafForm | readonly KeyForm[];
type LeafForm = "plain" | "float16" | "float32" | "float64";

/** Properties of a field that decide its form. */
interface KeyField {
  readonly type: LogicalType;
  readonly children: readonly KeyField[];
}

/** @throws UnsupportedError for a type whose values can't be compared */
export function keyFormOf({ type, children }: KeyField, path: string): KeyForm {
  switch (type.kind) {
    case "float":
      return `float${type.bits}`;
    case "dictionary":
      return keyFormOf({ type: type.values, children: [] }, path);
    case "list":
    case "struct":
    case "map":
      return children.map((child) => keyFormOf(child, path));
    case "fixedSizeList":
      return [keyFormOf(children.length > 0 ? children[0] : { type: type.of, children: [] }, path)];
    case "null":
    case "bool":
    case "int":
    case "decimal":
    case "string":
    case "binary":
    case "fixedSizeBinary":
    case "date":
    case "time":
    case "timestamp":
    case "duration":
      return "plain";
    default:
      throw new UnsupportedError(
        `on: column ${path} is of type ${typeInText(type)}, by which rows are not matched; choose another key`,
      );
  }
}

/** Converts a column to a key column, which may share its memory. */
export function keyColumn(column: Column, form: KeyForm): KeyColumn {
  return isLeafForm(form) ? leafKey(column, form) : nestedKey(column, form);
}

/** True for the form of a column without children. */
export const isLeafForm = (form: KeyForm): form is LeafForm => typeof form === "string";

function leafKey(column: Column, form: LeafForm): KeyColumn {
  switch (column.kind) {
    case "fixed":
      return form === "plain" ? column : withOneNaN(column, form);
    case "variable":
      return column;
    case "dictionary":
      return leafKey(decodeDictionary(column), form);
    case "bits":
      return {
        kind: "fixed",
        length: column.length,
        validity: column.validity,
        byteWidth: 1,
        values: bytesOfBits(column.bits, column.bitOffset, column.length),
      };
    case "null": {
      const validity: Validity = {
        bytes: new Uint8Array((column.length + 7) >>> 3),
        bitOffset: 0,
        nullCount: column.length,
      };
      return {
        kind: "fixed",
        length: column.length,
        validity,
        byteWidth: 1,
        values: new Uint8Array(column.length),
      };
    }
    default:
      throw new InternalError(`a column of kind ${column.kind} cannot be a key`);
  }
}

function bytesOfBits(bits: Uint8Array, bitOffset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let row = 0; row < length; row++) {
    const bit = bitOffset + row;
    bytes[row] = (bits[Math.floor(bit / 8)] >>> (bit & 7)) & 1;
  }
  return bytes;
}

/** By width of a float: the first bit pattern above infinity, and the pattern that replaces all NaNs. */
const NAN_BITS = {
  float16: { infinity: 0x7c00, nan: 0x7e00 },
  float32: { infinity: 0x7f80_0000, nan: 0x7fc0_0000 },
  float64: { infinity: 0x7ff0_0000, nan: 0x7ff8_0000 },
} as const;

/** Returns a column in which all NaNs have the same bits; the column itself if it has no NaN. */
function withOneNaN(column: FixedColumn, form: Exclude<LeafForm, "plain">): FixedColumn {
  const { length, values, byteWidth } = column;
  const { infinity, nan } = NAN_BITS[form];
  const bytes = alignedBytes(values, 4);
  if (form === "float16") {
    const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, length);
    if (!halves.some((bits) => (bits & 0x7fff) > infinity)) return column;
    const copy = halves.map((bits) => ((bits & 0x7fff) > infinity ? nan : bits));
    return { ...column, values: new Uint8Array(copy.buffer) };
  }
  const stride = byteWidth >>> 2;
  let words = new Uint32Array(bytes.buffer, bytes.byteOffset, length * stride);
  let isCopy = false;
  for (let row = 0, word = stride - 1; row < length; row++, word += stride) {
    const high = words[word] & 0x7fff_ffff;
    if (high < infinity || (high === infinity && (stride === 1 || words[word - 1] === 0))) continue;
    if (!isCopy) words = words.slice();
    isCopy = true;
    words[word] = nan;
    if (stride === 2) words[word - 1] = 0;
  }
  return isCopy ? { ...column, values: new Uint8Array(words.buffer) } : column;
}

// ----------------------------------------------------------------------------------------------- nested keys

/** Writes the value of a row as bytes: equal values give equal bytes. */
type WriteValue = (row: number, target: KeyBytes) => void;

/** Encodes structs and lists as bytes. */
function nestedKey(column: Column, forms: readonly KeyForm[]): VariableColumn {
  const { length, validity } = column;
  const offsets = new Int32Array(length + 1);
  const target = new KeyBytes();
  const write = nestedWriter(column, forms);
  for (let row = 0; row < length; row++) {
    if (isValid(validity, row)) write(row, target);
    checkOffsetRange(target.byteLength);
    offsets[row + 1] = target.byteLength;
  }
  return { kind: "variable", length, validity, offsets, bytes: target.bytes };
}

/** Makes the writer of values that are not null. */
function nestedWriter(column: Column, forms: readonly KeyForm[]): WriteValue {
  switch (column.kind) {
    case "struct":
    case "packedStruct": {
      const members = column.children.map((child, index) => valueWriter(child, forms[index]));
      return (row, target) => {
        for (const write of members) write(row, target);
      };
    }
    case "fixedSizeList":
    case "sizedList": {
      const { dimension } = column;
      const write = valueWriter(column.items, forms[0]);
      return (row, target) => {
        for (let item = row * dimension; item < (row + 1) * dimension; item++) write(item, target);
      };
    }
    case "list": {
      const positions = positionsOf(column.offsets);
      const write = valueWriter(column.items, forms[0]);
      return (row, target) => {
        target.writeCount(positions[row + 1] - positions[row]);
        for (let item = positions[row]; item < positions[row + 1]; item++) write(item, target);
      };
    }
    default:
      throw new InternalError(`a column of kind ${column.kind} cannot be a nested key`);
  }
}

/** Makes the writer of nullable values. */
function valueWriter(column: Column, form: KeyForm): WriteValue {
  const write = isLeafForm(form) ? leafWriter(leafKey(column, form)) : nestedWriter(column, form);
  const { validity } = column;
  // A null column has no validity bits.
  const isNull = column.kind === "null";
  return (row, target) => {
    const isThere = !isNull && isValid(validity, row);
    target.writeByte(isThere ? 1 : 0);
    if (isThere) write(row, target);
  };
}

function leafWriter(column: KeyColumn): WriteValue {
  if (column.kind === "fixed") {
    const { values, byteWidth } = column;
    return (row, target) => target.writeRange(values, row * byteWidth, (row + 1) * byteWidth);
  }
  const positions = positionsOf(column.offsets);
  const { bytes } = column;
  return (row, target) => {
    target.writeCount(positions[row + 1] - positions[row]);
    target.writeRange(bytes, positions[row], positions[row + 1]);
  };
}

class KeyBytes {
  #bytes = new Uint8Array(4096);
  byteLength = 0;

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.byteLength);
  }

  writeByte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.byteLength++] = byte;
  }

  writeCount(count: number): void {
    for (let shift = 0; shift < 32; shift += 8) this.writeByte((count >>> shift) & 0xff);
  }

  writeRange(source: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    const bytes = this.#bytes;
    // Most values are too short for a native copy to pay off.
    for (let offset = start; offset < end; offset++) bytes[this.byteLength++] = source[offset];
  }

  #reserve(count: number): void {
    const needed = this.byteLength + count;
    if (needed > this.#bytes.length) this.#bytes = enlarged(this.#bytes, needed);
  }
}

/** Returns offsets as numbers. */
export function positionsOf(offsets: Int32Array | BigInt64Array): Int32Array | Float64Array {
  if (areNarrow(offsets)) return offsets;
  const words = wordsOf(offsets);
  return Float64Array.from(offsets, (_, index) => words[2 * index] + words[2 * index + 1] * 2 ** 32);
}

/** Returns the validity of rows whose keys have no null; null for all rows. */
export function rowsWithKey(columns: readonly KeyColumn[], rowCount: number): Validity | null {
  return columns.reduce<Validity | null>(
    (validity, column) => bothValid(validity, column.validity, rowCount),
    null,
  );
}
