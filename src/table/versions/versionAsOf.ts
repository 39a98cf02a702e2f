/**
 * Finds the version that was the latest at a moment. Versions are searched from the newest to the oldest, and
 * the first one whose commit time is not later is the answer. So a clock that was wrong for some commits
 * misplaces only those. Each version that is newer than the answer costs reading its manifest.
 */

import { mapParallel } from "../../async/parallel.js";
import type { Timestamp } from "../../format/table.js";
import { readManifestAt } from "./openVersion.js";
import type { TableAt } from "./tableAt.js";
import { type LatestVersion, listVersions, type VersionEntry } from "./versions.js";

/** Number of manifests read concurrently, and so at most read in vain. */
const PARALLELISM = 16;

/** A version with its commit time. */
export interface TimedVersion {
  readonly entry: VersionEntry & Pick<LatestVersion, "manifestStat">;
  /** Commit time in milliseconds since 1970. */
  readonly millis: number;
}

/** Result of a search. Without an answer, `oldest` is the oldest version; null if there are no versions. */
export type SearchedAsOf =
  | { readonly version: TimedVersion }
  | { readonly version: null; readonly oldest: TimedVersion | null };

/**
 * Finds the latest version whose commit time is not later than a moment.
 * @param latest the latest version, if the caller knows it
 * @param asOfMillis milliseconds since 1970
 */
export async function findVersionAsOf(
  table: TableAt,
  latest: LatestVersion | null,
  asOfMillis: number,
  signal?: AbortSignal,
): Promise<SearchedAsOf> {
  // Most moments are later than the last commit, and need no listing.
  const newest = latest && (await timeOf(table, latest));
  if (newest !== null && newest.millis <= asOfMillis) return { version: newest };
  const entries = (await listVersions(table)).reverse();
  let oldest: TimedVersion | null = null;
  for (let start = 0; start < entries.length; start += PARALLELISM) {
    const window = entries.slice(start, start + PARALLELISM);
    const timed = await mapParallel(window, PARALLELISM, (entry) => timeOf(table, entry), signal);
    const version = timed.find((candidate) => candidate !== null && candidate.millis <= asOfMillis);
    if (version !== undefined && version !== null) return { version };
    oldest = timed.findLast((candidate) => candidate !== null) ?? oldest;
  }
  return { version: null, oldest };
}

/** Returns a version with its commit time; null if a cleanup has removed it. */
async function timeOf(table: TableAt, entry: TimedVersion["entry"]): Promise<TimedVersion | null> {
  const file = await readManifestAt(table.environment, entry);
  return file && { entry, millis: timestampMillis(file.head) };
}

/** Returns the time of a version in milliseconds since the epoch; 0 if its manifest has none. */
export function timestampMillis({ timestamp }: { readonly timestamp?: Timestamp | undefined }): number {
  return timestamp === undefined ? 0 : timestamp.seconds * 1000 + Math.floor(timestamp.nanos / 1_000_000);
}
