/** The dependencies of the table layer, and the lock that every writer of a table takes. */

import { sleep } from "../../async/sleep.js";
import type { Disk } from "../../io/disk/disk.js";
import { LeaseLostError, type LockLease } from "../../io/lock/lease.js";
import { type LockOptions, withLock } from "../../io/lock/lock.js";
import { fenceOff, OverruledError } from "../../io/publish.js";
import type { LatestVersions } from "./latestVersion.js";
import type { ManifestCache } from "./manifestCache.js";
import { branchesDirectory, sideDirectory, tagsDirectory, versionsDirectory } from "./paths.js";
import type { CommittedVersion } from "./versions.js";

/** The dependencies of the table layer. */
export interface TableEnvironment {
  readonly disk: Disk;
  readonly lock: LockOptions;
  readonly manifests: ManifestCache;
  /** Remembers the latest versions; absent where each is searched for. */
  readonly latestVersions?: LatestVersions;
  /** Called after each commit to an existing table, without the table's lock; never rejects. */
  readonly afterCommit?: (tableRoot: string, committed: CommittedVersion) => Promise<void>;
  /** Whether the host lets tables refer to a directory outside the namespace's; absent where it allows none. */
  readonly mayUseBase?: (path: string) => Promise<boolean>;
  /**
   * Changes of several tables at once that a process may have left half done when it died; absent where there are
   * none.
   */
  readonly batches?: UnfinishedBatches;
}

/** Keeps versions from being committed between the parts of a batch. */
export interface UnfinishedBatches {
  /** Whether an unfinished batch changes this table or branch; called under its lock. */
  present(tableRoot: string): Promise<boolean>;
  /** Finishes those batches; called without a lock, because it takes the locks of all their tables. */
  settle(tableRoot: string, signal?: AbortSignal): Promise<void>;
}

/** Most times that work is started where its lock keeps being lost. */
const MAX_TAKES = 20;
const FIRST_BACKOFF_MS = 1;
const MAX_BACKOFF_MS = 50;

/**
 * Runs work under a table's lock, once no unfinished batch changes the table: a batch that its process left half done
 * may have versions yet to publish, whose numbers no other writer may take.
 * @param work run again where it fails because the lock was lost: nothing has changed then
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

/** Pauses before the next attempt. Pauses grow up to a limit, and are random, so that two waiting writers differ. */
export const backOff = (attempt: number): Promise<void> =>
  sleep(Math.min(FIRST_BACKOFF_MS * 2 ** attempt, MAX_BACKOFF_MS) * (0.5 + Math.random() / 2));

/** Makes the next step of the former holder fail, should it wake up after its lock of a table was taken over. */
export const fenceOffTable =
  (disk: Disk) =>
  async (tableRoot: string): Promise<void> => {
    const directories = [versionsDirectory, tagsDirectory, branchesDirectory, sideDirectory];
    for (const directoryOf of directories) await fenceOff(disk, directoryOf(tableRoot));
  };
