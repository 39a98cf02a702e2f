/** Days and instants as text in a custom format, and instants rounded down to bins of equal length. */

import { dayOf, daysOf, floorDivide, zoneOffset } from "../../arrow/types/times.js";
import { InvalidInputError } from "../../errors.js";
import { perRow } from "../kernels/arithmetic.js";
import { TextLane } from "../kernels/textRows.js";
import { checkLength } from "../values/growing.js";
import { decodeText, type ValueKernel } from "../values/operands.js";
import { type Scalar, scalarReader } from "../values/scalars.js";
import { STRING, timestamp, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, operandCount, textOperands, wantsText } from "./form.js";
import { rowKernel } from "./textForm.js";
import {
  isoWeek,
  localNanos,
  NANOS_PER_DAY,
  NANOS_PER_SECOND,
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

/** Formats that abbreviate others. */
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
  const hour = Math.floor(seconds / 3600);
  switch (letter) {
    case "H":
      return [hour, 2, "0"];
    case "k":
      return [hour, 2, " "];
    case "I":
      return [((hour + 11) % 12) + 1, 2, "0"];
    case "l":
      return [((hour + 11) % 12) + 1, 2, " "];
    case "M":
      return [Math.floor(seconds / 60) % 60, 2, "0"];
    case "S":
      return [seconds % 60, 2, "0"];
    case "f":
      return [Number(nanosOfDay % NANOS_PER_SECOND), 9, "0"];
  }
  if (days === null) return null;
  if (letter === "s") return [days * 86_400 + seconds - (offset ?? 0) / 1000, 1, "0"];
  return dayNumber(letter, days);
}

function dayNumber(letter: string, days: number): Filled | null {
  const { year, month, day } = dayOf(days);
  const dayOfYear = days - daysOf({ year, month: 1, day: 1 });
  const weekYear = dayOf(days - ((weekday(days) + 6) % 7) + 3).year;
  const inCentury = (of: number): number => ((of % 100) + 100) % 100;
  switch (letter) {
    case "Y":
      return [year, 4, "0"];
    case "C":
      return [Math.floor(year / 100), 2, "0"];
    case "y":
      return [inCentury(year), 2, "0"];
    case "G":
      return [weekYear, 4, "0"];
    case "g":
      return [inCentury(weekYear), 2, "0"];
    case "q":
      return [Math.ceil(month / 3), 1, "0"];
    case "m":
      return [month, 2, "0"];
    case "d":
      return [day, 2, "0"];
    case "e":
      return [day, 2, " "];
    case "j":
      return [dayOfYear + 1, 3, "0"];
    case "u":
      return [((weekday(days) + 6) % 7) + 1, 1, "0"];
    case "w":
      return [weekday(days), 1, "0"];
    case "U":
      return [Math.floor((dayOfYear + 7 - weekday(days)) / 7), 2, "0"];
    case "W":
      return [Math.floor((dayOfYear + 7 - ((weekday(days) + 6) % 7)) / 7), 2, "0"];
    case "V":
      return [isoWeek(days), 2, "0"];
  }
  return null;
}

function wordOf(letter: string, { days, nanosOfDay }: Moment): string | null {
  const isAfternoon = nanosOfDay >= NANOS_PER_DAY / 2n;
  switch (letter) {
    case "p":
      return isAfternoon ? "PM" : "AM";
    case "P":
      return isAfternoon ? "pm" : "am";
    case "n":
      return "\n";
    case "t":
      return "\t";
    case "%":
      return "%";
  }
  if (days === null) return null;
  const month = MONTHS[dayOf(days).month - 1];
  const day = WEEKDAYS[weekday(days)];
  switch (letter) {
    case "B":
      return month;
    case "b":
    case "h":
      return month.slice(0, 3);
    case "A":
      return day;
    case "a":
      return day.slice(0, 3);
  }
  return null;
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

/** Maximum length of a format in bytes. */
const MAX_FORMAT = 2 ** 12;

/** TO_CHAR(time, format), in the letters of strftime. */
const toChar: FunctionDefinition = (types) => {
  if (types.length !== 2) return operandCount(2);
  const source = timeType(types[0]);
  if (source === null) return timeOperands;
  if (!wantsText(types[1])) return textOperands;
  const operands = [source, STRING];
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
  return { operands, type: STRING, kernel };
};

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

/** Maximum length of the text of a duration. */
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

/**
 * DATE_BIN('15 minutes', time [, origin]): the beginning of the bin. Bins begin at the origin, by default
 * 1970.
 */
const dateBin: FunctionDefinition = (types, constants) => {
  if (types.length < 2 || types.length > 3) return operandCount(2, 3);
  const [text] = constants;
  if (typeof text !== "string") return "the length of the bins must be a constant text, such as '15 minutes'";
  const stride = parseStride(text);
  if (typeof stride === "string") return stride;
  const [, timeType, origin] = types;
  if (!["timestamp", "date", "string", "null"].includes(timeType.kind)) return timeOperands;
  if (origin !== undefined && !["timestamp", "date", "string", "null"].includes(origin.kind))
    return timeOperands;
  const type = timestamp("ns", timeType.kind === "timestamp" ? timeType.timezone : null);
  const operands = [STRING, type, ...(origin === undefined ? [] : [timestamp("ns", null)])];
  const kernel = rowKernel(operands, type, ([, value, first]) => {
    const start = (first ?? 0n) as bigint;
    return start + floorDivide((value as bigint) - start, stride) * stride;
  });
  return { operands, type, kernel };
};

export const FORMATTED_TIME_FUNCTIONS: Functions = {
  to_char: toChar,
  date_format: toChar,
  date_bin: dateBin,
};
