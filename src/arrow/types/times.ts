/** Formats days, times and instants, and looks up time zone offsets. */

const MS_PER_DAY = 86_400_000;
const MS_PER_MINUTE = 60_000;
const NANOS_PER_MS = 1_000_000n;
const NANOS_PER_DAY = 86_400_000_000_000n;

/** A day of the proleptic Gregorian calendar. */
export interface Day {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
}

/** Returns the day that is `days` days after 1970-01-01. */
export function dayOf(days: number): Day {
  // Years start in March here, so that leap days come last. An era has 400 years.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

/** Returns the days from 1970-01-01 to a day. */
export function daysOf({ year, month, day }: Day): number {
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const ofYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  return era * 146_097 + yearOfEra * 365 + leapDays + ofYear - 719_468;
}

/** Minutes east of UTC; null for a text that is not an offset. */
export function parseZoneOffset(text: string): number | null {
  if (/^(Z|UTC)$/i.test(text)) return 0;
  const match = /^([+-])(\d{2})(?::?(\d{2}))?$/.exec(text);
  if (match === null) return null;
  const [hour, minute] = [Number(match[2]), Number(match[3] ?? 0)];
  if (hour > 23 || minute > 59) return null;
  const minutes = hour * 60 + minute;
  return match[1] === "-" ? -minutes : minutes;
}

const pad = (value: number, width: number): string => String(value).padStart(width, "0");

export function formatDay(days: number): string {
  const { year, month, day } = dayOf(days);
  const text = year < 0 ? `-${pad(-year, 4)}` : year > 9999 ? `+${year}` : pad(year, 4);
  return `${text}-${pad(month, 2)}-${pad(day, 2)}`;
}

/** Formats hours to seconds, with the digits that the fraction needs: none, 3, 6 or 9. */
export function formatTimeOfDay(nanos: bigint): string {
  const seconds = Number(nanos / 1_000_000_000n);
  const fraction = nanos % 1_000_000_000n;
  const time = `${pad(Math.floor(seconds / 3600), 2)}:${pad(Math.floor(seconds / 60) % 60, 2)}:${pad(seconds % 60, 2)}`;
  if (fraction === 0n) return time;
  const digits = String(fraction).padStart(9, "0");
  return `${time}.${digits.endsWith("000000") ? digits.slice(0, 3) : digits.endsWith("000") ? digits.slice(0, 6) : digits}`;
}

/** Formats local time, with the offset after it for an instant of a zone. */
export function formatTime(nanos: bigint, zone: string | null): string {
  const exact = zone === null ? 0 : zoneOffset(zone, Number(nanos / NANOS_PER_MS));
  // Local mean times, before zones had whole minutes, are shown in the offset's minute.
  const offset = Math.trunc(exact / MS_PER_MINUTE) * MS_PER_MINUTE;
  const local = nanos + BigInt(offset) * NANOS_PER_MS;
  const days = Math.floor(Number(floorDivide(local, NANOS_PER_DAY)));
  const time = `${formatDay(days)}T${formatTimeOfDay(local - BigInt(days) * NANOS_PER_DAY)}`;
  if (zone === null) return time;
  if (/^(utc|z|\+00:00)$/i.test(zone)) return `${time}Z`;
  const minutes = Math.abs(offset) / MS_PER_MINUTE;
  return `${time}${offset < 0 ? "-" : "+"}${pad(Math.floor(minutes / 60), 2)}:${pad(minutes % 60, 2)}`;
}

export function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor < 0n ? quotient - 1n : quotient;
}

/** True if the offset of a zone needs a slow lookup by the zone's name. */
export const isNamedZone = (zone: string): boolean => parseZoneOffset(zone) === null;

/** Milliseconds in a quarter of an hour. The offset of a zone is constant within each. */
const QUARTER_MS = 900_000;
const MAX_CACHED_QUARTERS = 65_536;
const formats = new Map<string, Intl.DateTimeFormat | null>();
const zoneOffsets = new Map<string, Map<number, number>>();

/** Returns the milliseconds that a zone's local time is ahead of UTC; 0 for an unknown zone. */
export function zoneOffset(zone: string, utcMillis: number): number {
  const minutes = parseZoneOffset(zone);
  if (minutes !== null) return minutes * MS_PER_MINUTE;
  const format = formatOf(zone);
  const quarter = Math.floor(utcMillis / QUARTER_MS);
  if (format === null || Math.abs(utcMillis) > 8e15) return 0;
  let ofZone = zoneOffsets.get(zone);
  if (ofZone === undefined || ofZone.size >= MAX_CACHED_QUARTERS) {
    ofZone = new Map();
    zoneOffsets.set(zone, ofZone);
  }
  let offset = ofZone.get(quarter);
  if (offset === undefined) {
    const index = quarter * QUARTER_MS;
    const parts = new Map(format.formatToParts(index).map(({ type, value }) => [type, value]));
    const part = (name: Intl.DateTimeFormatPartTypes) => Number(parts.get(name));
    const year = parts.get("era")?.startsWith("B") ? 1 - part("year") : part("year");
    const days = daysOf({ year, month: part("month"), day: part("day") });
    offset =
      days * MS_PER_DAY + ((part("hour") % 24) * 3600 + part("minute") * 60 + part("second")) * 1000 - index;
    ofZone.set(quarter, offset);
  }
  return offset;
}

function formatOf(zone: string): Intl.DateTimeFormat | null {
  let format = formats.get(zone);
  if (format !== undefined) return format;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch {
    // The runtime does not know the zone.
    format = null;
  }
  formats.set(zone, format);
  return format;
}
