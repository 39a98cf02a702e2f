/**
 * Locks by the Web Locks API: all tabs and workers of one origin share them, and the browser frees those of a
 * tab that ends.
 */

import type { DiskLock, DiskLocks } from "../../io/disk/locks.js";
import { LeaseLostError } from "../../io/lock/lease.js";

/** Milliseconds between two attempts at a lock that is held. */
const LOOK_MS = 4;

/** The part of the API that is used. */
export type WebLockManager = Pick<LockManager, "request" | "query">;

/** Returns the manager of the page or worker; null outside secure contexts, and in other runtimes. */
export const lockManager = (): WebLockManager | null =>
  (globalThis.navigator as Partial<Navigator> | undefined)?.locks ?? null;

/**
 * Locks of directories.
 * @param scope prefix of the names of locks, which tells disks apart
 */
export function webLocks(scope: string, manager: WebLockManager | null): DiskLocks {
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

class OriginLocks implements DiskLocks {
  readonly areKept = true;
  readonly lookMs = LOOK_MS;
  readonly #scope: string;
  readonly #manager: WebLockManager;

  constructor(scope: string, manager: WebLockManager) {
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
class ThreadLocks implements DiskLocks {
  readonly areKept = true;
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
