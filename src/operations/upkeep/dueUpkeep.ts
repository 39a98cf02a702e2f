/**
 * Decides which upkeep a table needs, from its latest manifest. Pure. The table's config may set thresholds:
 *
 *     tiltyard.upkeep.small_fragments   compact beyond this number of fragments below 100,000 rows; 16
 *     tiltyard.upkeep.deleted_percent   compact beyond this share of deleted rows; 10
 *     tiltyard.upkeep.unindexed_rows    update an index that lacks more rows than this; 1000
 *     tiltyard.upkeep.versions          clean up after this number of versions; 100
 *
 * `off` in place of a number turns a kind of upkeep off.
 */

import { countIndexedRows, namedIndexes } from "../../table/commit/namedIndexes.js";
import { liveRowCount, SMALL_FRAGMENT_ROWS } from "../../table/fragments/tableStatistics.js";
import type { ManifestFile } from "../../table/versions/manifest.js";

const PREFIX = "tiltyard.upkeep.";
const DEFAULTS = { small_fragments: 16, deleted_percent: 10, unindexed_rows: 1000, versions: 100 } as const;

/** Upkeep that a table needs. */
export interface DueUpkeep {
  /** True to compact fragments and update indexes. */
  readonly optimizes: boolean;
  /** True to remove old versions. */
  readonly cleansUp: boolean;
}

/** @param cleanedVersion latest version at the last cleanup; 0 if unknown @throws CorruptFileError */
export function dueUpkeep(file: ManifestFile, cleanedVersion: number): DueUpkeep {
  const { manifest } = file;
  const threshold = (name: keyof typeof DEFAULTS): number => thresholdIn(manifest.config, name);
  const small = manifest.fragments.filter((fragment) => liveRowCount(fragment) < SMALL_FRAGMENT_ROWS);
  const rows = manifest.fragments.reduce((sum, { physicalRows }) => sum + physicalRows, 0);
  const live = manifest.fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  const unindexed = namedIndexes(file).map((index) => countIndexedRows(manifest, index).unindexed);
  return {
    optimizes:
      small.length > threshold("small_fragments") ||
      (rows - live) * 100 > rows * threshold("deleted_percent") ||
      unindexed.some((count) => count > threshold("unindexed_rows")),
    cleansUp: manifest.version - cleanedVersion > threshold("versions"),
  };
}

/** Returns a threshold; a text that is not a number has no effect, since any writer may have set it. */
function thresholdIn(config: ReadonlyMap<string, string>, name: keyof typeof DEFAULTS): number {
  const text = config.get(PREFIX + name);
  if (text === "off") return Number.POSITIVE_INFINITY;
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : DEFAULTS[name];
}
