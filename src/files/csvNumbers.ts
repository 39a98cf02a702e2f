/**
 * Reads numbers, days and instants from the bytes of CSV cells. Only the plain form of each is read, as
 * programs write it; NaN stands for any other form, which `csvTexts.ts` and `encodeValues` decide.
 */

import { daysOf } from "../arrow/types/times.js";

const MINUS = 45;
const DOT = 46;
const COLON = 58;
const SPACE = 32;
const LETTER_T = 84;
const LETTER_Z = 90;
const DIGIT_0 = 48;

/** Digits of whole numbers that are exact as doubles. */
const EXACT_DIGITS = 15;
/** Powers of ten that are exact as doubles, as far as numbers have exact digits. */
const POWERS = Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent);
const DAYS_IN_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Reads `-?digits` without leading zeros, of at most 15 digits. */
export function shortInteger(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  const digits = end - first;
  if (digits < 1 || digits > EXACT_DIGITS || (digits > 1 && bytes[first] === DIGIT_0)) return Number.NaN;
  const value = digitsOf(bytes, first, end);
  return isNegative ? -value : value;
}

/** Reads `-?digits` of 16 to 19 digits within 64 bits. Null for any other form. */
export function longInteger(bytes: Uint8Array, start: number, end: number): bigint | null {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  const digits = end - first;
  if (digits <= EXACT_DIGITS || digits > 19 || bytes[first] === DIGIT_0) return null;
  const [high, low] = [digitsOf(bytes, first, end - 9), digitsOf(bytes, end - 9, end)];
  if (Number.isNaN(high) || Number.isNaN(low)) return null;
  const value = BigInt(high) * 1_000_000_000n + BigInt(low);
  const signed = isNegative ? -value : value;
  return BigInt.asIntN(64, signed) === signed ? signed : null;
}

/** Reads `-?digits(.digits)?` of at most 15 digits: the quotient of two exact doubles is rounded once. */
export function decimalNumber(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  if (end - first > EXACT_DIGITS + 1) return Number.NaN;
  let [value, fraction, digits] = [0, -1, 0];
  for (let offset = first; offset < end; offset++) {
    const digit = bytes[offset] - DIGIT_0;
    if (digit >= 0 && digit <= 9) {
      value = value * 10 + digit;
      digits++;
      if (fraction >= 0) fraction++;
    } else if (bytes[offset] === DOT && fraction < 0 && digits > 0) {
      fraction = 0;
    } else {
      return Number.NaN;
    }
  }
  if (digits === 0 || digits > EXACT_DIGITS || fraction === 0) return Number.NaN;
  const size = fraction > 0 ? value / POWERS[fraction] : value;
  return isNegative ? -size : size;
}

/** Reads `YYYY-MM-DD`, in days since 1970. */
export const dayNumber = (bytes: Uint8Array, start: number, end: number): number =>
  end - start === 10 ? dayAt(bytes, start) : Number.NaN;

/**
 * Reads `YYYY-MM-DD HH:MM(:SS(.digits)?)?Z?`, with a space or a T, in ticks since 1970, UTC.
 * @param fractionDigits digits of a second that a tick has: 0, 3 or 6
 */
export function instantNumber(bytes: Uint8Array, start: number, end: number, fractionDigits: number): number {
  const stop = bytes[end - 1] === LETTER_Z ? end - 1 : end;
  const between = bytes[start + 10];
  if (stop - start < 16 || (between !== LETTER_T && between !== SPACE) || bytes[start + 13] !== COLON) {
    return Number.NaN;
  }
  const [hour, minute] = [digitsOf(bytes, start + 11, start + 13), digitsOf(bytes, start + 14, start + 16)];
  const hasSeconds = stop - start > 16;
  const second = hasSeconds ? digitsOf(bytes, start + 17, start + 19) : 0;
  const isSecond = stop - start >= 19 && bytes[start + 16] === COLON;
  // Comparisons with NaN are false.
  if (!(hour <= 23 && minute <= 59 && second <= 59 && (!hasSeconds || isSecond))) return Number.NaN;
  let fraction = 0;
  if (stop - start > 19) {
    const digits = stop - start - 20;
    if (digits < 1 || digits > fractionDigits || bytes[start + 19] !== DOT) return Number.NaN;
    fraction = digitsOf(bytes, start + 20, stop) * POWERS[fractionDigits - digits];
  }
  const seconds = dayAt(bytes, start) * 86_400 + hour * 3600 + minute * 60 + second;
  const ticks = seconds * POWERS[fractionDigits] + fraction;
  return Number.isSafeInteger(ticks) ? ticks : Number.NaN;
}

/** Days since 1970 of the date at an offset. */
function dayAt(bytes: Uint8Array, start: number): number {
  if (bytes[start + 4] !== MINUS || bytes[start + 7] !== MINUS) return Number.NaN;
  const year = digitsOf(bytes, start, start + 4);
  const month = digitsOf(bytes, start + 5, start + 7);
  const day = digitsOf(bytes, start + 8, start + 10);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const isDay = day >= 1 && day <= DAYS_IN_MONTH[month - 1] && (month !== 2 || day < 29 || isLeap);
  return year >= 1 && isDay ? daysOf({ year, month, day }) : Number.NaN;
}

function digitsOf(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let offset = start; offset < end; offset++) {
    const digit = bytes[offset] - DIGIT_0;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}
