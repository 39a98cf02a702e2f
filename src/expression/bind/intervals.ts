/**
 * Intervals: lengths of time in months, days and nanoseconds, which are added to instants and days. They only
 * exist in the text, as `INTERVAL '1 month 2 days'` or `INTERVAL '1' MONTH`: no column holds any.
 */

import { instantOf, localMillisOf } from "../../arrow/types/parsedTimes.js";
import { dayOf, daysOf, floorDivide } from "../../arrow/types/times.js";
import type { Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { type Bound, nullOf } from "../evaluate/bound.js";
import { perRow } from "../kernels/arithmetic.js";
import type { ValueKernel } from "../values/operands.js";
import { type Scalar, scalarReader } from "../values/scalars.js";
import { TICKS_PER_SECOND, typeName, type ValueType } from "../values/types.js";
import type { BoundNodes, Place } from "./nodes.js";

interface Interval {
  readonly months: number;
  readonly days: number;
  readonly nanos: bigint;
}

/** Months, days or nanoseconds of each unit. */
const UNITS: readonly (readonly [pattern: RegExp, part: keyof Interval, amount: number])[] = [
  [/^(?:c|cent|century|centuries)$/, "months", 1200],
  [/^(?:decades?|decs?)$/, "months", 120],
  [/^(?:y|yr|yrs|years?)$/, "months", 12],
  [/^(?:mon|mons|months?)$/, "months", 1],
  [/^(?:w|weeks?)$/, "days", 7],
  [/^(?:d|days?)$/, "days", 1],
  [/^(?:h|hours?|hrs?)$/, "nanos", 3_600e9],
  [/^(?:m|mins?|minutes?)$/, "nanos", 60e9],
  [/^(?:s|secs?|seconds?)$/, "nanos", 1e9],
  [/^(?:ms|msecs?|milliseconds?)$/, "nanos", 1e6],
  [/^(?:us|usecs?|microseconds?)$/, "nanos", 1e3],
  [/^nanoseconds?$/, "nanos", 1],
];
const DAYS_PER_MONTH = 30;
const NANOS_PER_DAY = 86_400_000_000_000n;
const NANOS_PER_MS = 1_000_000n;
/** No calendar of the engine has later or earlier months. */
const MAX_MONTHS = 12 * 600_000;

/** Maximum length of the text of an interval. */
const MAX_TEXT = 1000;

/** Parses an interval; null if the text is not one. A number without a unit counts seconds. */
function parseInterval(text: string): Interval | null {
  if (text.length > MAX_TEXT) return null;
  const words = text.trim().toLowerCase();
  if (!/^(?:-?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})\s*(?:[a-z]+|$)\s*)+$/.test(words)) return null;
  let [months, days, nanos] = [0, 0, 0n];
  const seen = new Set<number>();
  for (const [, sign, whole, fraction = "", unit] of words.matchAll(/(-?)(\d*)(?:\.(\d*))?\s*([a-z]+|$)/g)) {
    if (whole === "" && fraction === "") continue;
    const position = UNITS.findIndex(([pattern]) => pattern.test(unit === "" ? "s" : unit));
    if (position < 0 || seen.has(position)) return null;
    seen.add(position);
    const [, part, amount] = UNITS[position];
    const scale = 10n ** BigInt(fraction.length);
    const scaled = BigInt(`${sign}${whole}${fraction}`) * BigInt(amount);
    if (part === "nanos") {
      nanos += scaled / scale;
      continue;
    }
    let rest = scaled % scale;
    if (part === "months") {
      months += Number(scaled / scale);
      // A fraction of a month is a fraction of 30 days.
      rest *= BigInt(DAYS_PER_MONTH);
      days += Number(rest / scale);
      rest %= scale;
    } else {
      days += Number(scaled / scale);
    }
    nanos += (rest * NANOS_PER_DAY) / scale;
  }
  if (seen.size === 0 || Math.abs(months) > MAX_MONTHS || Math.abs(days) > 1e9) return null;
  return nanos === BigInt.asIntN(64, nanos) ? { months, days, nanos } : null;
}

