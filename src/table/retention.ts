/** Which versions a cleanup may take, by age and number. Pure; tags and branches keep further ones. */

export interface RetentionPolicy {
  /** Only versions committed at least so many milliseconds ago go. Absent: of any age. */
  readonly olderThanMs?: number;
  /** The newest versions stay, so many of them, the latest included. Absent: the latest alone. */
  readonly retainVersions?: number;
}

export interface VersionAge {
  /** Milliseconds since the epoch. */
  readonly committedMs: number;
  /** Number of newer versions. */
  readonly newerCount: number;
}

/** Whether the policy lets a version go; never the latest. */
export function isOutdated(
  { committedMs, newerCount }: VersionAge,
  { olderThanMs = 0, retainVersions = 1 }: RetentionPolicy,
  nowMs: number,
): boolean {
  return newerCount >= Math.max(retainVersions, 1) && committedMs <= nowMs - olderThanMs;
}
