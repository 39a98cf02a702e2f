/** Which type two expressions are brought to, as the reference does it. */

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

/** The type that two operands of a comparison are brought to; null where they can't be compared. */
export function comparedType(one: ValueType, other: ValueType): ValueType | null {
  if (areSame(one, other)) return one;
  if (one.kind === "null") return other;
  if (other.kind === "null") return one;
  if (isNumeric(one) && isNumeric(other)) return numericType(one, other);
  if (one.kind === "string" && other.kind === "string") return LARGE_STRING;
  if (isBinary(one) && isBinary(other)) return { kind: "binary", large: isLarge(one) || isLarge(other) };
  if (one.kind === "string" && isBinary(other)) return other;
  if (other.kind === "string" && isBinary(one)) return one;
  if (one.kind === "list" && other.kind === "list") {
    const item = comparedType(one.item, other.item);
    return item === null ? null : { kind: "list", large: false, size: null, item };
  }
  const temporal = temporalType(one, other) ?? temporalType(other, one);
  if (temporal !== null) return temporal;
  if (one.kind === "string" && isTextual(other)) return other;
  if (other.kind === "string" && isTextual(one)) return one;
  return null;
}

const isBinary = (type: ValueType): boolean => type.kind === "binary" || type.kind === "fixedSizeBinary";
const isLarge = (type: ValueType): boolean => "large" in type && type.large;

/** Types that are read from text where the two are compared. */
const isTextual = (type: ValueType): boolean =>
  isNumeric(type) || type.kind === "date" || type.kind === "timestamp" || type.kind === "time";

function temporalType(one: ValueType, other: ValueType): ValueType | null {
  if (one.kind === "date" && other.kind === "date") return { kind: "date", bits: 64 };
  if (one.kind === "date" && other.kind === "timestamp") return other;
  if (one.kind === "timestamp" && other.kind === "timestamp") {
    if (one.timezone !== null && other.timezone !== null && one.timezone !== other.timezone) {
      return timestamp(coarser(one.unit, other.unit), one.timezone);
    }
    return timestamp(coarser(one.unit, other.unit), one.timezone ?? other.timezone);
  }
  if (one.kind === "time" && other.kind === "time")
    return { kind: "time", unit: finer(one.unit, other.unit) };
  if (one.kind === "duration" && other.kind === "duration") {
    return { kind: "duration", unit: finer(one.unit, other.unit) };
  }
  return null;
}

/** Timestamps are compared and subtracted at the coarser of two resolutions, and lose what is finer. */
export const coarser = (one: TimeUnit, other: TimeUnit): TimeUnit =>
  TICKS_PER_SECOND[one] <= TICKS_PER_SECOND[other] ? one : other;

const finer = (one: TimeUnit, other: TimeUnit): TimeUnit =>
  TICKS_PER_SECOND[one] >= TICKS_PER_SECOND[other] ? one : other;

/** The type that two numbers are brought to. */
export function numericType(one: NumericType, other: NumericType): NumericType {
  if (areSame(one, other)) return one;
  if (one.kind === "decimal" || other.kind === "decimal") return decimalWith(one, other);
  if (one.kind === "float" || other.kind === "float") {
    const bits = Math.max(one.kind === "float" ? one.bits : 0, other.kind === "float" ? other.bits : 0);
    return bits === 64 ? FLOAT64 : FLOAT32;
  }
  return integerType(one, other);
}

function decimalWith(one: NumericType, other: NumericType): NumericType {
  if (one.kind === "float" || other.kind === "float") return FLOAT64;
  const a = one.kind === "decimal" ? one : decimalOf(one);
  const b = other.kind === "decimal" ? other : decimalOf(other);
  const scale = Math.max(a.scale, b.scale);
  const whole = Math.max(a.precision - a.scale, b.precision - b.scale);
  const bits = a.bits === 256 || b.bits === 256 ? 256 : 128;
  return { kind: "decimal", bits, precision: Math.min(whole + scale, bits === 256 ? 76 : 38), scale };
}

const INTEGER_DIGITS = { 8: 3, 16: 5, 32: 10, 64: 20 } as const;

const decimalOf = ({ bits }: IntegerType) =>
  ({ kind: "decimal", bits: 128, precision: INTEGER_DIGITS[bits], scale: 0 }) as const;

function integerType(one: IntegerType, other: IntegerType): NumericType {
  if (one.signed === other.signed) return one.bits >= other.bits ? one : other;
  const unsigned = one.signed ? other : one;
  const signed = one.signed ? one : other;
  if (unsigned.bits === 64) return { kind: "decimal", bits: 128, precision: 20, scale: 0 };
  if (signed.bits > unsigned.bits) return signed;
  return { kind: "int", bits: unsigned.bits === 8 ? 16 : unsigned.bits === 16 ? 32 : 64, signed: true };
}

/** The type of values that one expression may give: of CASE, COALESCE, lists. */
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