function intervalOf(nodes: BoundNodes, node: Place, text: string): Interval {
  const interval = parseInterval(text);
  if (interval === null) throw nodes.invalid(node, `${JSON.stringify(text.slice(0, 80))} is not an interval`);
  return interval;
}

/**
 * Returns the text of a bin length for an interval.
 * @throws InvalidInputError for an interval of months, whose length varies
 */
export function strideText(nodes: BoundNodes, node: Place, text: string): string {
  const interval = intervalOf(nodes, node, text);
  if (interval.months !== 0)
    throw nodes.invalid(node, "bins cannot have the length of months, only of weeks or less");
  return `${BigInt(interval.days) * NANOS_PER_DAY + interval.nanos} nanoseconds`;
}

/**
 * Moves an instant or a day by an interval: by its months, then its days, then its time. If the month lacks
 * the day, its last day counts. Days stay days and lose the time. Instants with a zone move by the calendar
 * of the zone.
 * @param sign 1 to add the interval, -1 to subtract it
 */
export function* moved(
  nodes: BoundNodes,
  node: Place,
  operand: Bound,
  text: string,
  sign: 1 | -1,
): Steps<Bound> {
  const interval = intervalOf(nodes, node, text);
  const { type } = operand;
  if (type.kind === "null") return nullOf(type);
  if (type.kind !== "timestamp" && type.kind !== "date") {
    throw nodes.invalid(node, `intervals are added to instants and days, not to ${typeName(type)}`);
  }
  return yield* nodes.call(node, [operand], type, mover(type, interval, sign));
}

function mover(type: ValueType, { months, days, nanos }: Interval, sign: 1 | -1): ValueKernel {
  const perTick =
    type.kind === "timestamp"
      ? BigInt(1_000_000_000 / TICKS_PER_SECOND[type.unit])
      : type.kind === "date" && type.bits === 32
        ? NANOS_PER_DAY
        : NANOS_PER_MS;
  const isWide = type.kind === "timestamp" || perTick === NANOS_PER_MS;
  const zone = type.kind === "timestamp" ? type.timezone : null;
  const time = BigInt(sign) * nanos;
  const isByCalendar = months !== 0 || days !== 0;
  const move = (value: Scalar): Scalar => {
    let ticks = BigInt(value as number | bigint);
    if (isByCalendar) {
      const all = ticks * perTick;
      const local = zone === null ? all : shifted(all, (ms) => localMillisOf(ms, zone));
      const day = floorDivide(local, NANOS_PER_DAY);
      const target =
        BigInt(daysOfMoved(Number(day), sign * months) + sign * days) * NANOS_PER_DAY +
        (local - day * NANOS_PER_DAY);
      ticks = floorDivide(zone === null ? target : shifted(target, (ms) => instantOf(ms, zone)), perTick);
    }
    // A day keeps no time. An instant loses digits that are finer than its unit.
    ticks += type.kind === "date" ? time / perTick : floorDivide(time, perTick);
    if (ticks !== BigInt.asIntN(isWide ? 64 : 32, ticks)) {
      throw new InvalidInputError(`the result is out of range for ${typeName(type)}`);
    }
    return isWide ? ticks : Number(ticks);
  };
  return ([operand], length, valid) => {
    const read = scalarReader(operand, type);
    return perRow(type, length, valid, (row) => move(read(row)));
  };
}

/** Changes the milliseconds of a number of nanoseconds. */
function shifted(nanos: bigint, change: (ms: number) => number): bigint {
  const ms = floorDivide(nanos, NANOS_PER_MS);
  return nanos + (BigInt(change(Number(ms))) - ms) * NANOS_PER_MS;
}

/** Returns the day this many months later, or the last day of a shorter month. */
function daysOfMoved(days: number, months: number): number {
  if (months === 0) return days;
  const { year, month, day } = dayOf(days);
  const count = year * 12 + (month - 1) + months;
  const target = { year: Math.floor(count / 12), month: (((count % 12) + 12) % 12) + 1 };
  const next = daysOf({
    year: target.month === 12 ? target.year + 1 : target.year,
    month: target.month === 12 ? 1 : target.month + 1,
    day: 1,
  });
  return Math.min(daysOf({ ...target, day }), next - 1);
}
