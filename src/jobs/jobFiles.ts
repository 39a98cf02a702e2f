/**
 * Records of jobs on the disk, which every process with the namespace open can read. Below the namespace's
 * directory:
 *
 *   .tiltyard-jobs/.tiltyard.lock/   held while a job is started, taken over or removed
 *   .tiltyard-jobs/<job id>/
 *     .tiltyard.lock/                held by the running process, since before the directory had its name
 *     job.json                       what the job is; the directory gets its name when this is complete
 *     progress.json                  how far the job is; may be lost
 *     checkpoint.json                state to resume from; synced
 *     cancel                         a process asks to cancel the job
 *     outcome.json                   how the job ended; created exclusively, so there is one outcome
 *
 * The id is a UUID (version 8). Its first 12 digits come from a digest of what the job is, so a listing of
 * names shows which jobs may be equal. A job is interrupted if it has no outcome and no living process holds
 * its lock.
 *
 * A process that takes over a lock removes the temporary files of the former holder. If that holder was about
 * to write into a job's directory, or to name one, its step then fails.
 */

import { encodeSealedJson } from "../bytes/sealedJson.js";
import { CorruptFileError, InvalidInputError } from "../errors.js";
import { UUID_FORM } from "../ident.js";
import type { Disk, FileStat } from "../io/disk/disk.js";
import { codeOf, isMissing, isUnwritable } from "../io/disk/errno.js";
import type { LockLease } from "../io/disk/locks.js";
import { isTimeless } from "../io/disk/timeless.js";
import { type LockOptions, stateOfLock } from "../io/lock/lock.js";
import { sha256 } from "../io/names/sha256.js";
import { temporaryName } from "../io/names/temporaryNames.js";
import { createExclusive, fenceOff, replaceFile } from "../io/publish.js";
import { join } from "../platform/native.js";
import type { JsonValue } from "./job.js";
import {
  decodeCheckpoint,
  decodeOutcome,
  decodeProgress,
  decodeRecord,
  encodeRecord,
  type JobOutcome,
  type JobProgress,
  type JobRecord,
} from "./jobRecord.js";

const JOBS_DIRECTORY = ".tiltyard-jobs";
const RECORD_NAME = "job.json";
const PROGRESS_NAME = "progress.json";
const CHECKPOINT_NAME = "checkpoint.json";
const OUTCOME_NAME = "outcome.json";
const CANCEL_NAME = "cancel";
const MAX_RECORD_BYTES = 1024 * 1024;
const MAX_PROGRESS_BYTES = 64 * 1024;
const MAX_OUTCOME_BYTES = 1024 * 1024;
const MAX_CHECKPOINT_BYTES = 64 * 1024 * 1024;

/** Environment of reading and writing records. */
export interface JobsEnvironment {
  readonly disk: Disk;
  /** Absolute path of the namespace's directory. */
  readonly root: string;
  readonly lock: LockOptions;
  /** Called for each record that lists omit, with the job's id and directory, and the reason. */
  readonly noteUnlisted?: ((job: UnlistedJob) => void) | undefined;
}

export interface UnlistedJob {
  readonly jobId: string;
  readonly location: string;
  readonly reason: string;
}

/** State of a job's lock: held by a living process, left by a dead one, or free. */
export type JobOwner = "held" | "dead" | "free";

/** A job as recorded on the disk. */
export interface StoredJob {
  readonly jobId: string;
  readonly record: JobRecord;
  /** Null if the job has not reported any. */
  readonly progress: JobProgress | null;
  /** Null until the job ends. */
  readonly outcome: JobOutcome | null;
  readonly owner: JobOwner;
  readonly isCancelRequested: boolean;
}

export const jobsDirectory = (root: string): string => join(root, JOBS_DIRECTORY);
export const jobDirectory = (root: string, jobId: string): string => join(jobsDirectory(root), jobId);
/** Directory whose lock the process holds that runs upkeep. */
export const upkeepDirectory = (root: string): string => join(jobsDirectory(root), "upkeep");

/** Lock options for jobs. */
export const jobLock = ({ disk, lock }: JobsEnvironment): LockOptions => ({
  ...lock,
  fence: (directory) => fenceOff(disk, directory),
});

