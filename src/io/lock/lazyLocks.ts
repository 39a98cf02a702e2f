/** Locks whose code is loaded with the first of them. */

import { lazy } from "../../async/lazy.js";
import type { DiskLocks } from "../disk/locks.js";

/** Calls of locks. */
export type LockCalls = Pick<DiskLocks, "tryAcquire" | "stateOf">;

/**
 * Returns locks that are loaded with the first call.
 * @param traits properties of the locks
 */
export function lazyLocks(
  load: () => Promise<LockCalls>,
  traits: Pick<DiskLocks, "areKept" | "lookMs">,
): DiskLocks {
  const locks = lazy(load);
  return {
    ...traits,
    tryAcquire: async (...attempt) => (await locks.get()).tryAcquire(...attempt),
    stateOf: async (...look) => (await locks.get()).stateOf(...look),
  };
}
