/** A disk on which something else happens once, right before a call that is waited for: a race with one outcome. */

import type { Disk } from "../../src/io/disk/disk.js";

export interface InterruptedDisk extends Disk {
  /** Whether it has happened. */
  readonly interrupted: boolean;
}

/**
 * @param inner does the calls
 * @param isMoment tells the call before which it happens, by verb and first path
 * @param happens what the call waits for
 */
export function interruptedDisk(
  inner: Disk,
  isMoment: (verb: keyof Disk, path: string) => boolean,
  happens: () => Promise<unknown>,
): InterruptedDisk {
  let interrupted = false;
  return new Proxy(inner, {
    get(target, member) {
      if (member === "interrupted") return interrupted;
      const value = Reflect.get(target, member);
      if (typeof value !== "function") return value;
      return async (...operands: unknown[]) => {
        if (!interrupted && isMoment(member as keyof Disk, String(operands[0]))) {
          interrupted = true;
          await happens();
        }
        return Reflect.apply(value, target, operands);
      };
    },
  }) as InterruptedDisk;
}
