/** Takes the locks of a batch: of the tables whose versions it changes, and of its own directory. */

import { codeOf } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/disk/locks.js";
import { type LockOptions, withLock } from "../../io/lock/lock.js";
import { isLasting } from "./batchRefusals.js";

export interface BatchLocks {
  readonly batch: LockLease;
  /** Locks by directory of a table or branch; a missing directory has none. */
  readonly tables: ReadonlyMap<string, LockLease>;
  /** Reasons why other locks cannot be taken, by directory. */
  readonly refusals: ReadonlyMap<string, unknown>;
}

/** Thrown when a suspension cost the lock: another process may work on the batch, or have ended it. */
export class LocksLostError extends Error {}

/** @throws LocksLostError if the lock is lost */
export async function requireLock(lease: LockLease): Promise<void> {
  try {
    await lease.confirm();
  } catch (cause) {
    throw new LocksLostError("a lock of the batch was lost", { cause });
  }
}

/** @throws LocksLostError if one of the locks is lost */
export async function requireLocks({ batch, tables }: BatchLocks): Promise<void> {
  for (const lease of [batch, ...tables.values()]) await requireLock(lease);
}

/** Locks of tables that were taken, and reasons why others cannot be. */
export type TableLocks = Pick<BatchLocks, "tables" | "refusals">;

/**
 * Takes the locks of directories in a global order, so that no two callers deadlock. Takes none for a missing
 * directory, or if the reason against it lasts.
 * @throws ServiceUnavailableError if a lock is not free in time
 */
export async function withTableLocks<T>(
  tableRoots: readonly string[],
  options: LockOptions,
  work: (locks: TableLocks) => Promise<T>,
): Promise<T> {
  const tables = new Map<string, LockLease>();
  const refusals = new Map<string, unknown>();
  const takeFrom = async (rest: readonly string[]): Promise<T> => {
    const [next, ...others] = rest;
    if (next === undefined) return work({ tables, refusals });
    try {
      return await withLock(next, options, (lease) => {
        tables.set(next, lease);
        return takeFrom(others);
      });
    } catch (error) {
      if (tables.has(next) || !isLasting(error)) throw error;
      if (codeOf(error) !== "ENOENT") refusals.set(next, error);
      return takeFrom(others);
    }
  };
  return takeFrom([...new Set(tableRoots)].sort());
}
