/** Days and instants as text in a custom format, and instants rounded down to bins of equal length. */

import { dayOf, floorDivide, zoneOffset } from "../../arrow/types/times.js";
import { InvalidInputError } from "../../errors.js";
import { perRow } from "../kernels/arithmetic.js";
import { TextLane } from "../kernels/textRows.js";
import { checkLength } from "../values/growing.js";
import { decodeText, type ValueKernel } from "../values/operands.js";
import { type Scalar, scalarReader } from "../values/scalars.js";
import { STRING, timestamp, type ValueType } from "../values/types.js";
import { type Functions, taking } from "./form.js";
import { rowKernel } from "./textForm.js";
import {
  dayOfYear,
  INSTANTS,
  isoWeek,
  isoWeekday,
  localNanos,
  NANOS_PER_DAY,
  NANOS_PER_SECOND,
  thursdayOf,
  timeOperands,
  timeType,
  weekday,
} from "./times.js";

const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);
const WEEKDAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** The parts of a time that a format may print. */
interface Moment {
  /** Null for a time of day. */
  readonly days: number | null;
  readonly nanosOfDay: bigint;
  /** Milliseconds by which local time is ahead of UTC; null without a zone. */
  readonly offset: number | null;
}

function momentOf(value: Scalar, type: ValueType): Moment {
  const nanos = localNanos(value, type);
  const days = Number(floorDivide(nanos, NANOS_PER_DAY));
  const zone = type.kind === "timestamp" ? type.timezone : null;
  let offset: number | null = null;
  if (zone !== null) {
    const utc = localNanos(value, { ...type, timezone: null } as ValueType);
    offset = zoneOffset(zone, Number(floorDivide(utc, 1_000_000n)));
  }
  const nanosOfDay = nanos - BigInt(days) * NANOS_PER_DAY;
  return { days: type.kind === "time" ? null : days, nanosOfDay, offset };
}

const ABBREVIATIONS: Readonly<Record<string, string>> = {
  D: "%m/%d/%y",
  F: "%Y-%m-%d",
  R: "%H:%M",
  T: "%H:%M:%S",
  X: "%H:%M:%S",
  c: "%a %b %e %H:%M:%S %Y",
  r: "%I:%M:%S %p",
  v: "%e-%b-%Y",
  x: "%m/%d/%y",
};

/** A number to print: its value, its width, and the character that pads it. */
type Filled = readonly [value: number, width: number, filling: "0" | " "];

function numberOf(letter: string, { days, nanosOfDay, offset }: Moment): Filled | null {
  const seconds = Number(nanosOfDay / NANOS_PER_SECOND);
  if (Object.hasOwn(TIME_NUMBERS, letter)) return TIME_NUMBERS[letter](seconds);
  if (letter === "f") return [Number(nanosOfDay % NANOS_PER_SECOND), 9, "0"];
  if (days === null) return null;
  if (letter === "s") return [days * 86_400 + seconds - (offset ?? 0) / 1000, 1, "0"];
  return Object.hasOwn(DAY_NUMBERS, letter) ? DAY_NUMBERS[letter](days) : null;
}

const hourOf = (second: number): number => Math.floor(second / 3600);
const halfDayHour = (second: number): number => ((hourOf(second) + 11) % 12) + 1;

/** Numbers of the second of a day, by letter. */
const TIME_NUMBERS: Readonly<Record<string, (second: number) => Filled>> = {
  H: (second) => [hourOf(second), 2, "0"],
  k: (second) => [hourOf(second), 2, " "],
  I: (second) => [halfDayHour(second), 2, "0"],
  l: (second) => [halfDayHour(second), 2, " "],
  M: (second) => [Math.floor(second / 60) % 60, 2, "0"],
  S: (second) => [second % 60, 2, "0"],
};

const yearOf = (days: number): number => dayOf(days).year;
const inCentury = (year: number): number => ((year % 100) + 100) % 100;

