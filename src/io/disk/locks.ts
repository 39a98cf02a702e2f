/** Locks of directories, and the lease by which the holder of a lock learns that the lock is lost. */

export interface LockLease {
  /**
   * True as soon as another process may hold the lock: it took the lock over, or this process failed to renew
   * it in time. False does not prove that the lock is still held: {@link confirm} does.
   */
  readonly compromised: boolean;
  /**
   * Checks that this process still holds the lock. Callers confirm right before each step that cannot be
   * undone and relies on exclusive access.
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

/** A lock that a caller holds. */
export interface DiskLock extends LockLease {
  /** Frees the lock. Does nothing if it is lost. Never fails. */
  release(): Promise<void>;
}

/** State of a lock: held by a living process, as far as can be told; held by a dead one; or free. */
export type LockState = "held" | "dead" | "free";

/** Options of an attempt to take a lock. */
export interface LockAttempt {
  /** Milliseconds without renewal after which a holder counts as dead. */
  readonly staleMs: number;
  /** Removes what a dead holder's next step would publish. The lock calls it before it is taken over. */
  readonly fence: (directory: string) => Promise<void>;
}

/**
 * Locks that a disk brings. At most one holder has the lock of a directory. A disk that several threads,
 * processes or machines share must keep that promise among all of them.
 */
export interface DiskLocks {
  /**
   * True if nobody takes a lock from a living holder, even one that was suspended. Then a holder that has
   * checked a condition under the lock need not check it again.
   */
  readonly areKept?: true;
  /** Milliseconds between two attempts at a lock that is held. Default: 1 to 3. */
  readonly lookMs?: number;
  /**
   * Takes the lock of a directory. Fails with ENOENT if the directory does not exist.
   * @returns null if another caller holds it
   */
  tryAcquire(directory: string, attempt: LockAttempt): Promise<DiskLock | null>;
  /** Returns the state of a directory's lock; "free" if the directory does not exist. */
  stateOf(directory: string, staleMs: number): Promise<LockState>;
}
