/**
 * Which versions a cleanup may take, by age and number. Pure; tags and branches keep further ones.
 *
 * What counts is for how long a version has not been the latest any more. Somebody may have begun to read it just
 * before, however long ago it was committed, and has that long to go on.
 */

export interface RetentionPolicy {
  /** Only versions that others followed at least so many milliseconds ago go. Absent: of any age. */
  readonly olderThanMs?: number;
  /** The newest versions stay, so many of them, the latest included. Absent: the latest alone. */
  readonly retainVersions?: number;
}

export interface VersionAge {
  /** When the version after it was committed, in milliseconds since the epoch; of the latest anything. */
  readonly followedMs: number;
  /** Number of newer versions. */
  readonly newerCount: number;
}

/** Whether the policy lets a version go; never the latest. */
export function isOutdated(
  { followedMs, newerCount }: VersionAge,
  { olderThanMs = 0, retainVersions = 1 }: RetentionPolicy,
  nowMs: number,
): boolean {
  return newerCount >= Math.max(retainVersions, 1) && followedMs <= nowMs - olderThanMs;
}
