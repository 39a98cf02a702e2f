/** What the holder of a lock may rely on, and how it learns that the lock is lost. */

import { ConcurrentModificationError } from "../../errors.js";

/** What the holder of the lock is handed. */
export interface LockLease {
  /**
   * True as soon as another process may consider the lock its own: it was taken over, or could not be renewed
   * in time. False does not prove that the lock is still held at this moment: {@link confirm} does.
   */
  readonly compromised: boolean;
  /**
   * Makes sure, by a look at the disk, that the lock is still held. To be called right before each step that
   * can't be undone and relies on exclusive access.
   * @throws LeaseLostError where another has taken it over
   */
  confirm(): Promise<void>;
  /**
   * A directory that is there as long as the lock is held, and has gone before another holds it: nothing can
   * be moved into it once the lock is lost. What is moved in goes with the lock. Undefined where there is no
   * such directory.
   */
  readonly hold?: string | undefined;
  /** Tells the lease that the locked directory was moved, and the lock with it. */
  movedTo(directory: string): void;
}

/** The lock was taken over while its holder was suspended, or removed along with its directory. */
export class LeaseLostError extends ConcurrentModificationError {
  constructor(directory: string) {
    super(`the lock of ${directory} was lost while it was held, and nothing was changed since; please retry`);
  }
}

/** A lease for something that no other process can know of. */
export const UNSHARED_LEASE: LockLease = {
  compromised: false,
  confirm: async () => undefined,
  movedTo: () => undefined,
};
