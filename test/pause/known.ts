/** Failures that are accepted, with their reasons; docs/guarantees.md tells the same. */

export interface KnownFailure {
  readonly why: string;
  /** Matches the description of a failed case: victim, rival, call, moment and locks, then the fault. */
  readonly failures: RegExp;
}

export const KNOWN: readonly KnownFailure[] = [
  {
    why: "A cleanup that is suspended, and overruled, while it renames a version of a table that is renamed meanwhile can't put it back: the next cleanup does, or removes it.",
    failures: /^clean up[^;]*; rename .*; stale .*no serial order/,
  },
  {
    why: "A rename out of a child namespace that is suspended, and overruled, once it has moved the directory, while the namespace is dropped, moves the directory back to where nothing knows it.",
    failures: /^rename, child to root; cascade; .*; stale .*"unlisted":1.*but to.*"unlisted":0/s,
  },
  {
    why: "A move of a tag that is suspended between its last look at the tag and its renaming brings back a tag that LanceDB deletes meanwhile, without the lock.",
    failures:
      /^move a tag[^;]*; reference: delete a tag; \d+; (after; \w+ \[list \S*_refs\/tags\]|before; \w+ \[rename \S*_refs\/tags\/).*no serial order/,
  },
];
