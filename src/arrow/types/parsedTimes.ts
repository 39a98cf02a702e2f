/** Parses days, times and instants, and converts local times to instants and back. */

import { dayOf, daysOf, floorDivide, parseZoneOffset, zoneOffset } from "./times.js";

const MS_PER_DAY = 86_400_000;
const NANOS_PER_MS = 1_000_000n;
const NANOS_PER_DAY = 86_400_000_000_000n;

/** A parsed instant or local time. */
interface ParsedTime {
  readonly nanos: bigint;
  /** True if the text has an offset; `nanos` is then in UTC. */
  readonly hasOffset: boolean;
}

const TIME =
  /^([+-]?\d{4,12})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9})\d*)?)?)?\s*(Z|UTC|[+-]\d{2}(?::?\d{2})?)?$/i;

/** Null for a text that is not a time. */
function parseTime(text: string): ParsedTime | null {
  const match = TIME.exec(text.trim());
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return null;
  const days = daysOf({ year, month, day });
  if (dayOf(days).month !== month) return null;
  const offset = match[8];
  if (offset !== undefined && match[4] === undefined) return null;
  const minutes = offset === undefined ? 0 : parseZoneOffset(offset);
  if (minutes === null) return null;
  const seconds = hour * 3600 + (minute - minutes) * 60 + second;
  const total = days * 86_400 + seconds;
  // Years of more than 8 digits have more seconds than a number counts.
  const exact = Number.isSafeInteger(total) ? BigInt(total) : BigInt(days) * 86_400n + BigInt(seconds);
  const nanos = exact * 1_000_000_000n + BigInt((match[7] ?? "").padEnd(9, "0"));
  return { nanos, hasOffset: offset !== undefined };
}

/** Returns a text's nanoseconds since 1970, or null. Without an offset it is in the zone, else in UTC. */
export function parseInstant(text: string, zone: string | null): bigint | null {
  const parsed = parseTime(text);
  return parsed === null || parsed.hasOffset ? (parsed?.nanos ?? null) : nanosInZone(parsed.nanos, zone);
}

/** Returns the nanoseconds of the instant that has a local time in a zone. */
export function nanosInZone(localNanos: bigint, zone: string | null): bigint {
  if (zone === null) return localNanos;
  const ms = floorDivide(localNanos, NANOS_PER_MS);
  return localNanos + (BigInt(instantOf(Number(ms), zone)) - ms) * NANOS_PER_MS;
}

/** Returns the days from 1970 to the day of a text, whatever its time of day; null if it has none. */
export function parseDay(text: string): number | null {
  const parsed = parseTime(text);
  return parsed && Number(floorDivide(parsed.nanos, NANOS_PER_DAY));
}

const TIME_OF_DAY = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?$/;

/** Nanoseconds since midnight; null for a text that is not a time of day. */
export function parseTimeOfDay(text: string): bigint | null {
  const match = TIME_OF_DAY.exec(text.trim());
  if (match === null) return null;
  const [hour, minute, second] = match.slice(1, 4).map((part) => Number(part ?? 0));
  if (hour > 23 || minute > 59 || second > 59) return null;
  const fraction = BigInt((match[4] ?? "").padEnd(9, "0"));
  return BigInt(hour * 3600 + minute * 60 + second) * 1_000_000_000n + fraction;
}

/** Returns the instant of a local time. If the local time occurs twice, returns the earlier instant. */
export function instantOf(localMillis: number, zone: string): number {
  const first = localMillis - zoneOffset(zone, localMillis - zoneOffset(zone, localMillis));
  const earlier = localMillis - zoneOffset(zone, first - MS_PER_DAY);
  return earlier + zoneOffset(zone, earlier) === localMillis ? earlier : first;
}

/** Returns the local time of an instant. */
export function localMillisOf(utcMillis: number, zone: string): number {
  return utcMillis + zoneOffset(zone, utcMillis);
}