/** Numbers of a day, by letter. */
const DAY_NUMBERS: Readonly<Record<string, (days: number) => Filled>> = {
  Y: (days) => [yearOf(days), 4, "0"],
  C: (days) => [Math.floor(yearOf(days) / 100), 2, "0"],
  y: (days) => [inCentury(yearOf(days)), 2, "0"],
  G: (days) => [yearOf(thursdayOf(days)), 4, "0"],
  g: (days) => [inCentury(yearOf(thursdayOf(days))), 2, "0"],
  q: (days) => [Math.ceil(dayOf(days).month / 3), 1, "0"],
  m: (days) => [dayOf(days).month, 2, "0"],
  d: (days) => [dayOf(days).day, 2, "0"],
  e: (days) => [dayOf(days).day, 2, " "],
  j: (days) => [dayOfYear(days), 3, "0"],
  u: (days) => [isoWeekday(days), 1, "0"],
  w: (days) => [weekday(days), 1, "0"],
  U: (days) => [Math.floor((dayOfYear(days) + 6 - weekday(days)) / 7), 2, "0"],
  W: (days) => [Math.floor((dayOfYear(days) + 7 - isoWeekday(days)) / 7), 2, "0"],
  V: (days) => [isoWeek(days), 2, "0"],
};

const SIGNS: Readonly<Record<string, string>> = { n: "\n", t: "\t", "%": "%" };

/** Words of a day, by letter. */
const DAY_WORDS: Readonly<Record<string, (days: number) => string>> = {
  B: (days) => MONTHS[dayOf(days).month - 1],
  b: (days) => MONTHS[dayOf(days).month - 1].slice(0, 3),
  h: (days) => MONTHS[dayOf(days).month - 1].slice(0, 3),
  A: (days) => WEEKDAYS[weekday(days)],
  a: (days) => WEEKDAYS[weekday(days)].slice(0, 3),
};

function wordOf(letter: string, { days, nanosOfDay }: Moment): string | null {
  const isAfternoon = nanosOfDay >= NANOS_PER_DAY / 2n;
  if (letter === "p") return isAfternoon ? "PM" : "AM";
  if (letter === "P") return isAfternoon ? "pm" : "am";
  if (Object.hasOwn(SIGNS, letter)) return SIGNS[letter];
  return days !== null && Object.hasOwn(DAY_WORDS, letter) ? DAY_WORDS[letter](days) : null;
}

function fraction(letters: string, nanosOfDay: bigint): string {
  const digits = String(nanosOfDay % NANOS_PER_SECOND).padStart(9, "0");
  const [, dot, count] = /^(\.?)([369]?)f$/.exec(letters) ?? [];
  if (count !== "") return dot + digits.slice(0, Number(count));
  if (/^0+$/.test(digits)) return "";
  return dot + digits.replace(/^(\d{3}(?:\d{3})??(?:\d{3})??)0*$/, "$1");
}

function zoneText(letters: string, offset: number): string {
  const minutes = Math.abs(offset) / 60_000;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  const colon = letters === "z" ? "" : ":";
  return `${offset < 0 ? "-" : "+"}${two(minutes / 60)}${colon}${two(minutes % 60)}`;
}

const SPECIFIER = /%(?:([-_0])?([A-Za-z%+])|(\.[369]?f|[369]f)|(:z))/y;

/** @throws InvalidInputError if the time lacks a part of the format */
function formatMoment(format: string, moment: Moment): string {
  let text = "";
  for (let offset = 0; offset < format.length; ) {
    const percent = format.indexOf("%", offset);
    if (percent < 0) return text + format.slice(offset);
    text += format.slice(offset, percent);
    SPECIFIER.lastIndex = percent;
    const match = SPECIFIER.exec(format);
    const end = SPECIFIER.lastIndex;
    const formatted = match === null ? null : specified(match, moment);
    if (formatted === null) {
      throw new InvalidInputError(
        `to_char: ${JSON.stringify(format.slice(percent, percent + 3))} is not available for this value`,
      );
    }
    text += formatted;
    checkLength("to_char", text.length);
    offset = end;
  }
  return text;
}

function specified([, filling, letter, parts, zone]: RegExpExecArray, moment: Moment): string | null {
  if (parts !== undefined) return fraction(parts, moment.nanosOfDay);
  if (zone !== undefined || letter === "z" || letter === "Z") {
    return moment.offset === null ? null : zoneText(zone ?? letter, moment.offset);
  }
  if (letter === "+") {
    if (moment.offset === null) return null;
    return formatMoment("%Y-%m-%dT%H:%M:%S%.f%:z", moment);
  }
  if (Object.hasOwn(ABBREVIATIONS, letter)) return formatMoment(ABBREVIATIONS[letter], moment);
  const number = numberOf(letter, moment);
  if (number === null) return wordOf(letter, moment);
  const [value, width, usual] = number;
  const filler = filling === "0" ? "0" : filling === "_" ? " " : usual;
  if (filling === "-") return String(value);
  // Years with more than four digits have a sign.
  const sign = value < 0 ? "-" : /[YG]/.test(letter) && value > 9999 ? "+" : "";
  return sign + String(Math.abs(value)).padStart(width, filler);
}

