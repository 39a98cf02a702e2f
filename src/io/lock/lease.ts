/** Defines the lease, by which the holder of a lock learns that the lock is lost. */

import { ConcurrentModificationError } from "../../errors.js";

export interface LockLease {
  /**
   * True as soon as another process may hold the lock: it took the lock over, or this process failed to renew
   * it in time. False does not prove that the lock is still held: {@link confirm} does.
   */
  readonly compromised: boolean;
  /**
   * Checks on the disk that this process still holds the lock. Callers confirm right before each step that
   * cannot be undone and relies on exclusive access.
   * @throws LeaseLostError if another process has taken it over
   */
  confirm(): Promise<void>;
  /**
   * Directory that exists as long as the lock is held, and is gone before another process holds it. Once the
   * lock is lost, nothing can be moved into it. Its content is removed with the lock. Undefined if there is
   * no such directory.
   */
  readonly hold?: string | undefined;
  /** Tells the lease that the locked directory was moved, together with the lock. */
  movedTo(directory: string): void;
}

/** Thrown when another process took the lock over, or the lock was removed along with its directory. */
export class LeaseLostError extends ConcurrentModificationError {
  constructor(directory: string) {
    super(`another process took over the lock of ${directory}, and nothing was changed since; please retry`);
  }
}

/** A lease for a directory that no other process knows. */
export const UNSHARED_LEASE: LockLease = {
  compromised: false,
  confirm: async () => undefined,
  movedTo: () => undefined,
};
