/** Work that must have a name to itself. It is loaded with the first change: most pages only read. */

import type { WebLockManager } from "./webLocks.js";

/** Runs work while no other caller of the origin runs work of that name. */
export type Exclusively = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** Runs work under locks of a manager or, without one, one after the other in this thread. */
export function exclusivelyBy(manager: WebLockManager | null): Exclusively {
  if (manager !== null) {
    return async (name, work) => manager.request(name, work) as ReturnType<typeof work>;
  }
  const turns = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const turn = (turns.get(name) ?? Promise.resolve()).then(work, work);
    turns.set(name, turn);
    try {
      return await turn;
    } finally {
      if (turns.get(name) === turn) turns.delete(name);
    }
  };
}