const MAX_FORMAT = 2 ** 12;

/** TO_CHAR(time, format), in the letters of strftime. */
const toChar = taking("vt", ([time]) => {
  const source = timeType(time);
  if (source === null) return timeOperands;
  const kernel: ValueKernel = ([values, formats], length, valid) => {
    const read = scalarReader(values, source);
    const lane = new TextLane(formats);
    const formatOf = (row: number): string => {
      if (lane.size(row) > MAX_FORMAT) {
        throw new InvalidInputError(`to_char: the format is longer than ${MAX_FORMAT} bytes`);
      }
      return decodeText(lane.bytes, lane.start(row), lane.end(row));
    };
    return perRow(
      STRING,
      length,
      valid,
      (row) => formatMoment(formatOf(row), momentOf(read(row), source)),
      (row) => lane.size(row) >>> 2,
    );
  };
  return { operands: [source, STRING], type: STRING, kernel };
});

// --------------------------------------------------------------------------------------------------- bins

const UNIT_NANOS: readonly (readonly [pattern: RegExp, nanos: bigint])[] = [
  [/^(?:w|weeks?)$/, 7n * NANOS_PER_DAY],
  [/^(?:d|days?)$/, NANOS_PER_DAY],
  [/^(?:h|hours?|hrs?)$/, 3_600n * NANOS_PER_SECOND],
  [/^(?:m|mins?|minutes?)$/, 60n * NANOS_PER_SECOND],
  [/^(?:s|secs?|seconds?)$/, NANOS_PER_SECOND],
  [/^(?:ms|milliseconds?)$/, 1_000_000n],
  [/^(?:us|microseconds?)$/, 1_000n],
  [/^(?:ns|nanoseconds?)$/, 1n],
];

const MAX_STRIDE = 1000;

/** Returns the nanoseconds of a text like `1 day 2 hours`, or a text about its error. */
function parseStride(text: string): bigint | string {
  const words = text
    .slice(0, MAX_STRIDE + 1)
    .trim()
    .toLowerCase();
  if (text.length > MAX_STRIDE || !/^(?:\d{1,18}\s*[a-z]+\s*)+$/.test(words))
    return `${JSON.stringify(words.slice(0, 80))} is not a duration`;
  let nanos = 0n;
  for (const [, count, unit] of words.matchAll(/(\d+)\s*([a-z]+)/g)) {
    const entry = UNIT_NANOS.find(([pattern]) => pattern.test(unit));
    if (entry === undefined) return `bins cannot have the length of ${unit}, only of weeks or less`;
    nanos += BigInt(count) * entry[1];
  }
  return nanos > 0n && nanos < 1n << 63n ? nanos : "a length of time above 0 is expected";
}

/** DATE_BIN('15 minutes', time [, origin]): the beginning of the bin. The default origin is 1970. */
const dateBin = taking("vv?v", ([, timeType, origin], [text]) => {
  if (typeof text !== "string") return "the length of the bins must be a constant text, such as '15 minutes'";
  const stride = parseStride(text);
  if (typeof stride === "string") return stride;
  if (!INSTANTS.has(timeType.kind) || !INSTANTS.has(origin?.kind ?? "null")) return timeOperands;
  const type = timestamp("ns", timeType.kind === "timestamp" ? timeType.timezone : null);
  const operands = [STRING, type, ...(origin === undefined ? [] : [timestamp("ns", null)])];
  const kernel = rowKernel(operands, type, ([, value, first]) => {
    const start = (first ?? 0n) as bigint;
    return start + floorDivide((value as bigint) - start, stride) * stride;
  });
  return { operands, type, kernel };
});

export const FORMATTED_TIME_FUNCTIONS: Functions = {
  to_char: toChar,
  date_format: toChar,
  date_bin: dateBin,
};
