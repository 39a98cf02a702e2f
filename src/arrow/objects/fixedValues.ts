/** Converts JavaScript values to columns of a fixed width: numbers, times, decimals, bytes of one length. */

import { Type } from "apache-arrow";
import { isDate } from "../../bytes/anyRealm.js";
import { decodeBase64 } from "../../bytes/base64.js";
import { encodeHalfFloat } from "../../bytes/halfFloat.js";
import { bytesOf } from "../../bytes/view.js";
import { InternalError } from "../../errors.js";
import { parseDay, parseInstant, parseTimeOfDay } from "../types/parsedTimes.js";
import { floorDivide } from "../types/times.js";
import { unscaledOf } from "./decimalText.js";
import { refuseRow, refuseValue, type TypedValues } from "./faults.js";
import { binaryOf, isNullish } from "./valueKinds.js";

interface NumericType {
  readonly typeId: number;
  readonly isSigned?: boolean;
  readonly unit?: number;
  readonly timezone?: string | null;
  readonly scale?: number;
  readonly precision?: number;
}

/** Returns little-endian values, with zeros for missing ones. @throws TableSchemaValidationError */
export function fixedValues(typed: TypedValues, byteWidth: number): Uint8Array {
  const { typeId, isSigned = true, unit = 0, timezone } = typed.type as unknown as NumericType;
  switch (typeId) {
    case Type.Int:
      return byteWidth === 8
        ? longs(typed, exactInteger, isSigned)
        : smallIntegers(typed, byteWidth, isSigned, unchanged);
    case Type.Float:
      return floats(typed, byteWidth);
    case Type.Time: {
      const ticksOf = (value: unknown) => timeOf(value, unit);
      return byteWidth === 8
        ? longs(typed, (value) => exactInteger(ticksOf(value)))
        : smallIntegers(typed, byteWidth, true, ticksOf);
    }
    case Type.Duration:
      return longs(typed, exactInteger);
    case Type.Timestamp:
      return longs(typed, (value) => inUnit(value, unit, timezone ?? null));
    case Type.Date:
      return unit === 0
        ? smallIntegers(typed, byteWidth, true, daysOf)
        : longs(typed, (value) => inUnit(value, 1, null));
    case Type.Decimal:
      return decimals(typed, byteWidth);
    case Type.FixedSizeBinary:
      return fixedBinaries(typed, byteWidth);
    default:
      throw new InternalError(`values of type ${typed.type} have no fixed width`);
  }
}

type IntegerArray = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;

function integersFor(byteWidth: number, isSigned: boolean, length: number): IntegerArray {
  if (byteWidth === 1) return isSigned ? new Int8Array(length) : new Uint8Array(length);
  if (byteWidth === 2) return isSigned ? new Int16Array(length) : new Uint16Array(length);
  return isSigned ? new Int32Array(length) : new Uint32Array(length);
}

const unchanged = (value: unknown): unknown => value;

function smallIntegers(
  typed: TypedValues,
  byteWidth: number,
  isSigned: boolean,
  convert: (value: unknown) => unknown,
): Uint8Array {
  const { values } = typed;
  const integers = integersFor(byteWidth, isSigned, values.length);
  for (let index = 0; index < values.length; index++) {
    const value = convert(values[index]);
    if (isNullish(value)) continue;
    const number = typeof value === "bigint" ? Number(value) : value;
    if (typeof number !== "number") refuseValue(typed, index);
    integers[index] = number;
    // A number that does not fit reads back as another one.
    if (integers[index] !== number) refuseValue(typed, index);
  }
  return bytesOf(integers);
}

const MAX_SIGNED = 2n ** 63n - 1n;
const MIN_SIGNED = -(2n ** 63n);
const MAX_UNSIGNED = 2n ** 64n - 1n;
const WORD = 2 ** 32;

/** Encodes 64-bit integers. It splits numbers that are exact as doubles into words without bigints. */
function longs(
  typed: TypedValues,
  convert: (value: unknown) => number | bigint | null,
  isSigned = true,
): Uint8Array {
  const { values } = typed;
  const words = new Uint32Array(2 * values.length);
  const whole = new BigInt64Array(words.buffer);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (isNullish(value)) continue;
    const converted = convert(value);
    if (typeof converted === "number" && (isSigned || converted >= 0)) {
      words[2 * index] = converted;
      words[2 * index + 1] = Math.floor(converted / WORD);
    } else if (typeof converted === "bigint" && isLong(converted, isSigned)) {
      whole[index] = converted;
    } else {
      refuseValue(typed, index);
    }
  }
  return bytesOf(words);
}

const isLong = (value: bigint, isSigned: boolean): boolean =>
  isSigned ? value >= MIN_SIGNED && value <= MAX_SIGNED : value >= 0n && value <= MAX_UNSIGNED;

/** Refuses numbers beyond 2^53: rounding may have changed them. */
function exactLong(value: unknown): number | bigint | null {
  if (typeof value === "bigint") return value;
  return Number.isSafeInteger(value) ? (value as number) : null;
}

const INTEGER_TEXT = /^[+-]?\d{1,40}$/;

/** Returns a 64-bit integer. JSON holds large ones as texts. */
const exactInteger = (value: unknown): number | bigint | null =>
  typeof value === "string" && INTEGER_TEXT.test(value) ? BigInt(value) : exactLong(value);

/** Nanoseconds in a second, a millisecond, a microsecond and a nanosecond. */
const NANOS_PER_UNIT = [1_000_000_000n, 1_000_000n, 1000n, 1n];

