/** The common types of two expressions, as in the reference. */

import type { IntegerType, TimeUnit } from "../../arrow/types/type.js";
import {
  areSame,
  FLOAT32,
  FLOAT64,
  isNumeric,
  LARGE_STRING,
  type NumericType,
  TICKS_PER_SECOND,
  timestamp,
  type ValueType,
} from "./types.js";

/** Returns the type in which two operands are compared; null if they cannot be. */
export function comparedType(left: ValueType, right: ValueType): ValueType | null {
  if (areSame(left, right)) return left;
  if (left.kind === "null") return right;
  if (right.kind === "null") return left;
  if (isNumeric(left) && isNumeric(right)) return numericType(left, right);
  if (left.kind === "string" && right.kind === "string") return LARGE_STRING;
  if (isBinary(left) && isBinary(right)) return { kind: "binary", large: isLarge(left) || isLarge(right) };
  if (left.kind === "string" && isBinary(right)) return right;
  if (right.kind === "string" && isBinary(left)) return left;
  if (left.kind === "list" && right.kind === "list") {
    const item = comparedType(left.item, right.item);
    return item === null ? null : { kind: "list", large: false, size: null, item };
  }
  const temporal = temporalType(left, right) ?? temporalType(right, left);
  if (temporal !== null) return temporal;
  if (left.kind === "string" && isTextual(right)) return right;
  if (right.kind === "string" && isTextual(left)) return left;
  return null;
}

const isBinary = (type: ValueType): boolean => type.kind === "binary" || type.kind === "fixedSizeBinary";
const isLarge = (type: ValueType): boolean => "large" in type && type.large;

/** True for types whose values are read from a text that they are compared with. */
const isTextual = (type: ValueType): boolean =>
  isNumeric(type) || type.kind === "date" || type.kind === "timestamp" || type.kind === "time";

function temporalType(left: ValueType, right: ValueType): ValueType | null {
  if (left.kind === "date" && right.kind === "date") return { kind: "date", bits: 64 };
  if (left.kind === "date" && right.kind === "timestamp") return right;
  if (left.kind === "timestamp" && right.kind === "timestamp") {
    if (left.timezone !== null && right.timezone !== null && left.timezone !== right.timezone) {
      return timestamp(coarser(left.unit, right.unit), left.timezone);
    }
    return timestamp(coarser(left.unit, right.unit), left.timezone ?? right.timezone);
  }
  if (left.kind === "time" && right.kind === "time")
    return { kind: "time", unit: finer(left.unit, right.unit) };
  if (left.kind === "duration" && right.kind === "duration") {
    return { kind: "duration", unit: finer(left.unit, right.unit) };
  }
  return null;
}

/** Timestamps are compared and subtracted at the coarser of two resolutions, and lose finer digits. */
export const coarser = (left: TimeUnit, right: TimeUnit): TimeUnit =>
  TICKS_PER_SECOND[left] <= TICKS_PER_SECOND[right] ? left : right;

const finer = (left: TimeUnit, right: TimeUnit): TimeUnit =>
  TICKS_PER_SECOND[left] >= TICKS_PER_SECOND[right] ? left : right;

export function numericType(left: NumericType, right: NumericType): NumericType {
  if (areSame(left, right)) return left;
  if (left.kind === "decimal" || right.kind === "decimal") return decimalWith(left, right);
  if (left.kind === "float" || right.kind === "float") {
    const bits = Math.max(left.kind === "float" ? left.bits : 0, right.kind === "float" ? right.bits : 0);
    return bits === 64 ? FLOAT64 : FLOAT32;
  }
  return integerType(left, right);
}

function decimalWith(left: NumericType, right: NumericType): NumericType {
  if (left.kind === "float" || right.kind === "float") return FLOAT64;
  const a = left.kind === "decimal" ? left : decimalOf(left);
  const b = right.kind === "decimal" ? right : decimalOf(right);
  const scale = Math.max(a.scale, b.scale);
  const whole = Math.max(a.precision - a.scale, b.precision - b.scale);
  const bits = a.bits === 256 || b.bits === 256 ? 256 : 128;
  return { kind: "decimal", bits, precision: Math.min(whole + scale, bits === 256 ? 76 : 38), scale };
}

const INTEGER_DIGITS = { 8: 3, 16: 5, 32: 10, 64: 20 } as const;

const decimalOf = ({ bits }: IntegerType) =>
  ({ kind: "decimal", bits: 128, precision: INTEGER_DIGITS[bits], scale: 0 }) as const;

function integerType(left: IntegerType, right: IntegerType): NumericType {
  if (left.signed === right.signed) return left.bits >= right.bits ? left : right;
  const unsigned = left.signed ? right : left;
  const signed = left.signed ? left : right;
  if (unsigned.bits === 64) return { kind: "decimal", bits: 128, precision: 20, scale: 0 };
  if (signed.bits > unsigned.bits) return signed;
  return { kind: "int", bits: unsigned.bits === 8 ? 16 : unsigned.bits === 16 ? 32 : 64, signed: true };
}

/** Returns the common type of alternatives: of CASE, COALESCE, and lists. */
export function unitedType(types: readonly ValueType[]): ValueType | null {
  let united: ValueType | null = null;
  for (const type of types) {
    if (type.kind === "null") continue;
    const next: ValueType | null = united === null ? type : comparedType(united, type);
    if (next === null) return null;
    united = next;
  }
  return united ?? { kind: "null" };
}