/** First digits of the ids of equal jobs. Few other jobs share them. */
export function idPrefix({ kind, location, branch, key }: JobRecord): string {
  const digits = sha256(JSON.stringify([kind, location, branch, key]));
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8`;
}

export const newJobId = (record: JobRecord): string =>
  idPrefix(record) + crypto.randomUUID().slice(idPrefix(record).length);

export const isJobId = (text: unknown): text is string => typeof text === "string" && UUID_FORM.test(text);

// ------------------------------------------------------------------------------------------------- reading

/** Lists the ids of all jobs, in no order. */
export async function listJobIds(disk: Disk, root: string): Promise<string[]> {
  const directory = jobsDirectory(root);
  // Most namespaces have no jobs, and a stat is cheaper than a failed listing.
  if ((await disk.stat(directory))?.kind !== "directory") return [];
  const entries = (await disk.list(directory)) ?? [];
  return entries.filter(({ name, kind }) => kind === "directory" && isJobId(name)).map(({ name }) => name);
}

/**
 * Reads the current state of a job; null if the job does not exist.
 * @throws CorruptFileError if the job's directory holds anything else
 */
export async function readJob(
  { disk, root, lock }: JobsEnvironment,
  jobId: string,
): Promise<StoredJob | null> {
  const directory = jobDirectory(root, jobId);
  const path = join(directory, RECORD_NAME);
  const bytes = await readFile(disk, path, MAX_RECORD_BYTES);
  if (bytes === null) return null;
  const record = decodeRecord(bytes);
  if (record === null || !jobId.startsWith(idPrefix(record))) {
    throw new CorruptFileError(path, 0, "it is not a record of a job that this release knows");
  }
  const look = async () => {
    // Read the owner first: a run writes its outcome before it releases the lock.
    const owner = await stateOfLock(directory, lock);
    return { owner, outcome: await readJobOutcome(disk, directory) };
  };
  const [progress, cancel, { owner, outcome }] = await Promise.all([
    readProgress(disk, directory),
    disk.stat(join(directory, CANCEL_NAME)),
    look(),
  ]);
  return { jobId, record, progress, outcome, owner, isCancelRequested: cancel !== null };
}

/**
 * Reads a job for a list: returns null also if the record is malformed or unreadable.
 * @param onUnsound called with the reason if an existing record is omitted
 */
export async function readJobIfSound(
  environment: JobsEnvironment,
  jobId: string,
  onUnsound?: (reason: string) => void,
): Promise<StoredJob | null> {
  try {
    return await readJob(environment, jobId);
  } catch (error) {
    if (!(error instanceof CorruptFileError || isUnreadable(error))) throw error;
    if (!isMissing(error)) onUnsound?.((error as Error).message);
    return null;
  }
}

/** True if the error concerns one record rather than the whole disk. */
const isUnreadable = (error: unknown): boolean =>
  isMissing(error) || isUnwritable(error) || codeOf(error) === "EISDIR" || codeOf(error) === "EIO";

async function readFile(disk: Disk, path: string, maxBytes: number): Promise<Uint8Array | null> {
  try {
    return await disk.readFile(path, maxBytes);
  } catch (cause) {
    if (codeOf(cause) !== "EISDIR" && codeOf(cause) !== "ENOTDIR") throw cause;
    throw new CorruptFileError(path, 0, "it is not a file", { cause });
  }
}

/** Reads a file that a job can do without: null if it is too long or not a file. */
async function readIfSound(disk: Disk, path: string, maxBytes: number): Promise<Uint8Array | null> {
  try {
    return await readFile(disk, path, maxBytes);
  } catch (error) {
    if (error instanceof CorruptFileError) return null;
    throw error;
  }
}

/** Makes a reader of one of a job's files. */
const reader =
  <Content>(name: string, maxBytes: number, decode: (bytes: Uint8Array) => Content | null) =>
  async (disk: Disk, directory: string): Promise<Content | null> => {
    const bytes = await readIfSound(disk, join(directory, name), maxBytes);
    return bytes && decode(bytes);
  };

const readProgress = reader(PROGRESS_NAME, MAX_PROGRESS_BYTES, decodeProgress);
export const readJobOutcome = reader(OUTCOME_NAME, MAX_OUTCOME_BYTES, decodeOutcome);
export const readCheckpoint = reader(CHECKPOINT_NAME, MAX_CHECKPOINT_BYTES, decodeCheckpoint);

export const isCancelRequested = async (disk: Disk, directory: string): Promise<boolean> =>
  (await disk.stat(join(directory, CANCEL_NAME))) !== null;

/** Returns the stat of the youngest file that tells the age of a job; null if there is none. */
export async function statOfJob(disk: Disk, root: string, jobId: string): Promise<FileStat | null> {
  const directory = jobDirectory(root, jobId);
  const stat = await disk.stat(directory);
  if (stat === null || !isTimeless(stat)) return stat;
  return (await disk.stat(join(directory, PROGRESS_NAME))) ?? disk.stat(join(directory, RECORD_NAME));
}

// ------------------------------------------------------------------------------------------------- writing

/**
 * Makes the unnamed directory of a new job. On a disk without renames, the directory has its name from the
 * beginning, and the record makes it a job.
 */
export async function makeUnnamed(disk: Disk, root: string, jobId: string): Promise<string> {
  const name = disk.hasRename === false ? jobId : temporaryName();
  const directory = join(jobsDirectory(root), name);
  await disk.makeDirectory(directory, root);
  return directory;
}

/**
 * Writes the record of a job and names its directory. The caller holds the lock of all jobs and the lock of
 * the directory.
 * @throws InvalidInputError if the record is too large
 */
export async function publishJob(
  disk: Disk,
  root: string,
  unnamed: string,
  jobId: string,
  record: JobRecord,
): Promise<string> {
  const bytes = bounded(encodeRecord(record), MAX_RECORD_BYTES, "the description of a job");
  const handle = await disk.create(join(unnamed, RECORD_NAME));
  try {
    await handle.write([bytes]);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await disk.syncDirectory(unnamed);
  const directory = jobDirectory(root, jobId);
  if (disk.hasRename !== false) await disk.rename(unnamed, directory);
  await disk.syncDirectory(jobsDirectory(root));
  return directory;
}

/**
 * Takes the name from a job's directory, or its record from it; the caller holds both locks and removes the
 * directory.
 */
export async function hideJob(disk: Disk, root: string, jobId: string): Promise<string> {
  if (disk.hasRename === false) {
    await disk.remove(join(jobDirectory(root, jobId), RECORD_NAME));
    return jobDirectory(root, jobId);
  }
  const hidden = join(jobsDirectory(root), temporaryName());
  await disk.rename(jobDirectory(root, jobId), hidden);
  return hidden;
}

/** Writes without a sync: a power cut may lose the progress. */
export async function writeProgress(
  disk: Disk,
  directory: string,
  progress: JobProgress,
  lease: LockLease,
): Promise<void> {
  const path = join(directory, PROGRESS_NAME);
  await replaceFile(disk, path, encodeSealedJson(progress), { sync: false, lease });
}

/** @throws InvalidInputError if the checkpoint is too large */
export async function writeCheckpoint(
  disk: Disk,
  directory: string,
  state: JsonValue,
  lease: LockLease,
): Promise<void> {
  const bytes = bounded(encodeSealedJson({ state }), MAX_CHECKPOINT_BYTES, "a checkpoint");
  await replaceFile(disk, join(directory, CHECKPOINT_NAME), bytes, { sync: true, lease });
}

/** Writes the outcome; false if the job has one already. Omits a result that is too large. */
export async function writeOutcome(
  disk: Disk,
  directory: string,
  outcome: JobOutcome,
  lease: LockLease,
): Promise<boolean> {
  const bytes = encodeSealedJson(outcome);
  const { result: _, ...rest } = outcome;
  const kept = bytes.length > MAX_OUTCOME_BYTES ? encodeSealedJson(rest) : bytes;
  return (await createExclusive(disk, directory, OUTCOME_NAME, [kept], { lease })) !== false;
}

/** Asks the running process to cancel a job; false if the job does not exist. */
export async function requestCancel(disk: Disk, directory: string): Promise<boolean> {
  try {
    const handle = await disk.create(join(directory, CANCEL_NAME));
    await handle.close();
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    if (codeOf(error) === "EEXIST") return true;
    throw error;
  }
}

function bounded(bytes: Uint8Array, maxBytes: number, what: string): Uint8Array {
  if (bytes.length <= maxBytes) return bytes;
  throw new InvalidInputError(`${what} is limited to ${maxBytes} bytes of JSON, and has ${bytes.length}`);
}
