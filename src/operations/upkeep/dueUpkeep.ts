/** Decides which upkeep a table needs, from its latest manifest and the thresholds in its config. Pure. */

import { countIndexedRows, namedIndexes } from "../../table/commit/namedIndexes.js";
import { liveRowCount, SMALL_FRAGMENT_ROWS } from "../../table/fragments/tableStatistics.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { thresholdsOf } from "./thresholds.js";

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
  const thresholds = thresholdsOf(manifest.config);
  const small = manifest.fragments.filter((fragment) => liveRowCount(fragment) < SMALL_FRAGMENT_ROWS);
  const rows = manifest.fragments.reduce((sum, { physicalRows }) => sum + physicalRows, 0);
  const live = manifest.fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  const unindexed = namedIndexes(file).map((index) => countIndexedRows(manifest, index).unindexed);
  return {
    optimizes:
      small.length > thresholds.smallFragments ||
      (rows - live) * 100 > rows * thresholds.deletedPercent ||
      unindexed.some((count) => count > thresholds.unindexedRows),
    cleansUp: manifest.version - cleanedVersion > thresholds.versions,
  };
}
