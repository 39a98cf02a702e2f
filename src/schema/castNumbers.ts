/** Casts values of fixed width: integers, floats, decimals, dates, times and durations. */

import type { FixedColumn } from "../arrow/columns/column.js";
import { isValid } from "../arrow/columns/validity.js";
import { formatDecimal } from "../arrow/objects/decimalText.js";
import { type LogicalType, type TimeUnit, timeBits, typeInText } from "../arrow/types/type.js";
import { alignedBytes } from "../bytes/aligned.js";
import { decodeHalfFloat, encodeHalfFloat } from "../bytes/halfFloat.js";
import { InternalError, TableSchemaValidationError } from "../errors.js";
import type { Cast } from "./castRows.js";

/** The meaning of a value of fixed width. */
type NumberType =
  | { readonly kind: "integer"; readonly bytes: number; readonly signed: boolean }
  | { readonly kind: "float"; readonly bytes: number }
  | { readonly kind: "decimal"; readonly bytes: number; readonly precision: number; readonly scale: number }
  | {
      readonly kind: "ticks";
      readonly bytes: number;
      /** Ticks are cast only to ticks of the same meaning. */
      readonly meaning: "instant" | "time" | "duration";
      readonly nanosPerTick: bigint;
      /** Time zone of instants; null for none. */
      readonly zone: string | null;
    };

const NANOS_PER_UNIT: Readonly<Record<TimeUnit | "day", bigint>> = {
  day: 86_400_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1_000n,
  ns: 1n,
};

/** Null for types whose values are not numbers. */
function numberTypeOf(type: LogicalType): NumberType | null {
  const ticks = (
    meaning: "instant" | "time" | "duration",
    bits: 32 | 64,
    unit: TimeUnit | "day",
    zone: string | null = null,
  ): NumberType => ({ kind: "ticks", bytes: bits / 8, meaning, nanosPerTick: NANOS_PER_UNIT[unit], zone });
  switch (type.kind) {
    case "int":
      return { kind: "integer", bytes: type.bits / 8, signed: type.signed };
    case "float":
      return { kind: "float", bytes: type.bits / 8 };
    case "decimal":
      return { kind: "decimal", bytes: type.bits / 8, precision: type.precision, scale: type.scale };
    case "date":
      return ticks("instant", type.bits, type.bits === 32 ? "day" : "ms");
    case "timestamp":
      return ticks("instant", 64, type.unit, type.timezone);
    case "time":
      return ticks("time", timeBits(type.unit), type.unit);
    case "duration":
      return ticks("duration", 64, type.unit);
    default:
      return null;
  }
}

/** The cast between types of fixed width; null if there is none. */
export function numberCast(fromType: LogicalType, toType: LogicalType, path: string): Cast | null {
  const [from, to] = [numberTypeOf(fromType), numberTypeOf(toType)];
  if (from === null || to === null) return null;
  const name = typeInText(toType);
  /** Row of the value that is being cast, for errors. */
  let current = (): number => 0;
  const refuse = (value: number | bigint): never => {
    const shown = from.kind === "decimal" ? formatDecimal(BigInt(value), from.scale) : value;
    throw new TableSchemaValidationError(
      `row ${current()}, column ${path}: value ${shown} does not fit type ${name}`,
    );
  };
  const convert = conversion(from, to, refuse);
  if (convert === null) return null;
  const read = reader(from);
  const write = writer(to, refuse);
  return (column, rowOf) => {
    if (column.kind !== "fixed")
      throw new InternalError(`a column of kind ${column.kind} cannot hold a number`);
    const { length, validity } = column;
    const values = read(column);
    const { bytes, set } = write(length);
    let row = 0;
    current = () => rowOf(row);
    for (; row < length; row++) {
      // The slot of a null may hold any bytes. The result has 0 there.
      if (isValid(validity, row)) set(row, convert(values(row)));
    }
    return { kind: "fixed", length, validity, byteWidth: to.bytes, values: bytes };
  };
}

type Ticks = Extract<NumberType, { kind: "ticks" }>;
type Refuse = (value: number | bigint) => never;
type Convert = (value: number | bigint) => number | bigint;

/** Returns the function that converts a value before the range of its result is checked. */
function conversion(from: NumberType, to: NumberType, refuse: Refuse): Convert | null {
  if (from.kind === "integer" && to.kind === "float") {
    return (value) => {
      const float = to.bytes === 8 ? Number(value) : roundFloat(Number(value), to.bytes);
      return Number.isFinite(float) && BigInt(float) === BigInt(value) ? float : refuse(value);
    };
  }
  if (from.kind === "float" && to.kind === "integer") {
    return (value) => (Number.isInteger(value) ? value : refuse(value));
  }
  if (from.kind !== to.kind) return null;
  if (from.kind === "ticks" && to.kind === "ticks") {
    if (from.meaning !== to.meaning || !zonesAgree(from, to)) return null;
    return rescale(from.nanosPerTick, to.nanosPerTick, refuse);
  }
  if (from.kind === "decimal" && to.kind === "decimal") {
    const shift = to.scale - from.scale;
    const limit = 10n ** BigInt(to.precision);
    const scaled = rescale(10n ** BigInt(Math.max(shift, 0)), 10n ** BigInt(Math.max(-shift, 0)), refuse);
    return (value) => {
      const result = scaled(value) as bigint;
      return result < limit && -result < limit ? result : refuse(value);
    };
  }
  return (value) => value;
}

