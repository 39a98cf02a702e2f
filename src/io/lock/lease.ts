/** What the holder of a lock may rely on, and how it learns that it may not any more. */

import { ConcurrentModificationError } from "../../errors.js";

/** What the holder of the lock is handed. */
export interface LockLease {
  /**
   * True as soon as others may think the lock theirs: it was taken over, or could not be renewed in time. False
   * says nothing of the present moment: {@link confirm} does.
   */
  readonly compromised: boolean;
  /**
   * Makes sure, by a look at the disk, that the lock is still held: to be called right before each step that can't be
   * undone and relies on being alone.
   * @throws LeaseLostError where another has taken it over
   */
  confirm(): Promise<void>;
  /** Says that the locked directory was moved, the lock with it. */
  movedTo(directory: string): void;
}

/** The lock was taken over while its holder was suspended, or removed along with its directory. */
export class LeaseLostError extends ConcurrentModificationError {
  constructor(directory: string) {
    super(`the lock of ${directory} was lost while it was held, and nothing was changed since; please retry`);
  }
}

/** A lease of what nobody else can know of. */
export const UNSHARED_LEASE: LockLease = {
  compromised: false,
  confirm: async () => undefined,
  movedTo: () => undefined,
};
