/** A disk that tells of every call, those of open handles included, before it is made and after it was. */

import type { Disk } from "../../src/io/disk/disk.js";
import type { Verb } from "./countingDisk.js";

/** One call; it is made once the hook before it has resolved, and answered once the one after it has. */
export interface WatchedCall {
  /** From 0, over all verbs. */
  readonly index: number;
  readonly verb: Verb;
  /** The first one of a call with two. */
  readonly path: string;
}

export interface DiskWatch {
  before?(call: WatchedCall): Promise<unknown> | unknown;
  after?(call: WatchedCall): Promise<unknown> | unknown;
}

export function watchedDisk(inner: Disk, watch: DiskWatch): Disk {
  let calls = 0;
  const watched = <Target extends object>(target: Target, pathOf: (operands: unknown[]) => string): Target =>
    new Proxy(target, {
      get(_, member) {
        const value = Reflect.get(target, member);
        // Tails come with the opening.
        if (typeof value !== "function" || member === "takeTail") {
          return typeof value === "function" ? value.bind(target) : value;
        }
        return async (...operands: unknown[]) => {
          const path = pathOf(operands);
          const call = { index: calls++, verb: member as Verb, path };
          await watch.before?.(call);
          const result: unknown = await Reflect.apply(value, target, operands);
          await watch.after?.(call);
          const isHandle = (member === "open" || member === "create") && result !== null;
          return isHandle ? watched(result as object, () => path) : result;
        };
      },
    });
  return watched(inner, ([path]) => String(path));
}
