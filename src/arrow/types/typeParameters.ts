/** Reads and checks parameters of types of any origin: widths, units, sizes, time zones. */

import { type DataType, type Dictionary, Type } from "apache-arrow";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { SEPARATOR, TIME_UNITS, type TimeUnit, timeBits } from "./type.js";

/** Widths of floats, indexed by apache-arrow's precision number. */
export const FLOAT_BITS = [16, 32, 64] as const;

/** Maximum items or bytes of one fixed-size value. Arrow stores the number in 32 bits. */
export const MAX_FIXED_SIZE = 0x7fffffff;

/** Parameters of a type of any version of apache-arrow. `typeId` determines which ones are present. */
export interface ForeignType {
  readonly typeId: number;
  readonly isSigned?: boolean;
  readonly bitWidth?: number;
  readonly precision?: number;
  readonly scale?: number;
  readonly unit?: number;
  readonly timezone?: string | null;
  readonly byteWidth?: number;
  readonly listSize?: number;
  readonly mode?: number;
  readonly typeIds?: ArrayLike<number>;
  readonly keysSorted?: boolean;
  readonly children?: readonly ForeignField[] | null;
  readonly indices?: ForeignType;
  readonly dictionary?: ForeignType;
  readonly isOrdered?: boolean;
}

/** A field of any version of apache-arrow. */
export interface ForeignField {
  readonly name: string;
  readonly type: ForeignType;
  readonly nullable: boolean;
  readonly metadata?: ReadonlyMap<string, string> | null;
}

/** The value type of a dictionary; null for other types. */
export function valueTypeOf(type: DataType): DataType | null {
  return (type as ForeignType).typeId === Type.Dictionary ? (type as Dictionary).dictionary : null;
}

/** Type numbers of Schema.fbs that apache-arrow does not have. */
export const RUN_END_ENCODED_TYPE = 22;
export const LIST_VIEW_TYPE = 25;
export const LARGE_LIST_VIEW_TYPE = 26;

const FOREIGN_TYPES = new Map([
  [RUN_END_ENCODED_TYPE, "RunEndEncoded"],
  [LIST_VIEW_TYPE, "ListView"],
  [LARGE_LIST_VIEW_TYPE, "LargeListView"],
]);

/** Names a type that apache-arrow does not have, for messages. */
export const typeOfNumber = (typeId: number): string =>
  FOREIGN_TYPES.get(typeId) ?? `number ${typeId} of Arrow`;

export function unsupported(type: DataType, path: string): UnsupportedError {
  return new UnsupportedError(`column ${path}: type ${type} is not supported by this release`);
}

export function integerBits(type: ForeignType, path: string): 8 | 16 | 32 | 64 {
  switch (type.bitWidth) {
    case 8:
    case 16:
    case 32:
    case 64:
      return type.bitWidth;
  }
  throw new InvalidInputError(`column ${path}: no integer has ${type.bitWidth} bits`);
}

export function floatPrecision(type: ForeignType, path: string): 0 | 1 | 2 {
  const { precision } = type;
  if (precision === 0 || precision === 1 || precision === 2) return precision;
  throw new InvalidInputError(`column ${path}: no float has precision ${precision}`);
}

export function decimalBits(type: ForeignType, path: string): 128 | 256 {
  const { bitWidth, precision = 0, scale = 0 } = type;
  if (bitWidth !== 128 && bitWidth !== 256) {
    throw new UnsupportedError(
      `column ${path}: decimals of ${bitWidth} bits are not supported by this release`,
    );
  }
  const digits = bitWidth === 128 ? 38 : 76;
  if (!Number.isInteger(precision) || precision < 1 || precision > digits) {
    throw new InvalidInputError(`column ${path}: no decimal of ${bitWidth} bits has precision ${precision}`);
  }
  if (!Number.isInteger(scale) || scale < -128 || scale > 127) {
    throw new InvalidInputError(`column ${path}: no decimal has scale ${scale}`);
  }
  return bitWidth;
}

/** Returns the unit of a time of day, after checking that its bits agree with it. */
export function timeOfDayUnit(type: ForeignType, path: string): TimeUnit {
  const unit = timeUnit(type, path);
  if (type.bitWidth !== timeBits(unit)) {
    throw new InvalidInputError(`column ${path}: no time in ${unit} has ${type.bitWidth} bits`);
  }
  return unit;
}

export function timeUnit(type: ForeignType, path: string): TimeUnit {
  const unit = TIME_UNITS[type.unit ?? -1];
  if (unit === undefined) throw new InvalidInputError(`column ${path}: ${type.unit} is not a unit of time`);
  return unit;
}

export function timeZone(type: ForeignType, path: string): string | null {
  const zone = type.timezone;
  if (zone === null || zone === undefined || zone === "") return null;
  if (zone.includes(SEPARATOR) || zone === "-") {
    throw new InvalidInputError(
      `column ${path}: time zone ${JSON.stringify(zone)} cannot be stored; use a name such as "UTC" or "Europe/Berlin"`,
    );
  }
  return zone;
}

export function fixedSize(size: number | undefined, unit: string, path: string): number {
  if (size === undefined || !Number.isInteger(size) || size < 0 || size > MAX_FIXED_SIZE) {
    throw new InvalidInputError(`column ${path}: no value has ${size} ${unit}`);
  }
  if (size === 0)
    throw new UnsupportedError(`column ${path}: values of 0 ${unit} are not supported by this release`);
  return size;
}
