/** Cases that fail, and why; each goes with what mends it. */

export interface KnownFailure {
  readonly why: string;
  /** Of the message of a failed case, which begins with victim, rival, call, moment and locks. */
  readonly cases: RegExp;
}

export const KNOWN: readonly KnownFailure[] = [
  {
    why: "A table that moves takes the mover's lock along, which is not released in the new place.",
    cases: /; rename [^;]*;.* left behind: [^ ,]*away(\.lance)?[\\/]\.tiltyard\.lock$/,
  },
];
