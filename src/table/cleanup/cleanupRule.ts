/**
 * Reads and writes a table's own rule for cleanups, which lies in its config. Pure.
 *
 *     lance.auto_cleanup.interval         clean up at every n-th version (0, 1: every). Absent: never
 *     lance.auto_cleanup.older_than       remove only versions of this age or older: `14d`, `1h 30m`, `0s`
 *     lance.auto_cleanup.retain_versions  keep that many of the newest versions
 *
 * A version is removed only if both of the last two allow it. The version before the new one always stays.
 */

import { InvalidInputError } from "../../errors.js";
import type { RetentionPolicy } from "./retentionPolicy.js";

const PREFIX = "lance.auto_cleanup.";
const INTERVAL = `${PREFIX}interval`;
const OLDER_THAN = `${PREFIX}older_than`;
const RETAIN_VERSIONS = `${PREFIX}retain_versions`;

/** Default age of the versions that a cleanup removes: seven days. */
export const DEFAULT_OLDER_THAN_MS = 7 * 24 * 60 * 60 * 1000;

/** A table's own rule for cleanups. Without members, commits clean nothing up. */
export interface AutoCleanupRule extends Pick<RetentionPolicy, "olderThanMs" | "retainVersions"> {
  readonly interval?: number;
}

/** Returns the config of a rule; null removes a key. */
export function cleanupConfig({
  olderThanMs,
  retainVersions,
  interval,
}: AutoCleanupRule): Map<string, string | null> {
  return new Map([
    [INTERVAL, interval === undefined ? null : String(interval)],
    [OLDER_THAN, olderThanMs === undefined ? null : `${olderThanMs}ms`],
    [RETAIN_VERSIONS, retainVersions === undefined ? null : String(retainVersions)],
  ]);
}

/**
 * Returns the policy that the config asks for after the commit of a version; null if it asks for no cleanup.
 * @throws InvalidInputError for settings that cannot be parsed
 */
export function autoCleanupPolicy(
  config: ReadonlyMap<string, string>,
  version: number,
): RetentionPolicy | null {
  const interval = config.get(INTERVAL);
  if (interval === undefined) return null;
  const every = parseCount(interval, INTERVAL);
  if (every > 0 && version % every !== 0) return null;
  const olderThan = config.get(OLDER_THAN);
  const retain = config.get(RETAIN_VERSIONS);
  const retainVersions = retain === undefined ? undefined : parseCount(retain, RETAIN_VERSIONS);
  if (retainVersions === 0) throw new InvalidInputError(`${RETAIN_VERSIONS}: must be greater than 0`);
  return {
    olderThanMs: olderThan === undefined ? undefined : parseDurationMs(olderThan, OLDER_THAN),
    retainVersions,
  };
}

/**
 * Returns the versions that a config keeps, even without cleanups after commits.
 * @throws InvalidInputError for settings that cannot be parsed
 */
export const cleanupRuleIn = (config: ReadonlyMap<string, string>): RetentionPolicy | null =>
  autoCleanupPolicy(new Map([...config, [INTERVAL, "1"]]), 0);

/** Returns the rule that commits follow. Undefined if they clean nothing up, as with malformed settings. */
export function storedCleanupRule(config: ReadonlyMap<string, string>): AutoCleanupRule | undefined {
  const interval = config.get(INTERVAL);
  if (interval === undefined) return undefined;
  try {
    // Another engine may store fractions, and durations beyond the integers.
    const { olderThanMs = 0, retainVersions } = cleanupRuleIn(config) ?? {};
    return {
      olderThanMs: Math.min(Math.ceil(olderThanMs), Number.MAX_SAFE_INTEGER),
      interval: Math.max(parseCount(interval, INTERVAL), 1),
      ...(retainVersions !== undefined && { retainVersions }),
    };
  } catch {
    return undefined;
  }
}

/**
 * Checks the cleanup settings of a config.
 * @param before settings that the table has already; these are not refused
 * @throws InvalidInputError for settings that cannot be parsed
 */
export function checkAutoCleanup(
  config: ReadonlyMap<string, string>,
  before?: ReadonlyMap<string, string>,
): void {
  const keys = [INTERVAL, OLDER_THAN, RETAIN_VERSIONS];
  if (keys.every((key) => config.get(key) === before?.get(key))) return;
  // At version 0 every interval is due, so all settings are parsed.
  autoCleanupPolicy(config, 0);
}

function parseCount(text: string, key: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count)) return count;
  throw new InvalidInputError(`${key}: ${JSON.stringify(text.slice(0, 100))} is not a count`);
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Milliseconds of each unit. A month is 30.44 days and a year 365.25 days. */
const UNITS: Readonly<Record<string, number>> = {
  ...{ nsec: 1e-6, ns: 1e-6, usec: 1e-3, us: 1e-3, msec: 1, ms: 1 },
  ...{ seconds: SECOND, second: SECOND, secs: SECOND, sec: SECOND, s: SECOND },
  ...{ minutes: MINUTE, minute: MINUTE, mins: MINUTE, min: MINUTE, m: MINUTE },
  ...{ hours: HOUR, hour: HOUR, hrs: HOUR, hr: HOUR, h: HOUR },
  ...{ days: DAY, day: DAY, d: DAY, weeks: 7 * DAY, week: 7 * DAY, w: 7 * DAY },
  ...{ months: 30.44 * DAY, month: 30.44 * DAY, M: 30.44 * DAY },
  ...{ years: 365.25 * DAY, year: 365.25 * DAY, y: 365.25 * DAY },
};

/**
 * Parses a duration: numbers, each with its unit, with or without spaces; or a bare 0.
 * @throws InvalidInputError
 */
export function parseDurationMs(text: string, key: string): number {
  const refuse = (): never => {
    throw new InvalidInputError(`${key}: ${JSON.stringify(text.slice(0, 100))} is not a duration`);
  };
  if (text.trim() === "0") return 0;
  if (!/^(\s*\d+(\.\d+)?\s*[A-Za-z]+)+\s*$/.test(text)) refuse();
  let sum = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)\s*([A-Za-z]+)/g)) {
    sum += Number(amount) * (Object.hasOwn(UNITS, unit) ? UNITS[unit] : refuse());
  }
  return Number.isFinite(sum) ? sum : refuse();
}
