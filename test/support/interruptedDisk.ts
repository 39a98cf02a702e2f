/** A disk on which a function runs once, right before a call that waits for it. */

import type { Disk } from "../../src/io/disk/disk.js";
import { withMembers, wrapCalls } from "./wrappedDisk.js";

export interface InterruptedDisk extends Disk {
  /** True if it has happened. */
  readonly interrupted: boolean;
}

/** @param isMoment selects the call before which it happens, by verb and first path */
export function interruptedDisk(
  inner: Disk,
  isMoment: (verb: keyof Disk, path: string) => boolean,
  happens: () => Promise<unknown>,
): InterruptedDisk {
  const state = { interrupted: false };
  const disk = wrapCalls(inner, async (verb, operands, make) => {
    if (!state.interrupted && isMoment(verb as keyof Disk, String(operands[0]))) {
      state.interrupted = true;
      await happens();
    }
    return make(...operands);
  });
  return withMembers(disk, state);
}