/** Returns the time of day of a text, in a type's unit. Returns any other value unchanged. */
function timeOf(value: unknown, unit: number): unknown {
  if (typeof value !== "string") return value;
  const nanos = parseTimeOfDay(value);
  return nanos === null ? value : nanos / NANOS_PER_UNIT[unit];
}

/** Units per millisecond, for seconds, milliseconds, microseconds and nanoseconds. */
const PER_MILLISECOND = [0.001, 1, 1000, 1_000_000];

/**
 * Returns an instant in a type's unit, truncated as by CAST; null if it is none, or a number between two
 * units.
 */
function inUnit(value: unknown, unit: number, zone: string | null): number | bigint | null {
  if (typeof value === "bigint") return value;
  if (typeof value === "string") {
    const nanos = parseInstant(value, zone);
    return nanos && floorDivide(nanos, NANOS_PER_UNIT[unit]);
  }
  const isMoment = isDate(value);
  const milliseconds = isMoment ? value.getTime() : value;
  if (typeof milliseconds !== "number" || !Number.isFinite(milliseconds)) return null;
  if (unit === 0 && isMoment) return Math.floor(milliseconds / 1000);
  if (unit === 0) return Number.isSafeInteger(milliseconds / 1000) ? milliseconds / 1000 : null;
  const scaled = Math.round(milliseconds * PER_MILLISECOND[unit]);
  if (unit === 1 && scaled !== milliseconds) return null;
  if (Number.isSafeInteger(scaled)) return scaled;
  // A product of this size is exact only as a bigint.
  return Number.isSafeInteger(milliseconds) ? BigInt(milliseconds) * BigInt(PER_MILLISECOND[unit]) : null;
}

const DAY_MS = 86_400_000;

/** Returns the UTC day of a text, a Date, or a number at midnight; other values unchanged, to be refused. */
function daysOf(value: unknown): unknown {
  if (isNullish(value)) return null;
  if (typeof value === "bigint") return value;
  if (typeof value === "string") return parseDay(value) ?? value;
  if (isDate(value)) return Math.floor(value.getTime() / DAY_MS);
  return typeof value === "number" ? value / DAY_MS : value;
}

/** Texts that stand for the floats that JSON lacks. */
const FLOAT_TEXTS: ReadonlyMap<unknown, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

function floats(typed: TypedValues, byteWidth: number): Uint8Array {
  const { values } = typed;
  const { length } = values;
  const isHalf = byteWidth === 2;
  const Floats = byteWidth === 8 ? Float64Array : isHalf ? Uint16Array : Float32Array;
  const floats = new Floats(length);
  for (let index = 0; index < length; index++) {
    let value = values[index];
    if (typeof value !== "number") {
      if (isNullish(value)) continue;
      value = FLOAT_TEXTS.get(value) ?? floatOfBigint(value);
      if (value === null) refuseValue(typed, index);
    }
    floats[index] = isHalf ? encodeHalfFloat(value as number) : (value as number);
  }
  if (byteWidth < 8 || typed.origin.isFromJson === true) refuseOverflow(typed, floats, isHalf);
  return bytesOf(floats);
}

/** Returns the float that equals a bigint; null if there is none, and for other values. */
function floatOfBigint(value: unknown): number | null {
  if (typeof value !== "bigint") return null;
  const float = Number(value);
  return Number.isFinite(float) && BigInt(float) === value ? float : null;
}

/**
 * Refuses finite numbers that became infinite because the type has fewer bits, and infinite ones that
 * JSON.parse made.
 */
function refuseOverflow(typed: TypedValues, floats: ArrayLike<number>, isHalf: boolean): void {
  for (let index = 0; index < floats.length; index++) {
    const isInfinite = isHalf ? (floats[index] & 0x7fff) === 0x7c00 : Math.abs(floats[index]) === Infinity;
    const value = typed.values[index];
    if (!isInfinite || typeof value === "string") continue;
    if (Number.isFinite(Number(value))) refuseValue(typed, index);
    if (typed.origin.isFromJson === true) {
      refuseRow(typed.origin, index, `the number is beyond the range of type ${typed.type}`);
    }
  }
}

function decimals(typed: TypedValues, byteWidth: number): Uint8Array {
  const { values } = typed;
  const { scale = 0, precision = 0 } = typed.type as unknown as NumericType;
  const bytes = new Uint8Array(values.length * byteWidth);
  const words = new BigUint64Array(bytes.buffer);
  const perValue = byteWidth / 8;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (isNullish(value)) continue;
    const isNumeric = typeof value === "string" || typeof value === "number" || typeof value === "bigint";
    let unscaled = isNumeric ? unscaledOf(String(value), precision, scale) : null;
    if (unscaled === null) refuseValue(typed, index);
    for (let word = 0; word < perValue; word++) {
      words[index * perValue + word] = BigInt.asUintN(64, unscaled);
      unscaled >>= 64n;
    }
  }
  return bytes;
}

function fixedBinaries(typed: TypedValues, byteWidth: number): Uint8Array {
  const { values } = typed;
  const bytes = new Uint8Array(values.length * byteWidth);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (isNullish(value)) continue;
    const item = binaryOf(value) ?? decodeBase64(value);
    if (item === null || item.length !== byteWidth) refuseValue(typed, index);
    bytes.set(item, index * byteWidth);
  }
  return bytes;
}
