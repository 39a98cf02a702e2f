/** Thresholds of upkeep, and how a table's config stores a table's own. Pure. */

import type { UpkeepThresholds } from "../../namespace/upkeep.js";

const PREFIX = "tiltyard.upkeep.";
const KEYS = {
  smallFragments: "small_fragments",
  deletedPercent: "deleted_percent",
  unindexedRows: "unindexed_rows",
  versions: "versions",
} as const;
const DEFAULTS = { smallFragments: 16, deletedPercent: 10, unindexedRows: 1000, versions: 100 } as const;
/** Text of a threshold that turns its kind of upkeep off. */
export const OFF = "off";

type Name = keyof typeof KEYS;
const NAMES = Object.keys(KEYS) as readonly Name[];

/** Returns the thresholds that a config sets. A malformed text has no effect: any writer may have set it. */
export function storedThresholds(config: ReadonlyMap<string, string>): UpkeepThresholds {
  const thresholds: Partial<Record<Name, number | "off">> = {};
  for (const name of NAMES) {
    const text = config.get(PREFIX + KEYS[name]) ?? "";
    if (text === OFF) thresholds[name] = OFF;
    else if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) thresholds[name] = Number(text);
  }
  return thresholds;
}

/** Returns the config that sets these thresholds and removes all others; null removes a key. */
export const thresholdConfig = (thresholds: UpkeepThresholds): Map<string, string | null> =>
  new Map(NAMES.map((name) => [PREFIX + KEYS[name], thresholds[name]?.toString() ?? null]));

/** Returns all thresholds of a table as numbers; infinity turns a kind of upkeep off. */
export function thresholdsOf(config: ReadonlyMap<string, string>): Readonly<Record<Name, number>> {
  const thresholds = { ...DEFAULTS, ...storedThresholds(config) };
  const numbers = NAMES.map((name) => {
    const threshold = thresholds[name];
    return [name, threshold === OFF ? Number.POSITIVE_INFINITY : threshold];
  });
  return Object.fromEntries(numbers);
}
