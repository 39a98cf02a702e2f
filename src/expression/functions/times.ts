/** Functions of days and instants. The parts of an instant with a zone are those of its local time. */

import { dayOf, daysOf, floorDivide, instantOf, zoneOffset } from "../../arrow/types/times.js";
import type { TimestampType, TimeUnit } from "../../arrow/types/type.js";
import { perRow } from "../kernels/arithmetic.js";
import { castKernel } from "../kernels/casts.js";
import { type Scalar, scalarReader } from "../values/scalars.js";
import {
  DATE,
  FLOAT64,
  INT32,
  INT64,
  STRING,
  TICKS_PER_SECOND,
  timestamp,
  type ValueType,
} from "../values/types.js";
import { type FunctionDefinition, type Functions, operandCount, textOperands, wantsText } from "./form.js";
import { rowKernel } from "./textForm.js";

export const NANOS_PER_DAY = 86_400_000_000_000n;
export const NANOS_PER_SECOND = 1_000_000_000n;
export const timeOperands = "a date or timestamp is expected";

/** Returns the nanoseconds of local time of a value. */
export function localNanos(value: Scalar, type: ValueType): bigint {
  if (type.kind === "date")
    return BigInt(value as number | bigint) * (type.bits === 32 ? NANOS_PER_DAY : 1_000_000n);
  if (type.kind === "time") return BigInt(value as number | bigint) * nanosOf(type.unit);
  if (type.kind !== "timestamp") return 0n;
  const nanos = (value as bigint) * nanosOf(type.unit);
  if (type.timezone === null) return nanos;
  return nanos + BigInt(zoneOffset(type.timezone, Number(floorDivide(nanos, 1_000_000n)))) * 1_000_000n;
}

const nanosOf = (unit: TimeUnit): bigint => BigInt(1_000_000_000 / TICKS_PER_SECOND[unit]);

/** Returns a part of a day, or of a time. The names may be plural. */
function partOf(part: string, nanos: bigint): number | null {
  const days = Number(floorDivide(nanos, NANOS_PER_DAY));
  const ofDay = nanos - BigInt(days) * NANOS_PER_DAY;
  const seconds = Number(ofDay / NANOS_PER_SECOND);
  const subSecond = Number(ofDay % NANOS_PER_SECOND);
  switch (part) {
    case "year":
      return dayOf(days).year;
    case "quarter":
      return Math.floor((dayOf(days).month - 1) / 3) + 1;
    case "month":
      return dayOf(days).month;
    case "week":
      return isoWeek(days);
    case "day":
      return dayOf(days).day;
    case "dow":
      return weekday(days);
    case "isodow":
      // From 1, Monday, to 7.
      return ((weekday(days) + 6) % 7) + 1;
    case "doy":
      return days - daysOf({ year: dayOf(days).year, month: 1, day: 1 }) + 1;
    case "hour":
      return Math.floor(seconds / 3600);
    case "minute":
      return Math.floor(seconds / 60) % 60;
    case "second":
      return seconds % 60;
    case "millisecond":
      return (seconds % 60) * 1_000 + Math.floor(subSecond / 1_000_000);
    case "microsecond":
      return (seconds % 60) * 1_000_000 + Math.floor(subSecond / 1_000);
    case "nanosecond":
      return (seconds % 60) * 1_000_000_000 + subSecond;
    case "epoch":
      return Number(nanos) / 1e9;
  }
  return null;
}

/** 0 for Sunday. */
export const weekday = (days: number): number => (((days + 4) % 7) + 7) % 7;

export function isoWeek(days: number): number {
  // The week belongs to the year of its Thursday.
  const thursday = days - ((weekday(days) + 6) % 7) + 3;
  const { year } = dayOf(thursday);
  return Math.floor((thursday - daysOf({ year, month: 1, day: 1 })) / 7) + 1;
}

const PARTS: Readonly<Record<string, string>> = {
  years: "year",
  quarters: "quarter",
  months: "month",
  weeks: "week",
  days: "day",
  hours: "hour",
  minutes: "minute",
  seconds: "second",
  milliseconds: "millisecond",
  microseconds: "microsecond",
  nanoseconds: "nanosecond",
};

