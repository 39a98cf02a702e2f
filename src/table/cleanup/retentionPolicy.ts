/**
 * Decides by age and number which versions a cleanup may remove. Tags and branches keep further versions.
 *
 * The age of a version counts from the commit of its successor. A reader may have opened it just before, and
 * needs that long to finish.
 */

export interface RetentionPolicy {
  /** Minimum milliseconds since a version was superseded before it may be removed. Absent: any age. */
  readonly olderThanMs?: number;
  /** Number of the newest versions to keep, the latest included. Absent: the latest alone. */
  readonly retainVersions?: number;
}

export interface VersionAge {
  /** Commit time of the next version in milliseconds since the epoch; any value for the latest. */
  readonly followedMs: number;
  readonly newerCount: number;
}

/** Returns true if the policy lets a version be removed; never the latest. */
export function isOutdated(
  { followedMs, newerCount }: VersionAge,
  { olderThanMs = 0, retainVersions = 1 }: RetentionPolicy,
  nowMs: number,
): boolean {
  // With age 0, versions from before the clock was set back are old enough, too.
  const isOldEnough = olderThanMs <= 0 || followedMs <= nowMs - olderThanMs;
  return newerCount >= Math.max(retainVersions, 1) && isOldEnough;
}
