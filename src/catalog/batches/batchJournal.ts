/**
 * Stores the journal that makes a change of several tables atomic. It exists from the decision until all
 * parts are done. Below the namespace's directory:
 *
 *     .tiltyard-batches/<uuid>/<n>.manifest    manifests to publish; written and synced first
 *     .tiltyard-batches/<uuid>/journal.json    the steps (journalFormat.ts); its exclusive creation decides
 *
 * A directory without a journal was never decided, or has ended. A process that finds a journal finishes the
 * batch, under the lock of the batch's directory. Without it, two processes would mistake each other's parts
 * for a third writer's.
 *
 * A process that ends another one's batch moves the journal, in one step, to a path where the other process
 * looks for the outcome when it continues:
 *
 *     .tiltyard-ended-batches/<uuid>.done      all parts are done
 *     .tiltyard-ended-batches/<uuid>.undone    no part is done
 *     .tiltyard-ended-batches/<uuid>.damaged/  an unreadable journal, set aside with its manifests
 *
 * An outcome is removed after a week, when no process waits for it any more. A journal that was set aside
 * stays.
 */

import { ageOfChangeMs } from "../../async/timers.js";
import { CorruptFileError, InvalidInputError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { createExclusive, type PublishOptions } from "../../io/publish.js";
import { basename, join } from "../../platform/native.js";
import { batchesDirectory } from "./batchDirectories.js";
import { type BatchStep, type DecodedJournal, decodeJournal, encodeJournal } from "./journalFormat.js";

export interface Batch {
  readonly directory: string;
  readonly steps: readonly BatchStep[];
}

export type BatchOutcome = "done" | "undone";

const ENDED_DIRECTORY = ".tiltyard-ended-batches";
const JOURNAL_NAME = "journal.json";
const MAX_JOURNAL_BYTES = 64 * 1024 * 1024;
const UNDECIDED_SUFFIX = ".undecided";
const OUTCOMES: readonly BatchOutcome[] = ["done", "undone"];
/** Age from which no process waits for an outcome, however long its machine slept. */
const FORGOTTEN_MS = 7 * 24 * 60 * 60 * 1000;

const endedDirectory = (root: string): string => join(root, ENDED_DIRECTORY);
/** Returns the path of the journal after the deciding process has ended the batch. */
const ownEndPath = (directory: string, outcome: BatchOutcome): string =>
  join(directory, `journal.${outcome}`);
const outcomePath = (root: string, directory: string, outcome: BatchOutcome): string =>
  join(endedDirectory(root), `${basename(directory)}.${outcome}`);

// ------------------------------------------------------------------------------------------------ deciding

/**
 * Writes the manifests of a batch into a new directory; nothing is decided yet. A failure leaves nothing.
 * @param manifests contents of the files that steps name `<index>.manifest`
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
 * Decides a batch. The caller holds the lock of its directory.
 * @throws InvalidInputError if the journal could not be read again
 * @throws PublishUncertainError if the batch may be decided; after any other error it is not
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
    throw new InvalidInputError("the batch contains a value that its journal cannot store", {
      cause: decoded.cause,
    });
  }
  await createExclusive(disk, directory, JOURNAL_NAME, [journal], options);
}

// ------------------------------------------------------------------------------------------------- finding

/** Returns true if a batch is decided and has not ended. */
export const isDecided = async (disk: Disk, directory: string): Promise<boolean> =>
  (await disk.stat(journalPath(directory))) !== null;

export const journalPath = (directory: string): string => join(directory, JOURNAL_NAME);

/** Reads the journal in a batch's directory; null if there is none (yet, or any more). */
export async function readJournal(disk: Disk, directory: string): Promise<DecodedJournal | null> {
  let bytes: Uint8Array | null;
  try {
    bytes = await disk.readFile(journalPath(directory), MAX_JOURNAL_BYTES);
  } catch (cause) {
    // The file is too long, or not a file.
    if (!(cause instanceof CorruptFileError) && codeOf(cause) !== "EISDIR") throw cause;
    return { kind: "damaged", names: { ids: [], locations: [] }, cause };
  }
  return bytes === null ? null : decodeJournal(bytes);
}

// -------------------------------------------------------------------------------------------------- ending

/**
 * Ends a batch that the caller decided, and whose parts are all done, or all undone. The rest of its files is
 * garbage if removing it fails. The caller holds the lock of its directory.
 * @param confirm rejects if that lock was lost. This process was then suspended right before the move, has
 *   taken the journal from another one, and puts it back
 * @returns false if another process has ended the batch
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
    // If the other process has ended the batch meanwhile, this has no effect.
    await disk.rename(ended, journalPath(directory)).catch((cause: unknown) => {
      if (codeOf(cause) !== "ENOENT") throw cause;
    });
    throw error;
  }
  await disk.syncDirectory(directory);
  await dropBatch(disk, root, directory);
  return true;
}

/** Ends another process's batch, and leaves it the outcome. The caller holds the batch's lock. */
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
    // The deciding process woke up, took the journal for a moment, and will put it back. The outcome
    // stands.
    if (code === "ENOENT") await disk.create(path).then((handle) => handle.close());
    // This user may not write there. The tables matter more than telling the deciding process the outcome.
    else if (code === "EACCES" || code === "EPERM") await disk.remove(journalPath(directory));
    else throw error;
  }
  await disk.syncDirectory(directory);
  await dropBatch(disk, root, directory);
  await forgetOutcomes(disk, root);
}

