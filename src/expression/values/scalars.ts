/** Single values in JavaScript, and columns of them, for constants and rare kinds of values. */

import type { Column } from "../../arrow/columns/column.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import type { Steps } from "../../async/eventLoop.js";
import { isUint8Array } from "../../bytes/anyRealm.js";
import { encodeHalfFloat } from "../../bytes/halfFloat.js";
import { InternalError } from "../../errors.js";
import {
  byteLane,
  decodeText,
  narrowOffsets,
  numbersOf,
  type Operand,
  validWhere,
  wordLane,
} from "./operands.js";
import { byteWidthOf, isTextType, layoutOfValue, type ValueType } from "./types.js";

/**
 * A value. Integers of 64 bits, unscaled decimals, timestamps, durations and dates of milliseconds are
 * bigint; other numbers are number. Lists are arrays.
 */
export type Scalar = null | boolean | number | bigint | string | Uint8Array | readonly Scalar[];

/** True if values of a type are bigint. */
export function isWide(type: ValueType): boolean {
  return type.kind !== "float" && type.kind !== "fixedSizeBinary" && byteWidthOf(type) >= 8;
}

/** Reads the values of a column; nulls are null. */
export function scalarReader(operand: Operand, type: ValueType): (row: number) => Scalar {
  const { column, step } = operand;
  const { validity } = column;
  const read = valueReader(operand, type);
  return (row) => (isValid(validity, row * step) ? read(row * step) : null);
}

function valueReader(operand: Operand, type: ValueType): (index: number) => Scalar {
  const { column } = operand;
  switch (type.kind) {
    case "null":
    case "other":
      return () => null;
    case "bool": {
      if (column.kind !== "bits")
        throw new InternalError(`a column of kind ${column.kind} cannot hold booleans`);
      const { bits, bitOffset } = column;
      return (index) => isValid({ bytes: bits, bitOffset, nullCount: 1 }, index);
    }
    case "string":
    case "binary":
    case "fixedSizeBinary": {
      const { bytes, offsets } = byteLane(operand);
      return isTextType(type)
        ? (index) => decodeText(bytes, offsets[index], offsets[index + 1])
        : (index) => bytes.subarray(offsets[index], offsets[index + 1]);
    }
    case "list": {
      const { items, offsets } = listLane(operand);
      const read = scalarReader({ column: items, step: 1 }, type.item);
      return (index) => {
        const list: Scalar[] = [];
        for (let item = offsets[index]; item < offsets[index + 1]; item++) list.push(read(item));
        return list;
      };
    }
    case "struct": {
      if (column.kind !== "struct" && column.kind !== "packedStruct") {
        throw new InternalError(`a column of kind ${column.kind} cannot hold a struct`);
      }
      const readers = column.children.map((child, member) =>
        scalarReader({ column: child, step: 1 }, type.members[member].type),
      );
      return (index) => readers.map((read) => read(index));
    }
    default: {
      if (!isWide(type)) {
        const numbers = numbersOf(operand, type);
        return (index) => numbers[index];
      }
      const words = wordLane(operand);
      const width = byteWidthOf(type) / 4;
      const isUnsigned = type.kind === "int" && !type.signed;
      return (index) => {
        let slot = (index + 1) * width - 1;
        let value = BigInt(isUnsigned ? words[slot] >>> 0 : words[slot]);
        for (const first = index * width; slot > first; )
          value = (value << 32n) | BigInt(words[--slot] >>> 0);
        return value;
      };
    }
  }
}

export interface ListLane {
  readonly items: Column;
  readonly offsets: Int32Array | Float64Array;
}

export function listLane({ column }: Operand): ListLane {
  switch (column.kind) {
    case "list":
      return { items: column.items, offsets: narrowOffsets(column.offsets) };
    case "fixedSizeList":
    case "sizedList": {
      const offsets = new Int32Array(column.length + 1);
      for (let row = 1; row < offsets.length; row++) offsets[row] = row * column.dimension;
      return { items: column.items, offsets };
    }
  }
  throw new InternalError(`a column of kind ${column.kind} cannot hold lists`);
}

/** Values per step, and units of their texts. */
const STEP_VALUES = 2 ** 12;
const STEP_UNITS = 2 ** 16;

/** Makes a column of many values. */
export function* columnInSteps(type: ValueType, scalars: readonly Scalar[]): Steps<Column> {
  const parts: Column[] = [];
  let first = 0;
  let units = 0;
  for (let index = 0; index < scalars.length; index++) {
    const value = scalars[index];
    if (typeof value === "string" || (typeof value === "object" && value !== null)) units += value.length;
    if (units < STEP_UNITS && index - first < STEP_VALUES) continue;
    parts.push(columnOfScalars(type, scalars.slice(first, index + 1)));
    first = index + 1;
    units = 0;
    yield;
  }
  if (parts.length === 0) return columnOfScalars(type, scalars);
  if (first < scalars.length) parts.push(columnOfScalars(type, scalars.slice(first)));
  return yield* concatInSteps(parts);
}

const STEP_DECODED = 2 ** 20;

export function* textOfBytes(bytes: Uint8Array, start: number, end: number): Steps<string> {
  if (end - start <= STEP_DECODED) return decodeText(bytes, start, end);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  for (let offset = start; offset < end; offset += STEP_DECODED) {
    const stop = Math.min(end, offset + STEP_DECODED);
    text += decoder.decode(bytes.subarray(offset, stop), { stream: stop < end });
    yield;
  }
  return text;
}

