/**
 * Finishes the batches that other processes left. Every operation first recovers those that change its
 * tables, and so does every writer that gets a table's lock. Nobody waits forever:
 *
 * - A lasting refusal ends the batch, and its parts are undone. Examples are a damaged or missing table, or
 *   one that this user may not write. If this user may not take a table's lock but the table's part is done,
 *   the others are done as well.
 * - A passing failure leaves the journal (a full or failing disk, too many open files, a held lock). Callers
 *   that read or change a table of the batch get the error. All others continue.
 * - A reader that may not write to the batch's directory reads the current state. A listing waits for a
 *   while. If a batch cannot be finished, the listing shows the parts that are done.
 * - Nobody acts on a journal that is damaged or of a later release. Its recognised tables are refused,
 *   because they may be half changed, until the later release finishes it or somebody removes it. A damaged
 *   journal without a recognised table is set aside. Its effects stay, and nobody was told that it is done. A
 *   journal that is unreadable because of permissions or the disk blocks nobody, because its tables are
 *   unknown.
 */

import { ageOfChangeMs } from "../../async/timers.js";
import { CorruptFileError, NamespaceError, ServiceUnavailableError, UnsupportedError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { tellFailure } from "../../io/disk/diskErrors.js";
import { codeOf, isUnwritable } from "../../io/disk/errno.js";
import { DEFAULT_STALE_MS, type LockOptions, withLock } from "../../io/lock/lock.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
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
   * Failures that do not end the call: a lack of permission to write to the batch, or all failures. Default:
   * none.
   */
  readonly tolerate?: "unwritable" | "everything";
}

/** Age from which a directory without a journal is not being written any more. */
const ABANDONED_MS = 60 * 60 * 1000;
/** Maximum number of times that another process may take the locks over. */
const MAX_ATTEMPTS = 3;

/**
 * Returns true if a batch must be finished first.
 * @param listed directories of batches
 * @throws CorruptFileError or UnsupportedError for a batch in scope that cannot be finished
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
 * Finishes the decided batches that change anything in the scope. Waits for those of living processes, and
 * does the rest of the others.
 * @param listed directories of batches; an error of the listing is tolerated like others
 * @throws ServiceUnavailableError for a batch that cannot be finished now
 * @throws CorruptFileError or UnsupportedError for a journal of unknown content
 */
export async function recoverBatches(
  environment: CatalogEnvironment,
  scope: BatchScope,
  listed: Promise<readonly string[]>,
  { signal, tolerate }: RecoveryOptions = {},
): Promise<void> {
  const { lock } = environment;
  // After this wait, the lock of a dead holder is free.
  const patience = tolerate === "everything" ? { waitMs: 1.5 * (lock.staleMs ?? DEFAULT_STALE_MS) } : {};
  const excuse = (error: unknown): void => {
    signal?.throwIfAborted();
    if (tolerate === "everything") return;
    if (tolerate === "unwritable" && isUnwritable(error)) return;
    if (error instanceof NamespaceError || isLasting(error)) throw error;
    throw new ServiceUnavailableError(
      `a batch that changes this and other tables can't be finished now: ${tellFailure(error)}`,
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

/** Reads a journal, at most twice; null if unreadable. This engine then acts like one without journals. */
async function readIfReadable(disk: Disk, directory: string): Promise<DecodedJournal | null> {
  try {
    return await readJournal(disk, directory);
  } catch {
    return readJournal(disk, directory).catch(() => null);
  }
}

const isUnrecognisable = (journal: DecodedJournal): boolean =>
  journal.kind === "damaged" && journal.names.ids.length === 0 && journal.names.locations.length === 0;

/** @throws CorruptFileError or UnsupportedError for a journal of unknown content that concerns the scope */
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
        "it is not a valid journal of a batch, so its tables may be half changed. To use them as they are, remove its directory",
        { cause: journal.cause },
      );
  }
}

/** Removes an abandoned batch. If that fails now, nobody waits: the next operation tries again. */
async function dropAbandoned(environment: CatalogEnvironment, directory: string): Promise<void> {
  const { disk, root, lock } = environment;
  try {
    const stat = await disk.stat(directory);
    if (stat === null || (await isDecided(disk, directory))) return;
    const isYoung = ageOfChangeMs(stat.modifiedNs) < ABANDONED_MS;
    // An ended batch whose removal failed belongs to nobody, at any age.
    if (isYoung && (await readOutcome(disk, root, directory)) === null) return;
    await withLock(directory, { ...lock, retries: 0 }, async () => {
      if (!(await isDecided(disk, directory))) await dropUndecided(disk, root, directory);
    });
  } catch {
    // The next operation tries again.
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
    // The next operation tries again.
  }
}

// ------------------------------------------------------------------------------------------------- settling

/**
 * Does the rest of a batch after other processes have stopped working on it, and leaves the outcome to the
 * process that decided it.
 * @throws ServiceUnavailableError if others keep taking the locks over, or a lock is not free
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
          // The batch ended, and its directory is gone.
          if (isLocked || codeOf(error) !== "ENOENT") throw error;
        }
      });
      return;
    } catch (error) {
      if (!(error instanceof LocksLostError)) throw error;
    }
    if (work !== null) await retractIfUndone(work);
  }
  throw new ServiceUnavailableError("other processes keep taking over the locks of a batch; try again later");
}

async function recoverUnderLocks(work: BatchWork): Promise<void> {
  const { environment, batch } = work;
  const { disk, root } = environment;
  if (!(await isDecided(disk, batch.directory))) {
    // The batch ended meanwhile, and this lock may have prevented the removal of its directory.
    await dropBatch(disk, root, batch.directory);
    return;
  }
  // A power cut can bring the journal of an ended batch back.
  const outcome = await readOutcome(disk, root, batch.directory);
  if (outcome !== null) await endBatch(disk, root, batch.directory, outcome);
  else await finishBatch(work);
}

/** Undoes the steps that were done without the locks, if another process has undone all the rest. */
async function retractIfUndone(work: BatchWork): Promise<void> {
  const { disk, root } = work.environment;
  if ((await readOutcome(disk, root, work.batch.directory)) === "undone") await removeResurrected(work);
}
