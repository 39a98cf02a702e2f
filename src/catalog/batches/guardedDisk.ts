/**
 * Wraps a disk for work under a lock, and checks the lock right before each call that changes what others
 * see.
 */

import type { Disk } from "../../io/disk/disk.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import { basename } from "../../platform/native.js";

const CHANGES: ReadonlySet<string | symbol> = new Set<keyof Disk>([
  "overwrite",
  "link",
  "rename",
  "remove",
  "removeTree",
  "removeEmptyDirectory",
  "makeDirectory",
]);

/**
 * Prevents changes by a process that was suspended and has lost its lock, however deep in the work a call is
 * and however long it has waited. Files that are being written belong to this process, and are not guarded.
 * @param confirm rejects if the lock is lost
 */
export function guardedDisk(disk: Disk, confirm: () => Promise<void>): Disk {
  return new Proxy(disk, {
    get(target, verb) {
      const value: unknown = Reflect.get(target, verb);
      if (typeof value !== "function") return value;
      if (!CHANGES.has(verb)) return value.bind(target);
      return async (...operands: unknown[]) => {
        if (
          !basename(String(operands[0])).startsWith(TEMPORARY_PREFIX) ||
          verb === "link" ||
          verb === "rename"
        ) {
          await confirm();
        }
        return Reflect.apply(value, target, operands);
      };
    },
  });
}
