/**
 * The locks that a batch is done under: those of the tables whose versions it changes, and that of its own
 * directory.
 */

import { codeOf } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/lock/lease.js";
import { type LockOptions, withLock } from "../../io/lock/lock.js";
import { isLasting } from "./batchRefusals.js";

/** The locks that a batch is done under. */
export interface BatchLocks {
  /** That of its directory. */
  readonly batch: LockLease;
  /** By directory of a table or branch; a directory that is gone has none. */
  readonly tables: ReadonlyMap<string, LockLease>;
  /** Why the locks of others can't be had, now or later. */
  readonly refusals: ReadonlyMap<string, unknown>;
}

/**
 * A lock was lost while this process was suspended: another one may be working on the batch, or have ended
 * it.
 */
export class LocksLostError extends Error {}

/** @throws LocksLostError unless a lock is held */
export async function requireLock(lease: LockLease): Promise<void> {
  try {
    await lease.confirm();
  } catch (cause) {
    throw new LocksLostError("a lock of the batch was lost", { cause });
  }
}

/** @throws LocksLostError unless all locks are held */
export async function requireLocks({ batch, tables }: BatchLocks): Promise<void> {
  for (const lease of [batch, ...tables.values()]) await requireLock(lease);
}

/** The locks of tables that were taken, and the reasons why others can't be. */
export type TableLocks = Pick<BatchLocks, "tables" | "refusals">;

/**
 * Takes the locks of directories, in the same order for all callers, so that no two wait for each other. A
 * directory that is gone gets none, nor does one whose lock can't be had, now or later.
 * @throws ServiceUnavailableError where a lock is not free in time
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
