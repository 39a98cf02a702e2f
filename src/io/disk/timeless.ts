/** Directories of disks that have none: they exist while files lie below them, and have no times. */

import type { FileStat } from "./disk.js";

/**
 * Time of a change that is later than any other. A directory without times has it, so that nobody takes an
 * older look at the directory for its current state.
 */
export const FAR_FUTURE_NS = 2n ** 62n;

/** Returns true for a directory without times, whose age only its files tell. */
export const isTimeless = ({ kind, modifiedNs }: FileStat): boolean =>
  kind === "directory" && modifiedNs === FAR_FUTURE_NS;
