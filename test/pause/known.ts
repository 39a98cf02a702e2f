/** Cases that fail, and why; each goes with what mends it. */

export interface KnownFailure {
  readonly why: string;
  /** Of what is said of a failed case, which begins with victim, rival, call, moment and locks. */
  readonly failures: RegExp;
}

export const KNOWN: readonly KnownFailure[] = [];