/** Makes a column of a few values, or of short ones. */
export function columnOfScalars(type: ValueType, scalars: readonly Scalar[]): Column {
  const { length } = scalars;
  const validity = validWhere(length, (row) => scalars[row] !== null);
  switch (type.kind) {
    case "null":
    case "other":
      return { kind: "null", length, validity: null };
    case "bool": {
      const bits = new Uint8Array((length + 7) >>> 3);
      for (let row = 0; row < length; row++) if (scalars[row] === true) bits[row >>> 3] |= 1 << (row & 7);
      return { kind: "bits", length, validity, bits, bitOffset: 0 };
    }
    case "string":
    case "binary":
      return { kind: "variable", length, validity, ...variableOf(scalars, type.large) };
    case "list": {
      const items: Scalar[] = [];
      const offsets = new Int32Array(length + 1);
      for (let row = 0; row < length; row++) {
        const list = scalars[row];
        if (Array.isArray(list)) for (const item of list) items.push(item);
        offsets[row + 1] = items.length;
      }
      return { kind: "list", length, validity, offsets, items: columnOfScalars(type.item, items) };
    }
    case "struct": {
      const children = type.members.map((member, index) =>
        columnOfScalars(
          member.type,
          scalars.map((value) => (Array.isArray(value) ? (value[index] as Scalar) : null)),
        ),
      );
      return { kind: "struct", length, validity, children };
    }
    case "fixedSizeBinary": {
      const values = new Uint8Array(length * type.bytes);
      for (let row = 0; row < length; row++) {
        const value = scalars[row];
        if (isUint8Array(value)) values.set(value, row * type.bytes);
      }
      return { kind: "fixed", length, validity, byteWidth: type.bytes, values };
    }
    default:
      return {
        kind: "fixed",
        length,
        validity,
        byteWidth: byteWidthOf(type),
        values: fixedOf(type, scalars),
      };
  }
}

function fixedOf(type: ValueType, scalars: readonly Scalar[]): Uint8Array {
  const { length } = scalars;
  const byteWidth = byteWidthOf(type);
  const bytes = new Uint8Array(length * byteWidth);
  const view = new DataView(bytes.buffer);
  for (let row = 0; row < length; row++) {
    const value = scalars[row];
    if (value === null) continue;
    const offset = row * byteWidth;
    if (type.kind === "float") {
      const float = Number(value);
      if (type.bits === 64) view.setFloat64(offset, float, true);
      else if (type.bits === 32) view.setFloat32(offset, float, true);
      else view.setUint16(offset, encodeHalfFloat(float), true);
    } else if (byteWidth <= 4) {
      const integer = Number(value);
      for (let byte = 0; byte < byteWidth; byte++) bytes[offset + byte] = integer >> (8 * byte);
    } else {
      if (typeof value === "number" && byteWidth === 8) {
        view.setInt32(offset, value | 0, true);
        view.setInt32(offset + 4, Math.floor(value / 2 ** 32), true);
        continue;
      }
      let rest = BigInt(value as bigint);
      for (let word = 0; word < byteWidth; word += 8, rest >>= 64n) {
        view.setBigUint64(offset + word, BigInt.asUintN(64, rest), true);
      }
    }
  }
  return bytes;
}

function variableOf(
  scalars: readonly Scalar[],
  large: boolean,
): { offsets: Int32Array | BigInt64Array; bytes: Uint8Array } {
  let max = 0;
  for (const value of scalars) {
    if (typeof value === "string") max += 3 * value.length;
    else if (isUint8Array(value)) max += value.length;
  }
  const target = new Uint8Array(max);
  const offsets = large ? new BigInt64Array(scalars.length + 1) : new Int32Array(scalars.length + 1);
  let end = 0;
  for (let row = 0; row < scalars.length; row++) {
    const value = scalars[row];
    if (typeof value === "string") end = encodeText(value, target, end);
    else if (isUint8Array(value)) {
      target.set(value, end);
      end += value.length;
    }
    offsets[row + 1] = large ? BigInt(end) : end;
  }
  const bytes = end === max ? target : target.slice(0, end);
  return { offsets, bytes };
}

const encoder = new TextEncoder();

/** Writes a text as UTF-8, and returns the offset after it. Most texts are short and ASCII. */
function encodeText(text: string, target: Uint8Array, start: number): number {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x80)
      return start + index + encoder.encodeInto(text.slice(index), target.subarray(start + index)).written;
    target[start + index] = unit;
  }
  return start + text.length;
}

/** Returns the value of a constant. */
export function scalarOf(column: Column, type: ValueType): Scalar {
  return scalarReader({ column, step: 0 }, type)(0);
}

export function nullsOf(type: ValueType, length: number): Column {
  return nullColumn(layoutOfValue(type), length);
}

/** True if a constant is null. */
export const isNullConstant = (column: Column): boolean =>
  column.kind === "null" || !isValid(column.validity, 0);

/** Makes a column of one value of another column. */
export const oneOf = (column: Column, row: number): Column => sliceColumn(column, row, 1);

export function shownScalar(value: Scalar): string {
  const text = isUint8Array(value) ? `a binary of ${value.length} bytes` : String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
