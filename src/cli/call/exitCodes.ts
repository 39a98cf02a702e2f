/** Exit codes of all commands. */
export const EXIT = {
  /** The command did what it was asked. */
  done: 0,
  /** The command failed. */
  failed: 1,
  /** The command line is wrong; nothing was done. */
  mistaken: 2,
  /** `verify` found damage. */
  damaged: 3,
  /** The user interrupted the command. */
  interrupted: 130,
} as const;