const datePart: FunctionDefinition = (types, constants) => {
  if (types.length !== 2) return operandCount(2);
  const [name] = constants;
  if (typeof name !== "string") return "the part of a date must be a constant text";
  const lower = name.toLowerCase().trim();
  const part = PARTS[lower] ?? lower;
  if (partOf(part, 0n) === null) return `a date has no part ${JSON.stringify(name)}`;
  const source = timeType(types[1]);
  if (source === null) return timeOperands;
  if (part === "nanosecond") {
    // The nanoseconds of a minute do not fit in 32 bits.
    const kernel = rowKernel([STRING, source], INT64, ([, value]) =>
      BigInt(partOf(part, localNanos(value, source)) as number),
    );
    return { operands: [STRING, source], type: INT64, kernel };
  }
  const type = part === "epoch" ? FLOAT64 : INT32;
  const kernel = rowKernel([STRING, source], type, ([, value]) => partOf(part, localNanos(value, source)));
  if (part !== "epoch") return { operands: [STRING, source], type, kernel };
  const utc: ValueType = source.kind === "timestamp" ? { ...source, timezone: null } : source;
  return {
    operands: [STRING, source],
    type,
    kernel: rowKernel([STRING, utc], type, ([, value]) => partOf(part, localNanos(value, utc))),
  };
};

/** Text is read as a timestamp. */
export function timeType(type: ValueType): ValueType | null {
  switch (type.kind) {
    case "date":
    case "timestamp":
    case "time":
      return type;
    case "string":
    case "null":
      return timestamp("ns", null);
    default:
      return null;
  }
}

const TRUNCATIONS = [
  "year",
  "quarter",
  "month",
  "week",
  "day",
  "hour",
  "minute",
  "second",
  "millisecond",
  "microsecond",
  "nanosecond",
];

const dateTrunc: FunctionDefinition = (types, constants) => {
  if (types.length !== 2) return operandCount(2);
  const [name] = constants;
  if (typeof name !== "string") return "the part of a date must be a constant text";
  const part = name.toLowerCase().trim();
  if (!TRUNCATIONS.includes(part)) return `a date cannot be truncated to ${JSON.stringify(name)}`;
  const timeType = types[1];
  let type: TimestampType;
  if (timeType.kind === "timestamp") type = timeType;
  else if (timeType.kind === "date" || timeType.kind === "string" || timeType.kind === "null")
    type = timestamp("ns", null);
  else return timeOperands;
  const unit = nanosOf(type.unit);
  return {
    operands: [STRING, type],
    type,
    kernel: rowKernel([STRING, type], type, ([, value]) => {
      const local = truncate(localNanos(value, type), part);
      if (type.timezone === null) return floorDivide(local, unit);
      const ms = floorDivide(local, 1_000_000n);
      const utc = BigInt(instantOf(Number(ms), type.timezone)) * 1_000_000n + (local - ms * 1_000_000n);
      return floorDivide(utc, unit);
    }),
  };
};

const FIXED_PARTS: Readonly<Record<string, bigint>> = {
  day: NANOS_PER_DAY,
  hour: 3_600n * NANOS_PER_SECOND,
  minute: 60n * NANOS_PER_SECOND,
  second: NANOS_PER_SECOND,
  millisecond: 1_000_000n,
  microsecond: 1_000n,
  nanosecond: 1n,
};

function truncate(nanos: bigint, part: string): bigint {
  const fixed = FIXED_PARTS[part];
  if (fixed !== undefined) return floorDivide(nanos, fixed) * fixed;
  const days = Number(floorDivide(nanos, NANOS_PER_DAY));
  if (part === "week") return BigInt(days - ((weekday(days) + 6) % 7)) * NANOS_PER_DAY;
  const { year, month } = dayOf(days);
  const first = part === "year" ? 1 : part === "quarter" ? month - ((month - 1) % 3) : month;
  return BigInt(daysOf({ year, month: first, day: 1 })) * NANOS_PER_DAY;
}