/** True if a cast keeps the instant. Local time has none, so it casts only to and from UTC. */
function zonesAgree(from: Ticks, to: Ticks): boolean {
  if (from.zone !== null && to.zone !== null) return true;
  return [from.zone, to.zone].every((zone) => zone === null || zone === "UTC");
}

/** Multiplies by `multiplier` and divides by `divisor`; refuses a value that leaves a remainder. */
function rescale(multiplier: bigint, divisor: bigint, refuse: Refuse): Convert {
  return (value) => {
    const product = BigInt(value) * multiplier;
    return product % divisor === 0n ? product / divisor : refuse(value);
  };
}

function roundFloat(value: number, bytes: number): number {
  return bytes === 4 ? Math.fround(value) : decodeHalfFloat(encodeHalfFloat(value));
}

type Values = (row: number) => number | bigint;

function reader(type: NumberType): (column: FixedColumn) => Values {
  if (type.kind === "decimal") {
    return ({ values }) => {
      const words = new DataView(values.buffer, values.byteOffset, values.byteLength);
      return (row) => {
        let value = words.getBigInt64((row + 1) * type.bytes - 8, true);
        for (let word = type.bytes - 16; word >= 0; word -= 8) {
          value = (value << 64n) | words.getBigUint64(row * type.bytes + word, true);
        }
        return value;
      };
    };
  }
  const Numbers = arrayOf(type);
  return ({ values, length }) => {
    const bytes = alignedBytes(values, type.bytes);
    const numbers = new Numbers(bytes.buffer as ArrayBuffer, bytes.byteOffset, length);
    if (type.kind === "float" && type.bytes === 2) return (row) => decodeHalfFloat(Number(numbers[row]));
    return (row) => numbers[row];
  };
}

type Writer = (length: number) => { bytes: Uint8Array; set: (row: number, value: number | bigint) => void };

/** Returns the function that writes values of a type; it refuses values that the type cannot hold. */
function writer(type: NumberType, refuse: Refuse): Writer {
  if (type.kind === "decimal") {
    return (length) => {
      const bytes = new Uint8Array(length * type.bytes);
      const words = new DataView(bytes.buffer);
      return {
        bytes,
        set: (row, value) => {
          let rest = BigInt(value);
          for (let word = 0; word < type.bytes; word += 8) {
            words.setBigInt64(row * type.bytes + word, BigInt.asIntN(64, rest), true);
            rest >>= 64n;
          }
        },
      };
    };
  }
  const Numbers = arrayOf(type);
  return (length) => {
    const numbers = new Numbers(length);
    const bytes = new Uint8Array(numbers.buffer);
    if (type.kind === "float") {
      const set = (row: number, value: number | bigint) => {
        const float = Number(value);
        const rounded = type.bytes === 8 ? float : roundFloat(float, type.bytes);
        if (!Number.isFinite(rounded) && Number.isFinite(float)) refuse(value);
        numbers[row] = type.bytes === 2 ? encodeHalfFloat(float) : float;
      };
      return { bytes, set };
    }
    const signed = type.kind === "ticks" || type.signed;
    const bits = BigInt(type.bytes * 8);
    const lowest = signed ? -(1n << (bits - 1n)) : 0n;
    const highest = signed ? (1n << (bits - 1n)) - 1n : (1n << bits) - 1n;
    const set = (row: number, value: number | bigint) => {
      // JavaScript compares numbers and bigints by value.
      if (value < lowest || value > highest) refuse(value);
      numbers[row] = type.bytes === 8 ? BigInt(value) : Number(value);
    };
    return { bytes, set };
  };
}

/** An array of numbers that holds values of a type. */
interface NumberArray {
  readonly buffer: ArrayBufferLike;
  [row: number]: number | bigint;
}
interface NumberArrayConstructor {
  new (length: number): NumberArray;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): NumberArray;
}

function arrayOf(type: Exclude<NumberType, { kind: "decimal" }>): NumberArrayConstructor {
  const signed = type.kind === "ticks" || (type.kind === "integer" && type.signed);
  const arrays = signed ? SIGNED_ARRAYS : type.kind === "float" ? FLOAT_ARRAYS : UNSIGNED_ARRAYS;
  const arrayClass = arrays[type.bytes];
  if (arrayClass === undefined) throw new InternalError(`numbers of ${type.bytes} bytes are unknown`);
  return arrayClass as unknown as NumberArrayConstructor;
}

const SIGNED_ARRAYS: Readonly<Record<number, unknown>> = {
  1: Int8Array,
  2: Int16Array,
  4: Int32Array,
  8: BigInt64Array,
};
const UNSIGNED_ARRAYS: Readonly<Record<number, unknown>> = {
  1: Uint8Array,
  2: Uint16Array,
  4: Uint32Array,
  8: BigUint64Array,
};
const FLOAT_ARRAYS: Readonly<Record<number, unknown>> = { 2: Uint16Array, 4: Float32Array, 8: Float64Array };
