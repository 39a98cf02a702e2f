/**
 * Locks by the Web Locks API: all tabs and workers of one origin share them, and the browser frees those of a
 * tab that ends. They are loaded with the first change: most pages only read.
 */

import type { DiskLock } from "../../io/disk/locks.js";
import type { LockCalls } from "../../io/lock/lazyLocks.js";
import { LeaseLostError } from "../../io/lock/lease.js";

/** The part of the API that is used. */
type Manager = Pick<LockManager, "request" | "query">;

/** Runs work while no other caller of the origin runs work of that name. */
export type Exclusively = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** Returns the manager of the page or worker; null outside secure contexts, and in other runtimes. */
export const lockManager = (): Manager | null =>
  (globalThis.navigator as Partial<Navigator> | undefined)?.locks ?? null;

/** Runs work under locks of a manager or, without one, one after the other in this thread. */
export function exclusivelyBy(manager: Manager | null): Exclusively {
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

/**
 * Locks of directories.
 * @param scope prefix of the names of locks, which tells disks apart
 * @param manager null: locks of this thread alone
 */
export function webLocks(scope: string, manager = lockManager()): LockCalls {
  return manager === null ? new ThreadLocks() : new OriginLocks(scope, manager);
}

/** A lock that nobody can take from its holder: it ends with the release, or with the tab. */
function lockOf(directory: string, release: () => Promise<void>): DiskLock {
  let isReleased = false;
  return {
    get compromised() {
      return isReleased;
    },
    async confirm() {
      if (isReleased) throw new LeaseLostError(directory);
    },
    movedTo: () => undefined,
    async release() {
      isReleased = true;
      await release();
    },
  };
}

class OriginLocks implements LockCalls {
  readonly #scope: string;
  readonly #manager: Manager;

  constructor(scope: string, manager: Manager) {
    this.#scope = scope;
    this.#manager = manager;
  }

  tryAcquire(directory: string): Promise<DiskLock | null> {
    return new Promise((resolve, reject) => {
      const request = this.#manager.request(this.#scope + directory, { ifAvailable: true }, async (lock) => {
        if (lock === null) return resolve(null);
        await new Promise<void>((end) => {
          const release = async () => {
            end();
            await request;
          };
          resolve(lockOf(directory, release));
        });
      });
      request.catch(reject);
    });
  }

  async stateOf(directory: string): Promise<"held" | "free"> {
    const { held = [] } = await this.#manager.query();
    return held.some(({ name }) => name === this.#scope + directory) ? "held" : "free";
  }
}

/** Locks of one thread, where there is no manager. */
class ThreadLocks implements LockCalls {
  readonly #held = new Set<string>();

  async tryAcquire(directory: string): Promise<DiskLock | null> {
    if (this.#held.has(directory)) return null;
    this.#held.add(directory);
    return lockOf(directory, async () => void this.#held.delete(directory));
  }

  async stateOf(directory: string): Promise<"held" | "free"> {
    return this.#held.has(directory) ? "held" : "free";
  }
}
