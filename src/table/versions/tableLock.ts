/** The lock that every writer of a table takes. */

import { sleep } from "../../async/sleep.js";
import type { Disk } from "../../io/disk/disk.js";
import { LeaseLostError, type LockLease } from "../../io/lock/lease.js";
import { type LockOptions, withLock } from "../../io/lock/lock.js";
import { fenceOff, OverruledError } from "../../io/publish.js";
import { branchesDirectory, sideDirectory, tagsDirectory, versionsDirectory } from "./paths.js";
import type { TableAt, TableEnvironment } from "./tableAt.js";

/** How long a lock is waited for, where that differs from what is usual, and whether it is kept. */
export type LockWait = Pick<LockOptions, "signal" | "waitMs" | "keep">;

/** The options for a lock of a table, with those of the wait that are given. */
export const lockOptions = (
  { lock }: Pick<TableEnvironment, "lock">,
  { signal, waitMs, keep }: LockWait,
): LockOptions => ({
  ...lock,
  signal: signal ?? lock.signal,
  waitMs: waitMs ?? lock.waitMs,
  keep,
});

/** Most times that work is started where its lock keeps being lost. */
const MAX_TAKES = 20;
const FIRST_BACKOFF_MS = 1;
const MAX_BACKOFF_MS = 50;

/**
 * Runs work under a table's lock, once no unfinished batch changes the table: a batch that its process left
 * half done may have versions yet to publish, whose numbers no other writer may take.
 * @param work run again where it fails because the lock was lost: nothing has changed then
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
 * @param work run again where it fails because the lock was lost: nothing has changed then
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

/**
 * Pauses before the next attempt. Pauses grow up to a limit, and are random, so that two waiting writers
 * differ.
 */
export const backOff = (attempt: number): Promise<void> =>
  sleep(Math.min(FIRST_BACKOFF_MS * 2 ** attempt, MAX_BACKOFF_MS) * (0.5 + Math.random() / 2));

/**
 * Makes the next step of the former holder fail, should it wake up after its lock of a table was taken over.
 */
export const fenceOffTable =
  (disk: Disk) =>
  async (tableRoot: string): Promise<void> => {
    const directories = [versionsDirectory, tagsDirectory, branchesDirectory, sideDirectory];
    for (const directoryOf of directories) await fenceOff(disk, directoryOf(tableRoot));
  };
