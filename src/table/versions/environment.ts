/** What the table layer works with, and the lock that every writer of a table takes. */

import type { Disk } from "../../io/disk/disk.js";
import { LeaseLostError, type LockLease } from "../../io/lock/lease.js";
import { type LockOptions, withLock } from "../../io/lock/lock.js";
import { fenceOff, OverruledError } from "../../io/publish.js";
import type { ManifestCache } from "./manifestCache.js";
import { branchesDirectory, sideDirectory, tagsDirectory, versionsDirectory } from "./paths.js";
import type { CommittedVersion } from "./versions.js";

/** What the table layer works with. */
export interface TableEnvironment {
  readonly disk: Disk;
  readonly lock: LockOptions;
  readonly manifests: ManifestCache;
  /** Called after each commit to a table that was there, without the table's lock; never rejects. */
  readonly afterCommit?: (tableRoot: string, committed: CommittedVersion) => Promise<void>;
  /** Whether the host lets tables refer to a directory outside the namespace's; absent where it lets them to none. */
  readonly mayUseBase?: (path: string) => Promise<boolean>;
  /** Changes of several tables at once that a process may have died in the middle of; absent where there are none. */
  readonly batches?: UnfinishedBatches;
}

/** What keeps a version from being committed in between the parts of a batch. */
export interface UnfinishedBatches {
  /** Whether there is any that changes this table or branch; called under its lock. */
  present(tableRoot: string): Promise<boolean>;
  /** Brings those to an end; called without a lock, as it takes those of all their tables. */
  settle(tableRoot: string, signal?: AbortSignal): Promise<void>;
}

/** Times that work is begun anew after its lock was lost. */
const MAX_TAKES = 20;
const FIRST_BACKOFF_MS = 1;
const MAX_BACKOFF_MS = 50;

/**
 * Holds a table's lock while no batch that changes the table is unfinished: one that its process left half done may have
 * versions yet to publish, whose numbers nobody else may take.
 * @param work begun anew where it fails because the lock was lost: nothing has changed then
 */
export async function withTableLock<T>(
  environment: TableEnvironment,
  tableRoot: string,
  lock: LockOptions,
  work: (lease: LockLease) => Promise<T>,
): Promise<T> {
  const { batches } = environment;
  for (;;) {
    const outcome = await withSteadyLock(tableRoot, lock, async (lease) =>
      (await batches?.present(tableRoot)) ? null : { value: await work(lease) },
    );
    if (outcome !== null) return outcome.value;
    await batches?.settle(tableRoot, lock.signal);
  }
}

/**
 * Holds the lock of a directory.
 * @param work begun anew where it fails because the lock was lost: nothing has changed then
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

/** A pause before the next attempt, longer from one to the next and never the same for two who wait. */
export const backOff = (attempt: number): Promise<void> =>
  new Promise((resolve) => {
    const limit = Math.min(FIRST_BACKOFF_MS * 2 ** attempt, MAX_BACKOFF_MS);
    setTimeout(resolve, limit * (0.5 + Math.random() / 2));
  });

/** Keeps the holder that a table's lock is taken over from, should it wake up, from what it was about to do. */
export const fenceOffTable =
  (disk: Disk) =>
  async (tableRoot: string): Promise<void> => {
    const directories = [versionsDirectory, tagsDirectory, branchesDirectory, sideDirectory];
    for (const directoryOf of directories) await fenceOff(disk, directoryOf(tableRoot));
  };
