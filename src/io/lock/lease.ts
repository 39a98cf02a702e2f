/** Lost leases, and the lease of what nobody else knows. */

import { ConcurrentModificationError } from "../../errors.js";
import type { LockLease } from "../disk/locks.js";

/** Name of the lock in a directory: a directory on the local file system, else a file. */
export const LOCK_NAME = ".tiltyard.lock";

/** Milliseconds between two attempts at a lock file that another holder has (leaseLocks.ts). */
export const LEASE_LOOK_MS = 60;

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