/** Removes the files of a batch that was not decided, or has ended. Files that remain are garbage. */
export async function dropBatch(disk: Disk, root: string, directory: string): Promise<void> {
  await disk.removeTree(directory).catch(() => undefined);
  await disk.removeEmptyDirectory(batchesDirectory(root)).catch(() => false);
}

/**
 * Removes a batch that was never decided, or the rest of an ended one. The caller holds the lock of its
 * directory. Its process may have been suspended under that lock, and decide at this moment, so the directory
 * is renamed first.
 */
export async function dropUndecided(disk: Disk, root: string, directory: string): Promise<void> {
  const aside = join(endedDirectory(root), basename(directory) + UNDECIDED_SUFFIX);
  await disk.makeDirectory(endedDirectory(root));
  await disk.rename(directory, aside);
  if (await isDecided(disk, aside)) {
    await disk.rename(aside, directory);
  } else {
    // The process that ended the batch may be suspended before its last check of the lock.
    for (const outcome of OUTCOMES) {
      if ((await disk.stat(ownEndPath(aside, outcome))) === null) continue;
      await disk.rename(ownEndPath(aside, outcome), outcomePath(root, directory, outcome));
    }
    await disk.removeTree(aside);
  }
  await disk.removeEmptyDirectory(endedDirectory(root)).catch(() => false);
  await disk.removeEmptyDirectory(batchesDirectory(root)).catch(() => false);
}

/** Moves a damaged journal and its manifests out of the directory of batches. The caller holds the lock. */
export async function setAsideJournal(disk: Disk, root: string, directory: string): Promise<void> {
  const aside = join(endedDirectory(root), `${basename(directory)}.damaged`);
  await disk.makeDirectory(aside);
  const names = ((await disk.list(directory)) ?? []).map(({ name }) => name);
  // The journal moves last: without it, nobody looks for the other files.
  for (const name of names.filter((name) => name.endsWith(".manifest"))) {
    await disk.rename(join(directory, name), join(aside, name));
  }
  await disk.rename(journalPath(directory), join(aside, JOURNAL_NAME));
  await disk.syncDirectory(aside);
  await disk.syncDirectory(directory);
  await dropBatch(disk, root, directory);
}

// ------------------------------------------------------------------------------------------------ outcomes

/** Returns the outcome that another process left; null if there is none. */
export async function readOutcome(disk: Disk, root: string, directory: string): Promise<BatchOutcome | null> {
  for (const outcome of OUTCOMES) {
    if ((await disk.stat(outcomePath(root, directory, outcome))) !== null) return outcome;
  }
  return null;
}

/** Removes an outcome after its process has read it; one that remains is removed later by its age. */
export async function clearOutcome(disk: Disk, root: string, directory: string): Promise<void> {
  for (const outcome of OUTCOMES) {
    await disk.remove(outcomePath(root, directory, outcome)).catch(() => undefined);
  }
  await disk.removeEmptyDirectory(endedDirectory(root)).catch(() => false);
}

/** Removes old outcomes, and undecided batches of dead removers. The next call retries failures. */
export async function forgetOutcomes(disk: Disk, root: string): Promise<void> {
  const directory = endedDirectory(root);
  if ((await disk.stat(directory).catch(() => null)) === null) return;
  const entries = (await disk.list(directory).catch(() => null)) ?? [];
  for (const { name, kind } of entries) {
    const isOutcome = kind === "file" && OUTCOMES.some((outcome) => name.endsWith(`.${outcome}`));
    if (!isOutcome && !name.endsWith(UNDECIDED_SUFFIX)) continue;
    const path = join(directory, name);
    const stat = await disk.stat(path).catch(() => null);
    // Moving the file at the end of the batch set its change time.
    if (stat === null || ageOfChangeMs(stat.changedNs) < FORGOTTEN_MS) continue;
    await (isOutcome ? disk.remove(path) : disk.removeTree(path)).catch(() => undefined);
  }
  await disk.removeEmptyDirectory(directory).catch(() => false);
}
