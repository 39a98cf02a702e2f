/** Forms of the values that have several in JavaScript: dates, 64-bit integers, and all that JSON lacks. */

import { type DataType, Type } from "apache-arrow";
import { InvalidInputError } from "../../errors.js";
import type { Validity } from "../columns/column.js";
import { isValid } from "../columns/validity.js";
import { floorDivide, formatDay, formatTime, formatTimeOfDay } from "../types/times.js";

/** Forms of values in objects. */
export interface ValueForms {
  readonly dates: "Date" | "number" | "iso";
  /** `safe`: numbers up to 2^53, texts beyond. */
  readonly bigints: "bigint" | "number" | "string" | "safe";
  /** Present if all values are of JSON. */
  readonly json?: { readonly nonFinite: "null" | "text" };
}

/** Whole numbers of a column: numbers of 32 bits, or bigints. */
type Integers = ArrayLike<number | bigint>;

const DAY_MS = 86_400_000;
const DAY_NANOS = 86_400_000_000_000n;
/** Maximum distance of a Date from 1970, in milliseconds. */
const MAX_DATE = 8.64e15;
/** Nanoseconds in a second, a millisecond, a microsecond and a nanosecond. */
const NANOS = [1_000_000_000n, 1_000_000n, 1000n, 1n];

interface TimeType {
  readonly typeId: number;
  readonly unit?: number;
  readonly timezone?: string | null;
}

/**
 * Returns dates or timestamps.
 * @throws InvalidInputError for a value that a Date cannot hold
 */
export function datesOf(
  values: ArrayLike<unknown>,
  type: DataType,
  validity: Validity | null,
  { dates }: ValueForms,
): unknown[] {
  const { typeId, unit = 0, timezone } = type as unknown as TimeType;
  const isDay = typeId === Type.Date;
  if (dates === "iso") {
    if (isDay)
      return Array.from(values as Integers, unit === 0 ? (day) => formatDay(Number(day)) : textOfDateMs);
    const zone = timezone ? timezone : null;
    return Array.from(values as Integers, (value) => formatTime(BigInt(value) * NANOS[unit], zone));
  }
  const milliseconds =
    isDay && unit === 0 ? days(values as Integers) : moments(values as Integers, isDay ? 1 : unit);
  if (dates === "number") return milliseconds;
  return Array.from(milliseconds, (ms, row) => {
    if (Math.abs(ms) <= MAX_DATE || !isValid(validity, row)) return new Date(ms);
    throw new InvalidInputError(
      `a value of type ${type}, ${ms} ms after 1970, is beyond what a Date holds; pass { dates: "number" } or { dates: "iso" }`,
    );
  });
}

const days = (values: Integers): number[] => Array.from(values, (day) => Number(day) * DAY_MS);

/** Converts instants of any unit to milliseconds. Whole milliseconds stay exact. */
function moments(values: Integers, unit: number): number[] {
  if (unit === 0) return Array.from(values, (value) => Number(value) * 1000);
  if (unit === 1) return Array.from(values, Number);
  const factor = unit === 2 ? 1000n : 1_000_000n;
  const divisor = Number(factor);
  return Array.from(
    values as BigInt64Array,
    (value) => Number(value / factor) + Number(value % factor) / divisor,
  );
}

/** Returns the day; with the time of day if it is not midnight. */
function textOfDateMs(value: number | bigint): string {
  const nanos = BigInt(value) * NANOS[1];
  return nanos % DAY_NANOS === 0n
    ? formatDay(Number(floorDivide(nanos, DAY_NANOS)))
    : formatTime(nanos, null);
}

/** Returns the texts of times of day; values beyond a day stay numbers of the unit. */
export function timesOf(values: ArrayLike<unknown>, type: DataType): unknown[] {
  const { unit = 0 } = type as unknown as TimeType;
  return Array.from(values as Integers, (value) => {
    const nanos = BigInt(value) * NANOS[unit];
    return nanos >= 0n && nanos < DAY_NANOS ? formatTimeOfDay(nanos) : `${value}`;
  });
}

/**
 * Returns 64-bit integers.
 * @throws InvalidInputError for an integer that is not exact as a number
 */
export function longsOf(
  values: ArrayLike<unknown>,
  validity: Validity | null,
  { bigints }: ValueForms,
): unknown[] {
  const longs = values as ArrayLike<bigint>;
  switch (bigints) {
    case "bigint":
      return Array.from(longs);
    case "string":
      return Array.from(longs, String);
    case "safe":
      return Array.from(longs, (value) => (isSafe(value) ? Number(value) : `${value}`));
    case "number":
      return Array.from(longs, (value, row) => {
        if (isSafe(value) || !isValid(validity, row)) return Number(value);
        throw new InvalidInputError(
          `the 64-bit integer ${value} is beyond the numbers that are exact, 2^53; pass { bigints: "bigint" } or { bigints: "string" }`,
        );
      });
  }
}

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const isSafe = (value: bigint): boolean => value <= MAX_SAFE && value >= -MAX_SAFE;
