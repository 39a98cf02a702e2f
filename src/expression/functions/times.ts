/** Functions of days and instants. The parts of an instant with a zone are those of its local time. */

import { instantOf } from "../../arrow/types/parsedTimes.js";
import { dayOf, daysOf, floorDivide, zoneOffset } from "../../arrow/types/times.js";
import type { TimestampType, TimeUnit } from "../../arrow/types/type.js";
import { perRow } from "../kernels/arithmetic.js";
import { castKernel } from "../kernels/casts.js";
import type { Scalar } from "../values/scalars.js";
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
import { type FunctionDefinition, type FunctionForm, type Functions, taking } from "./form.js";
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

function partOf(part: string, nanos: bigint): number | null {
  const days = Number(floorDivide(nanos, NANOS_PER_DAY));
  const ofDay = nanos - BigInt(days) * NANOS_PER_DAY;
  const seconds = Number(ofDay / NANOS_PER_SECOND);
  const subSecond = Number(ofDay % NANOS_PER_SECOND);
  if (Object.hasOwn(DAY_PARTS, part)) return DAY_PARTS[part](days);
  if (Object.hasOwn(TIME_PARTS, part)) return TIME_PARTS[part](seconds, subSecond);
  return part === "epoch" ? Number(nanos) / 1e9 : null;
}

const DAY_PARTS: Readonly<Record<string, (days: number) => number>> = {
  year: (days) => dayOf(days).year,
  quarter: (days) => Math.floor((dayOf(days).month - 1) / 3) + 1,
  month: (days) => dayOf(days).month,
  week: isoWeek,
  day: (days) => dayOf(days).day,
  dow: weekday,
  isodow: isoWeekday,
  doy: dayOfYear,
};

/** Parts of the second of a day, and of the nanosecond of that second. */
const TIME_PARTS: Readonly<Record<string, (second: number, nanos: number) => number>> = {
  hour: (second) => Math.floor(second / 3600),
  minute: (second) => Math.floor(second / 60) % 60,
  second: (second) => second % 60,
  millisecond: (second, nanos) => (second % 60) * 1_000 + Math.floor(nanos / 1_000_000),
  microsecond: (second, nanos) => (second % 60) * 1_000_000 + Math.floor(nanos / 1_000),
  nanosecond: (second, nanos) => (second % 60) * 1_000_000_000 + nanos,
};

/** From 0, Sunday, to 6. */
export function weekday(days: number): number {
  return (((days + 4) % 7) + 7) % 7;
}

/** From 1, Monday, to 7. */
export function isoWeekday(days: number): number {
  return ((weekday(days) + 6) % 7) + 1;
}

export function dayOfYear(days: number): number {
  return days - daysOf({ year: dayOf(days).year, month: 1, day: 1 }) + 1;
}

export function isoWeek(days: number): number {
  // The week belongs to the year of its Thursday.
  return Math.ceil(dayOfYear(thursdayOf(days)) / 7);
}

/** Returns the Thursday of a week, which decides the year of the week. */
export function thursdayOf(days: number): number {
  return days - isoWeekday(days) + 4;
}

const datePart = taking("vv", (types, [name]) => {
  if (typeof name !== "string") return "the part of a date must be a constant text";
  const lower = name.toLowerCase().trim();
  const singular = lower.replace(/s$/, "");
  const part = TRUNCATIONS.includes(singular) ? singular : lower;
  if (partOf(part, 0n) === null) return `a date has no part ${JSON.stringify(name)}`;
  const source = timeType(types[1]);
  if (source === null) return timeOperands;
  const operands = [STRING, source];
  if (part === "nanosecond") {
    // The nanoseconds of a minute do not fit in 32 bits.
    const kernel = rowKernel(operands, INT64, ([, value]) =>
      BigInt(partOf(part, localNanos(value, source)) as number),
    );
    return { operands, type: INT64, kernel };
  }
  const type = part === "epoch" ? FLOAT64 : INT32;
  const isUtc = part === "epoch" && source.kind === "timestamp";
  const read: ValueType = isUtc ? { ...source, timezone: null } : source;
  const kernel = rowKernel(operands, type, ([, value]) => partOf(part, localNanos(value, read)));
  return { operands, type, kernel };
});

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

