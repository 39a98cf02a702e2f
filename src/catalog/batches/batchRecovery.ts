/**
 * Brings batches that others left to an end: every operation first settles those that change what it is
 * about, and so does every writer that gets a table's lock. Nobody is stopped for good:
 *
 * - A refusal of a part that would come again (the table or the catalog is damaged, gone, another one, or of
 *   a kind that can't be written; this user may not write) ends the batch: its parts are undone. A table
 *   whose lock this user may not take is looked at: if its part is done, the others are done as well.
 * - A failure that may pass (a full disk, a failing one, too many open files, a lock that is held) leaves the
 *   journal, and is reported to callers that read or change a table of the batch. All others go on.
 * - A reader that may not write where the batch lies reads what is there. A listing waits for a while, and
 *   shows what is there whenever a batch can't be brought to an end: of a half-done batch, the parts that are
 *   done.
 * - A journal that is damaged, or of a later release, is not acted on. Tables that can be recognised in it
 *   are refused, as they may be half changed, until the later release has brought it to an end or somebody
 *   has removed it. A damaged one in which nothing can be recognised is set aside; what it did stays, and
 *   nobody was told that it is done. One that can't be read, because of its permissions or the disk, stops
 *   nobody, as no one can tell whom it should stop.
 */

import { ageOfChangeMs } from "../../async/timers.js";
import { CorruptFileError, NamespaceError, ServiceUnavailableError, UnsupportedError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { tellFailure } from "../../io/disk/diskErrors.js";
import { codeOf, isUnwritable } from "../../io/disk/errno.js";
import { DEFAULT_STALE_MS, type LockOptions, withLock } from "../../io/lock/lock.js";
import type { CatalogEnvironment } from "../rows/catalogTable.js";
import { finishBatch, workOn } from "./batchExecution.js";
import {
  type Batch,
  dropBatch,
  dropUndecided,
  endBatch,
  isDecided,
  journalPath,
  readJournal,
  readOutcome,
  setAsideJournal,
} from "./batchJournal.js";
import { LocksLostError, withTableLocks } from "./batchLocks.js";
import { type BatchWork, lockedRootsOf, removeResurrected } from "./batchParts.js";
import { isLasting } from "./batchRefusals.js";
import { type BatchScope, isConcerned } from "./batchScope.js";
import { type DecodedJournal, namesOf } from "./journalFormat.js";

export interface RecoveryOptions {
  readonly signal?: AbortSignal;
  /**
   * Failures that do not end the call: that this user may not write where a batch lies, or any. Default:
   * none.
   */
  readonly tolerate?: "unwritable" | "everything";
}

/** A directory without a journal that is this old is not being written any more. */
const ABANDONED_MS = 60 * 60 * 1000;
/** Times that another process may take the locks over. */
const MAX_ATTEMPTS = 3;

/**
 * True if there are batches to be brought to an end first.
 * @param listed the directories of batches
 * @throws CorruptFileError, UnsupportedError where there is one that can't be
 */
export async function hasUnfinished(
  environment: CatalogEnvironment,
  scope: BatchScope,
  listed: Promise<readonly string[]>,
): Promise<boolean> {
  const { disk } = environment;
  for (const directory of await listed) {
    const journal = await readIfReadable(disk, directory);
    if (journal !== null && (await concerns(environment, directory, journal, scope))) return true;
  }
  return false;
}

/**
 * Brings to an end the batches that were decided and change anything in the scope: waits for those under way,
 * does the rest of those whose process died.
 * @param listed the directories of batches; where listing them failed, the error is tolerated as others are
 * @throws ServiceUnavailableError for one that can't be brought to an end now
 * @throws CorruptFileError, UnsupportedError for a journal that is not understood
 */
export async function recoverBatches(
  environment: CatalogEnvironment,
  scope: BatchScope,
  listed: Promise<readonly string[]>,
  { signal, tolerate }: RecoveryOptions = {},
): Promise<void> {
  const { lock } = environment;
  // After this wait, a lock whose holder died is free.
  const patience = tolerate === "everything" ? { waitMs: 1.5 * (lock.staleMs ?? DEFAULT_STALE_MS) } : {};
  const excuse = (error: unknown): void => {
    signal?.throwIfAborted();
    if (tolerate === "everything") return;
    if (tolerate === "unwritable" && isUnwritable(error)) return;
    if (error instanceof NamespaceError || isLasting(error)) throw error;
    throw new ServiceUnavailableError(
      `a batch of changes to several tables, this one among them, can't be finished now: ${tellFailure(error)}`,
      { cause: error },
    );
  };
  let directories: readonly string[] = [];
  try {
    directories = await listed;
  } catch (error) {
    excuse(error);
  }
  for (const directory of directories) {
    await recoverDirectory(environment, directory, scope, { ...lock, ...patience, signal }).catch(excuse);
  }
}

async function recoverDirectory(
  environment: CatalogEnvironment,
  directory: string,
  scope: BatchScope,
  lock: LockOptions,
): Promise<void> {
  const { disk } = environment;
  const journal = await readIfReadable(disk, directory);
  if (journal === null) return dropAbandoned(environment, directory);
  if (isUnrecognisable(journal)) return setAsideQuietly(environment, directory);
  if (!(await concerns(environment, directory, journal, scope))) return;
  if (journal.kind === "steps") await recoverBatch(environment, { directory, steps: journal.steps }, lock);
}

// ------------------------------------------------------------------------------------------------- journals

/**
 * Null also for a journal that can't be read, even at a second attempt: it is as for an engine without
 * journals.
 */
async function readIfReadable(disk: Disk, directory: string): Promise<DecodedJournal | null> {
  try {
    return await readJournal(disk, directory);
  } catch {
    return readJournal(disk, directory).catch(() => null);
  }
}

const isUnrecognisable = (journal: DecodedJournal): boolean =>
  journal.kind === "damaged" && journal.names.ids.length === 0 && journal.names.locations.length === 0;

/** @throws CorruptFileError, UnsupportedError for a journal that concerns the scope and is not understood */
async function concerns(
  environment: CatalogEnvironment,
  directory: string,
  journal: DecodedJournal,
  scope: BatchScope,
): Promise<boolean> {
  if (isUnrecognisable(journal)) return false;
  const names = journal.kind === "steps" ? namesOf(journal.steps) : journal.names;
  if (!(await isConcerned(environment, names, scope))) return false;
  const path = journalPath(directory);
  switch (journal.kind) {
    case "steps":
      return true;
    case "later":
      throw new UnsupportedError(`${path}: a later release began a batch of changes (${journal.reason})`);
    case "damaged":
      throw new CorruptFileError(
        path,
        0,
        "it is no journal of a batch; its tables may be half changed. Remove its directory to use them as they are",
        { cause: journal.cause },
      );
  }
}

/**
 * Removes an abandoned batch. One that can't be removed, or set aside, now keeps nobody waiting: the next
 * operation tries again.
 */
async function dropAbandoned(environment: CatalogEnvironment, directory: string): Promise<void> {
  const { disk, root, lock } = environment;
  try {
    const stat = await disk.stat(directory);
    if (stat === null || (await isDecided(disk, directory))) return;
    const isYoung = ageOfChangeMs(stat.modifiedNs) < ABANDONED_MS;
    // A batch that has ended, and could not be removed, belongs to nobody at any age.
    if (isYoung && (await readOutcome(disk, root, directory)) === null) return;
    await withLock(directory, { ...lock, retries: 0 }, async () => {
      if (!(await isDecided(disk, directory))) await dropUndecided(disk, root, directory);
    });
  } catch {
    // See above.
  }
}

async function setAsideQuietly(environment: CatalogEnvironment, directory: string): Promise<void> {
  const { disk, root, lock } = environment;
  try {
    await withLock(directory, { ...lock, retries: 0 }, async () => {
      const journal = await readJournal(disk, directory);
      if (journal !== null && isUnrecognisable(journal)) await setAsideJournal(disk, root, directory);
    });
  } catch {
    // See above.
  }
}

// ------------------------------------------------------------------------------------------------- settling

/**
 * Does the rest of a batch, once nobody else works on it, and leaves the outcome to the process that decided
 * it.
 * @throws ServiceUnavailableError where others keep taking the locks over, and for locks that are not free
 */
export async function recoverBatch(
  environment: CatalogEnvironment,
  batch: Batch,
  lock: LockOptions,
): Promise<void> {
  const roots = batch.steps.flatMap((step) => lockedRootsOf(environment, step));
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    let work: BatchWork | null = null;
    try {
      await withTableLocks(roots, lock, async (tableLocks) => {
        let isLocked = false;
        try {
          await withLock(batch.directory, lock, async (lease) => {
            isLocked = true;
            work = workOn(environment, batch, { ...tableLocks, batch: lease }, false);
            await recoverUnderLocks(work);
          });
        } catch (error) {
          // It ended, and its directory is gone.
          if (isLocked || codeOf(error) !== "ENOENT") throw error;
        }
      });
      return;
    } catch (error) {
      if (!(error instanceof LocksLostError)) throw error;
    }
    if (work !== null) await retractIfUndone(work);
  }
  throw new ServiceUnavailableError("others keep taking over the locks of a batch; try again later");
}

async function recoverUnderLocks(work: BatchWork): Promise<void> {
  const { environment, batch } = work;
  const { disk, root } = environment;
  if (!(await isDecided(disk, batch.directory))) {
    // The batch ended meanwhile; this lock may have kept its directory from being removed.
    await dropBatch(disk, root, batch.directory);
    return;
  }
  // A power cut can bring the journal back after the batch has ended.
  const outcome = await readOutcome(disk, root, batch.directory);
  if (outcome !== null) await endBatch(disk, root, batch.directory, outcome);
  else await finishBatch(work);
}

/** Takes back what was done without the locks, where another process has undone all the rest. */
async function retractIfUndone(work: BatchWork): Promise<void> {
  const { disk, root } = work.environment;
  if ((await readOutcome(disk, root, work.batch.directory)) === "undone") await removeResurrected(work);
}
