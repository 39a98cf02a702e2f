/**
 * The journal that makes a change of several tables one: it is there from the moment the change is decided
 * until all of its parts are done. Below the namespace's directory:
 *
 *   .tiltyard-batches/<uuid>/<n>.manifest    manifests to publish; written and synced first
 *   .tiltyard-batches/<uuid>/journal.json    the steps; published exclusively, which decides. See journalFormat.ts
 *
 * A directory without a journal was never decided, or has ended. The process that finds one with a journal
 * brings the batch to an end, under the lock of the batch's directory: two processes at once would take each
 * other's parts for a third writer's.
 *
 * A process that ends a batch of another one moves the journal, in one step, to where the other process looks
 * for the outcome when it goes on:
 *
 *   .tiltyard-ended-batches/<uuid>.done      all parts are done
 *   .tiltyard-ended-batches/<uuid>.undone    no part is
 *   .tiltyard-ended-batches/<uuid>.damaged/  a journal of which nothing is known, set aside with its manifests
 *
 * An outcome is removed after a week: nobody waits for it any more. A journal that was set aside stays.
 */

import { ageOfChangeMs } from "../../async/timers.js";
import { CorruptFileError, InvalidInputError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { createExclusive, type PublishOptions } from "../../io/publish.js";
import { basename, join } from "../../platform/native.js";
import { batchesDirectory } from "./batchDirectories.js";
import { type BatchStep, type DecodedJournal, decodeJournal, encodeJournal } from "./journalFormat.js";

/** A batch, decided or about to be. */
export interface Batch {
  /** Its directory. */
  readonly directory: string;
  readonly steps: readonly BatchStep[];
}

/** How a batch ended: with all parts done, or with none. */
export type BatchOutcome = "done" | "undone";

const ENDED_DIRECTORY = ".tiltyard-ended-batches";
const JOURNAL_NAME = "journal.json";
const MAX_JOURNAL_BYTES = 64 * 1024 * 1024;
const UNDECIDED_SUFFIX = ".undecided";
const OUTCOMES: readonly BatchOutcome[] = ["done", "undone"];
/** Age from which nobody waits for an outcome, however long its machine slept. */
const FORGOTTEN_MS = 7 * 24 * 60 * 60 * 1000;

const endedDirectory = (root: string): string => join(root, ENDED_DIRECTORY);
/** Where the process that decided a batch puts the journal when it ends it. */
const ownEndPath = (directory: string, outcome: BatchOutcome): string =>
  join(directory, `journal.${outcome}`);
const outcomePath = (root: string, directory: string, outcome: BatchOutcome): string =>
  join(endedDirectory(root), `${basename(directory)}.${outcome}`);

// ------------------------------------------------------------------------------------------------ deciding

/**
 * Prepares a batch in a directory of its own; nothing is decided yet. After a failure nothing stays.
 * @param manifests what the steps call `<index>.manifest`
 */
export async function prepareBatch(
  disk: Disk,
  root: string,
  steps: readonly BatchStep[],
  manifests: readonly Uint8Array[],
): Promise<Batch> {
  const directory = join(batchesDirectory(root), crypto.randomUUID());
  try {
    await disk.makeDirectory(directory);
    for (const [index, bytes] of manifests.entries()) {
      const handle = await disk.create(join(directory, `${index}.manifest`));
      try {
        await handle.write([bytes]);
        await handle.sync();
      } finally {
        await handle.close();
      }
    }
  } catch (error) {
    await dropBatch(disk, root, directory);
    throw error;
  }
  return { directory, steps };
}

/**
 * Decides a batch: from here on it happens. The caller holds the lock of its directory.
 * @throws InvalidInputError for one whose journal nobody could read
 * @throws PublishUncertainError where it may or may not be decided; for any other error it is not
 */
export async function decideBatch(
  disk: Disk,
  { directory, steps }: Batch,
  options: PublishOptions = {},
): Promise<void> {
  const journal = encodeJournal(steps);
  if (journal.length > MAX_JOURNAL_BYTES) {
    throw new InvalidInputError(`a batch is limited to ${MAX_JOURNAL_BYTES} bytes of JSON`);
  }
  const decoded = decodeJournal(journal);
  if (decoded.kind === "damaged") {
    throw new InvalidInputError("the batch holds what its journal can't", { cause: decoded.cause });
  }
  await createExclusive(disk, directory, JOURNAL_NAME, [journal], options);
}

// ------------------------------------------------------------------------------------------------- finding

/** True if a batch is decided and has not ended. */
export const isDecided = async (disk: Disk, directory: string): Promise<boolean> =>
  (await disk.stat(journalPath(directory))) !== null;

export const journalPath = (directory: string): string => join(directory, JOURNAL_NAME);

/** The journal in a batch's directory; null where there is none (yet, or any more). */
export async function readJournal(disk: Disk, directory: string): Promise<DecodedJournal | null> {
  let bytes: Uint8Array | null;
  try {
    bytes = await disk.readFile(journalPath(directory), MAX_JOURNAL_BYTES);
  } catch (cause) {
    // Too long, or no file.
    if (!(cause instanceof CorruptFileError) && codeOf(cause) !== "EISDIR") throw cause;
    return { kind: "damaged", names: { ids: [], locations: [] }, cause };
  }
  return bytes === null ? null : decodeJournal(bytes);
}

// -------------------------------------------------------------------------------------------------- ending

/**
 * Ends a batch that the caller decided, and whose parts are all done, or all undone. Files that can't be
 * removed after the journal are garbage. The caller holds the lock of its directory.
 * @param confirm rejects where that lock was lost: a process that was suspended right before it moved the
 *   journal has taken it from another one, for which it is put back
 * @returns false where another process has ended it
 */
export async function endOwnBatch(
  disk: Disk,
  root: string,
  directory: string,
  outcome: BatchOutcome,
  confirm: () => Promise<void>,
): Promise<boolean> {
  const ended = ownEndPath(directory, outcome);
  try {
    await disk.rename(journalPath(directory), ended);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
  try {
    await confirm();
  } catch (error) {
    // If the other process has ended the batch by now, there is nothing to put back.
    await disk.rename(ended, journalPath(directory)).catch((cause: unknown) => {
      if (codeOf(cause) !== "ENOENT") throw cause;
    });
    throw error;
  }
  await disk.syncDirectory(directory);
  await dropBatch(disk, root, directory);
  return true;
}

/**
 * Ends a batch that another process decided, and leaves the outcome for it. The caller holds the lock of its
 * directory.
 */
export async function endBatch(
  disk: Disk,
  root: string,
  directory: string,
  outcome: BatchOutcome,
): Promise<void> {
  const path = outcomePath(root, directory, outcome);
  try {
    await disk.makeDirectory(endedDirectory(root));
    await disk.rename(journalPath(directory), path);
    await disk.syncDirectory(endedDirectory(root));
  } catch (error) {
    const code = codeOf(error);
    // The process that decided the batch woke up, has taken the journal for a moment, and puts it back: the
    // outcome stands.
    if (code === "ENOENT") await disk.create(path).then((handle) => handle.close());
    // This user may not write there. Better one process that does not learn the outcome than tables that
    // nobody can use.
    else if (code === "EACCES" || code === "EPERM") await disk.remove(journalPath(directory));
    else throw error;
  }
  await disk.syncDirectory(directory);
  await dropBatch(disk, root, directory);
  await forgetOutcomes(disk, root);
}

/**
 * Removes the files of a batch that was not decided, or has ended; those that can't be removed are garbage.
 */
export async function dropBatch(disk: Disk, root: string, directory: string): Promise<void> {
  await disk.removeTree(directory).catch(() => undefined);
  await disk.removeEmptyDirectory(batchesDirectory(root)).catch(() => false);
}

/**
 * Removes a batch that belongs to nobody: one that was never decided, or the rest of one that has ended. The
 * caller holds the lock of its directory. A process that was suspended since it held that lock may decide at
 * this very moment, so the directory gets another name first.
 */
export async function dropUndecided(disk: Disk, root: string, directory: string): Promise<void> {
  const aside = join(endedDirectory(root), basename(directory) + UNDECIDED_SUFFIX);
  await disk.makeDirectory(endedDirectory(root));
  await disk.rename(directory, aside);
  if (await isDecided(disk, aside)) {
    await disk.rename(aside, directory);
  } else {
    // The process that ended the batch may be suspended between that step and the last look at its lock.
    for (const outcome of OUTCOMES) {
      if ((await disk.stat(ownEndPath(aside, outcome))) === null) continue;
      await disk.rename(ownEndPath(aside, outcome), outcomePath(root, directory, outcome));
    }
    await disk.removeTree(aside);
  }
  await disk.removeEmptyDirectory(endedDirectory(root)).catch(() => false);
  await disk.removeEmptyDirectory(batchesDirectory(root)).catch(() => false);
}

/**
 * Moves a damaged journal, with its manifests, to where nobody looks for batches. The caller holds the lock.
 */
export async function setAsideJournal(disk: Disk, root: string, directory: string): Promise<void> {
  const aside = join(endedDirectory(root), `${basename(directory)}.damaged`);
  await disk.makeDirectory(aside);
  const names = ((await disk.list(directory)) ?? []).map(({ name }) => name);
  // The journal goes last: once it is gone, nobody looks for the others.
  for (const name of names.filter((name) => name.endsWith(".manifest"))) {
    await disk.rename(join(directory, name), join(aside, name));
  }
  await disk.rename(journalPath(directory), join(aside, JOURNAL_NAME));
  await disk.syncDirectory(aside);
  await disk.syncDirectory(directory);
  await dropBatch(disk, root, directory);
}

// ------------------------------------------------------------------------------------------------ outcomes

/** How another process ended a batch; null where none did. */
export async function readOutcome(disk: Disk, root: string, directory: string): Promise<BatchOutcome | null> {
  for (const outcome of OUTCOMES) {
    if ((await disk.stat(outcomePath(root, directory, outcome))) !== null) return outcome;
  }
  return null;
}

/**
 * Removes an outcome that was read by the process it was left for; one that stays is removed when it is old.
 */
export async function clearOutcome(disk: Disk, root: string, directory: string): Promise<void> {
  for (const outcome of OUTCOMES) {
    await disk.remove(outcomePath(root, directory, outcome)).catch(() => undefined);
  }
  await disk.removeEmptyDirectory(endedDirectory(root)).catch(() => false);
}

/**
 * Removes outcomes that nobody waits for any more, and undecided batches whose remover died. A failure is
 * ignored: the next call tries again.
 */
export async function forgetOutcomes(disk: Disk, root: string): Promise<void> {
  const directory = endedDirectory(root);
  if ((await disk.stat(directory).catch(() => null)) === null) return;
  const entries = (await disk.list(directory).catch(() => null)) ?? [];
  for (const { name, kind } of entries) {
    const isOutcome = kind === "file" && OUTCOMES.some((outcome) => name.endsWith(`.${outcome}`));
    if (!isOutcome && !name.endsWith(UNDECIDED_SUFFIX)) continue;
    const path = join(directory, name);
    const stat = await disk.stat(path).catch(() => null);
    // It was moved there when the batch ended, which is a change of the inode.
    if (stat === null || ageOfChangeMs(stat.changedNs) < FORGOTTEN_MS) continue;
    await (isOutcome ? disk.remove(path) : disk.removeTree(path)).catch(() => undefined);
  }
  await disk.removeEmptyDirectory(directory).catch(() => false);
}