const dateTrunc = taking("vv", ([, timeType], [name]) => {
  if (typeof name !== "string") return "the part of a date must be a constant text";
  const part = name.toLowerCase().trim();
  if (!TRUNCATIONS.includes(part)) return `a date cannot be truncated to ${JSON.stringify(name)}`;
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
});

const FIXED_PARTS: Readonly<Record<string, bigint>> = {
  day: NANOS_PER_DAY,
  hour: 3_600n * NANOS_PER_SECOND,
  minute: 60n * NANOS_PER_SECOND,
  second: NANOS_PER_SECOND,
  millisecond: 1_000_000n,
  microsecond: 1_000n,
  nanosecond: 1n,
};
/** Parts that a time is truncated to. Their plurals name parts too. */
const TRUNCATIONS: readonly string[] = ["year", "quarter", "month", "week", ...Object.keys(FIXED_PARTS)];

function truncate(nanos: bigint, part: string): bigint {
  const fixed = FIXED_PARTS[part];
  if (fixed !== undefined) return floorDivide(nanos, fixed) * fixed;
  const days = Number(floorDivide(nanos, NANOS_PER_DAY));
  if (part === "week") return BigInt(days - isoWeekday(days) + 1) * NANOS_PER_DAY;
  const { year, month } = dayOf(days);
  const first = part === "year" ? 1 : part === "quarter" ? month - ((month - 1) % 3) : month;
  return BigInt(daysOf({ year, month: first, day: 1 })) * NANOS_PER_DAY;
}

/** TO_LOCAL_TIME(instant): the local time of its zone. Local times stay unchanged. */
const toLocalTime = taking("v", ([time]) => {
  if (time.kind !== "timestamp" && time.kind !== "null") return "expected a timestamp";
  const type = timestamp(time.kind === "null" ? "ns" : time.unit, null);
  if (time.kind === "null" || time.timezone === null) return unchanged(type);
  const unit = nanosOf(type.unit);
  return {
    operands: [time],
    type,
    kernel: rowKernel([time], type, ([value]) => localNanos(value, time) / unit),
  };
});

/** Whole numbers count `unit`s since the epoch. */
const toTimestamp = (unit: TimeUnit, integerUnit: TimeUnit): FunctionDefinition =>
  taking("v", ([timeType]) => {
    const type = timestamp(unit, null);
    if (timeType.kind === "int") {
      const kernel = castKernel(timestamp(integerUnit, null), type, false);
      return kernel === null ? timeOperands : { operands: [INT64], type, kernel };
    }
    return INSTANTS.has(timeType.kind) ? unchanged(type) : timeOperands;
  });

/** Kinds of types that are cast to timestamps. */
export const INSTANTS: ReadonlySet<string> = new Set(["string", "date", "timestamp", "null"]);

/** Returns the operand after its cast. */
const unchanged = (type: ValueType): FunctionForm => ({
  operands: [type],
  type,
  kernel: ([operand]) => operand.column,
});

const makeDate = taking("vvv", () => ({
  operands: [INT32, INT32, INT32],
  type: DATE,
  kernel: rowKernel([INT32, INT32, INT32], DATE, ([year, month, day]) => {
    const days = daysOf({ year: Number(year), month: Number(month), day: Number(day) });
    const date = dayOf(days);
    return date.month === Number(month) && date.day === Number(day) ? days : null;
  }),
}));

const fromUnixtime: FunctionDefinition = (types, constants) =>
  types.length === 1 && types[0].kind !== "int" && types[0].kind !== "null"
    ? "a whole number is expected"
    : toTimestamp("s", "s")(types, constants);

const toUnixtime = taking("v", ([type]) =>
  timeType(type) === null
    ? timeOperands
    : { operands: [timestamp("s", null)], type: INT64, kernel: ([operand]) => operand.column },
);

/** The time of binding, the same for all rows. */
const moment = (type: ValueType, of: (nanos: bigint) => Scalar): FunctionDefinition =>
  taking("", () => {
    const value = of(BigInt(Date.now()) * 1_000_000n);
    return { operands: [], type, kernel: (_, length) => perRow(type, length, null, () => value) };
  });

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
  to_date: taking("v", () => unchanged(DATE)),
  make_date: makeDate,
  from_unixtime: fromUnixtime,
  to_local_time: toLocalTime,
  to_unixtime: toUnixtime,
};