/** TO_LOCAL_TIME(instant): the local time of its zone. Local times stay unchanged. */
const toLocalTime: FunctionDefinition = (types) => {
  if (types.length !== 1) return operandCount(1);
  const [time] = types;
  if (time.kind !== "timestamp" && time.kind !== "null") return "expected a timestamp";
  const type = timestamp(time.kind === "null" ? "ns" : time.unit, null);
  if (time.kind === "null" || time.timezone === null) {
    return { operands: [type], type, kernel: ([{ column }]) => column };
  }
  const unit = nanosOf(type.unit);
  return {
    operands: [time],
    type,
    kernel: rowKernel([time], type, ([value]) => localNanos(value, time) / unit),
  };
};

/** Whole numbers count `unit`s since the epoch. */
const toTimestamp =
  (unit: TimeUnit, integerUnit: TimeUnit): FunctionDefinition =>
  (types) => {
    if (types.length !== 1) return operandCount(1);
    const [timeType] = types;
    const type = timestamp(unit, null);
    if (timeType.kind === "int") {
      const source = timestamp(integerUnit, null);
      const cast = castKernel(source, type, false);
      if (cast === null) return timeOperands;
      return {
        operands: [INT64],
        type,
        kernel: ([operand], length, valid) => cast([operand], length, valid),
      };
    }
    if (
      timeType.kind === "string" ||
      timeType.kind === "date" ||
      timeType.kind === "timestamp" ||
      timeType.kind === "null"
    ) {
      return { operands: [type], type, kernel: ([operand]) => operand.column };
    }
    return timeOperands;
  };

const toDate: FunctionDefinition = (types) => {
  if (types.length !== 1) return operandCount(1);
  return { operands: [DATE], type: DATE, kernel: ([operand]) => operand.column };
};

const makeDate: FunctionDefinition = (types) => {
  if (types.length !== 3) return operandCount(3);
  return {
    operands: [INT32, INT32, INT32],
    type: DATE,
    kernel: rowKernel([INT32, INT32, INT32], DATE, ([year, month, day]) => {
      const days = daysOf({ year: Number(year), month: Number(month), day: Number(day) });
      const date = dayOf(days);
      return date.month === Number(month) && date.day === Number(day) ? days : null;
    }),
  };
};

const fromUnixtime: FunctionDefinition = (types, constants) =>
  types.length === 1 && types[0].kind !== "int" && types[0].kind !== "null"
    ? "a whole number is expected"
    : toTimestamp("s", "s")(types, constants);

const toUnixtime: FunctionDefinition = (types) => {
  if (types.length !== 1) return operandCount(1);
  const source = timestamp("s", null);
  if (!wantsText(types[0]) && timeType(types[0]) === null) return textOperands;
  return {
    operands: [source],
    type: INT64,
    kernel: ([operand], length, valid) => {
      const read = scalarReader(operand, INT64);
      return perRow(INT64, length, valid, read);
    },
  };
};

/** The time of binding, the same for all rows. */
const moment =
  (type: ValueType, of: (nanos: bigint) => Scalar): FunctionDefinition =>
  (types) => {
    if (types.length > 0) return operandCount(0);
    const value = of(BigInt(Date.now()) * 1_000_000n);
    return { operands: [], type, kernel: (_, length) => perRow(type, length, null, () => value) };
  };

const now = moment(timestamp("ns", null), (nanos) => nanos);
const today = moment(DATE, (nanos) => Number(floorDivide(nanos, NANOS_PER_DAY)));

export const TIME_FUNCTIONS: Functions = {
  now,
  current_timestamp: now,
  current_date: today,
  today,
  current_time: moment({ kind: "time", unit: "ns" }, (nanos) => nanos % NANOS_PER_DAY),
  date_part: datePart,
  datepart: datePart,
  date_trunc: dateTrunc,
  datetrunc: dateTrunc,
  to_timestamp: toTimestamp("ns", "s"),
  to_timestamp_seconds: toTimestamp("s", "s"),
  to_timestamp_millis: toTimestamp("ms", "ms"),
  to_timestamp_micros: toTimestamp("us", "us"),
  to_timestamp_nanos: toTimestamp("ns", "ns"),
  to_date: toDate,
  make_date: makeDate,
  from_unixtime: fromUnixtime,
  to_local_time: toLocalTime,
  to_unixtime: toUnixtime,
};
