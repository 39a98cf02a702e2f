/** Computes statistics of a version from its manifest alone, like the reference's `stats()`. */

import type { DataFragment, FragmentCounts, IndexMetadata, Manifest } from "../../format/table.js";

/** Number of rows below which a fragment is small. */
export const SMALL_FRAGMENT_ROWS = 100_000;
/** Names of indexes that are the format's own bookkeeping. */
const SYSTEM_INDEX_NAMES: ReadonlySet<string> = new Set(["__lance_frag_reuse", "__lance_mem_wal"]);

/** Returns true if an index is the format's own bookkeeping, which users neither make, drop nor list. */
export const isSystemIndex = (name: string): boolean => SYSTEM_INDEX_NAMES.has(name);

export interface TableStatistics {
  /** Total bytes of data and index files. */
  readonly totalBytes: number;
  readonly numRows: number;
  readonly numIndices: number;
  readonly fragmentStats: FragmentStatistics;
}

/** Distribution of rows per fragment, deleted rows included; all 0 without fragments. */
export interface FragmentStatistics {
  readonly numFragments: number;
  readonly numSmallFragments: number;
  readonly lengths: {
    readonly min: number;
    readonly max: number;
    /** Mean, rounded down. */
    readonly mean: number;
    readonly p25: number;
    readonly p50: number;
    readonly p75: number;
    readonly p99: number;
  };
}

/** Returns the number of live rows of a fragment. Needs the counts that every writer since 2023 records. */
export const liveRowCount = (fragment: FragmentCounts): number =>
  fragment.physicalRows - (fragment.deletionFile?.numDeletedRows ?? 0);

/** Returns the number of rows of fragments, deleted ones included. */
export const physicalRowCount = (fragments: readonly DataFragment[]): number =>
  fragments.reduce((sum, { physicalRows }) => sum + physicalRows, 0);

/** @param indices entries of the version's index section */
export function tableStatistics(manifest: Manifest, indices: readonly IndexMetadata[]): TableStatistics {
  let totalBytes = 0;
  let numRows = 0;
  for (const fragment of manifest.fragments) {
    numRows += liveRowCount(fragment);
    for (const file of fragment.files) totalBytes += file.fileSizeBytes;
  }
  for (const index of indices) for (const file of index.files) totalBytes += file.sizeBytes;
  const names = new Set(indices.map((index) => index.name).filter((name) => !isSystemIndex(name)));
  return {
    totalBytes,
    numRows,
    numIndices: names.size,
    fragmentStats: fragmentStatistics(manifest.fragments.map((fragment) => fragment.physicalRows)),
  };
}

function fragmentStatistics(lengths: readonly number[]): FragmentStatistics {
  const sorted = Float64Array.from(lengths).sort();
  const count = sorted.length;
  const valueAt = (index: number): number => (count === 0 ? 0 : sorted[index]);
  const quantile = (percent: number): number => valueAt(Math.floor((percent * count) / 100));
  const sum = sorted.reduce((total, length) => total + length, 0);
  return {
    numFragments: count,
    numSmallFragments: sorted.filter((length) => length < SMALL_FRAGMENT_ROWS).length,
    lengths: {
      min: valueAt(0),
      max: valueAt(count - 1),
      mean: count === 0 ? 0 : Math.floor(sum / count),
      p25: quantile(25),
      p50: quantile(50),
      p75: quantile(75),
      p99: quantile(99),
    },
  };
}
