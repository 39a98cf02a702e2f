/**
 * Decides by age and number which versions a cleanup may remove. Pure. Tags and branches keep further
 * versions.
 *
 * What counts is how long ago a version stopped being the latest, not when it was committed: a reader may
 * have begun to read it just before it was superseded, and has that long to go on.
 */

export interface RetentionPolicy {
  /** Removes only versions that were superseded at least this many milliseconds ago. Absent: of any age. */
  readonly olderThanMs?: number;
  /** Keeps this many of the newest versions, the latest included. Absent: the latest alone. */
  readonly retainVersions?: number;
}

export interface VersionAge {
  /** When the next version was committed, in milliseconds since the epoch; any value for the latest. */
  readonly followedMs: number;
  /** Number of newer versions. */
  readonly newerCount: number;
}

/** True if the policy lets a version be removed; never the latest. */
export function isOutdated(
  { followedMs, newerCount }: VersionAge,
  { olderThanMs = 0, retainVersions = 1 }: RetentionPolicy,
  nowMs: number,
): boolean {
  // Any age is enough, also of a version from before the clock was set back.
  const isOldEnough = olderThanMs <= 0 || followedMs <= nowMs - olderThanMs;
  return newerCount >= Math.max(retainVersions, 1) && isOldEnough;
}
