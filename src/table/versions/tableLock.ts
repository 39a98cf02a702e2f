/** Takes the lock of a table, as every writer of it does. */

import { sleep } from "../../async/sleep.js";
import type { Disk } from "../../io/disk/disk.js";
import type { LockLease } from "../../io/disk/locks.js";
import { LeaseLostError } from "../../io/lock/lease.js";
import { type LockOptions, withLock } from "../../io/lock/lock.js";
import { fenceOff, OverruledError } from "../../io/publish.js";
import { branchesDirectory, sideDirectory, tagsDirectory, versionsDirectory } from "./paths.js";
import type { TableAt, TableEnvironment } from "./tableAt.js";

/** Options of the wait for a lock that override the defaults, and if the lock is kept. */
export type LockWait = Pick<LockOptions, "signal" | "waitMs" | "keep">;

/** Returns the options for a lock of a table. Options of the wait override them. */
export const lockOptions = (
  { lock }: Pick<TableEnvironment, "lock">,
  { signal, waitMs, keep }: LockWait,
): LockOptions => ({
  ...lock,
  signal: signal ?? lock.signal,
  waitMs: waitMs ?? lock.waitMs,
  keep,
});

/**
 * Returns true if a table changes only through the holder of its lock: all writers take the lock, and nobody
 * takes it from a living holder. Then the holder looks at the table once, and not again before it commits.
 */
export const isFrozenByLock = ({ disk, environment }: TableAt): boolean =>
  disk.isPrivate === true && environment.lock.locks?.areKept === true;

/** Maximum number of starts of work whose lock keeps being lost. */
const MAX_TAKES = 20;
const FIRST_BACKOFF_MS = 1;
const MAX_BACKOFF_MS = 50;

/**
 * Runs work under a table's lock, after finishing any unfinished batch of the table. Such a batch may have
 * versions to publish, whose numbers no other writer may take.
 * @param work starts over if it fails because the lock was lost; nothing has changed then
 */
export async function withTableLock<T>(
  table: TableAt,
  wait: LockWait,
  work: (lease: LockLease) => Promise<T>,
): Promise<T> {
  const { batches } = table.environment;
  const lock = lockOptions(table.environment, wait);
  for (;;) {
    const outcome = await withSteadyLock(table.root, lock, async (lease) =>
      (await batches?.present(table.root)) ? null : { value: await work(lease) },
    );
    if (outcome !== null) return outcome.value;
    await batches?.recover(table.root, lock.signal);
  }
}

/**
 * Runs work under the lock of a directory.
 * @param work starts over if it fails because the lock was lost; nothing has changed then
 */
export async function withSteadyLock<T>(
  directory: string,
  lock: LockOptions,
  work: (lease: LockLease) => Promise<T>,
): Promise<T> {
  for (let take = 1; ; take++) {
    try {
      return await withLock(directory, lock, work);
    } catch (error) {
      const isLost = error instanceof LeaseLostError || error instanceof OverruledError;
      if (!isLost || take === MAX_TAKES) throw error;
      await backOff(take);
    }
  }
}

/** Pauses before the next attempt. Pauses grow to a limit; random lengths spread waiting writers. */
export const backOff = (attempt: number): Promise<void> =>
  sleep(Math.min(FIRST_BACKOFF_MS * 2 ** attempt, MAX_BACKOFF_MS) * (0.5 + Math.random() / 2));

/** Makes the next step of a table lock's former holder fail. */
export async function fenceOffTable(disk: Disk, tableRoot: string): Promise<void> {
  const directories = [versionsDirectory, tagsDirectory, branchesDirectory, sideDirectory];
  for (const directoryOf of directories) await fenceOff(disk, directoryOf(tableRoot));
}
