/** Cases that fail, and why; each goes with what mends it. */

export interface KnownFailure {
  readonly why: string;
  /** Of what is said of a failed case, which begins with victim, rival, call, moment and locks. */
  readonly failures: RegExp;
}

export const KNOWN: readonly KnownFailure[] = [
  {
    why: "A table that moves takes the mover's lock along, which is not released in the new place.",
    failures: /rename.* left behind: \S*\.tiltyard\.lock$/,
  },
  {
    why: "A move that fails takes away the row of its new place, which may be another writer's table by then.",
    failures: /^rename, /,
  },
  {
    why: "A batch that is taken over is undone by two at once, and its steps do not know the table they are meant for.",
    failures: /^batch/,
  },
  {
    why: "Versions go on being deleted after the lock was lost, from a table that was made anew as well.",
    failures: /^delete versions/,
  },
  {
    why: "A cleanup looks at its lease and its table once, and goes on where refs were made or the table was replaced.",
    failures: /^clean up/,
  },
  {
    why: "A root table that was deregistered, or made anew, since it was found is dropped all the same, and hidden.",
    failures: /^(drop, root|deregister, root|drop a declared table);/,
  },
  {
    why: "Two registrations of one root table are both acknowledged, also where it was dropped in between.",
    failures: /^register, root;/,
  },
];
