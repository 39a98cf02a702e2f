/**
 * Where jobs are recorded, so that every process that has the namespace open sees them. Below the namespace's
 * directory:
 *
 *   .tiltyard-jobs/.tiltyard.lock/         held while a job is started, taken over or removed
 *   .tiltyard-jobs/<job id>/job.json       what the job is; the directory gets its name when this is complete
 *   .tiltyard-jobs/<job id>/.tiltyard.lock/  held by the process that runs it, from before the directory has its name
 *                          progress.json   how far it is; may be lost
 *                          checkpoint.json what it goes on from; synced
 *                          cancel          somebody wants it cancelled
 *                          outcome.json    how it ended; created exclusively, which decides
 *
 * The id is a UUID (version 8) whose first 12 digits come from a digest of what the job is, so that a listing
 * of names tells which jobs may be the same one. A job without an outcome whose lock nobody living holds was
 * interrupted.
 *
 * The process that takes a lock over removes the temporary files of its former holder: whatever that one was
 * about to write, in a job's directory or by giving one its name, then fails.
 */

import { CorruptFileError, InvalidInputError } from "../errors.js";
import { UUID_FORM } from "../ident.js";
import type { Disk } from "../io/disk/disk.js";
import { codeOf, isMissing, isUnwritable } from "../io/disk/errno.js";
import type { LockLease } from "../io/lock/lease.js";
import { DEFAULT_STALE_MS, type LockOptions, stateOfLock } from "../io/lock/lock.js";
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
  encodeCheckpoint,
  encodeOutcome,
  encodeProgress,
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

/** What jobs are recorded with. */
export interface JobsEnvironment {
  readonly disk: Disk;
  /** Absolute path of the namespace's directory. */
  readonly root: string;
  readonly lock: LockOptions;
  /** Told of a record that lists leave out: the id and directory of its job, and why. */
  readonly noteUnlisted?: ((job: UnlistedJob) => void) | undefined;
}

export interface UnlistedJob {
  readonly jobId: string;
  readonly location: string;
  readonly reason: string;
}

/** Who runs a job: a living process, one that died, or none. */
export type JobOwner = "held" | "dead" | "free";

/** A job as it lies on the disk. */
export interface StoredJob {
  readonly jobId: string;
  readonly record: JobRecord;
  /** Null where nothing is known of it. */
  readonly progress: JobProgress | null;
  /** Null for a job that has not ended. */
  readonly outcome: JobOutcome | null;
  readonly owner: JobOwner;
  readonly isCancelRequested: boolean;
}

export const jobsDirectory = (root: string): string => join(root, JOBS_DIRECTORY);
export const jobDirectory = (root: string, jobId: string): string => join(jobsDirectory(root), jobId);

/** The options for locks of jobs. */
export const jobLock = ({ disk, lock }: JobsEnvironment): LockOptions => ({
  ...lock,
  fence: (directory) => fenceOff(disk, directory),
});

/** What is the same for all jobs that are the same, and for few others: the beginning of their ids. */
export function idPrefix({ kind, location, branch, key }: JobRecord): string {
  const digits = sha256(JSON.stringify([kind, location, branch, key]));
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8`;
}

export const newJobId = (record: JobRecord): string =>
  idPrefix(record) + crypto.randomUUID().slice(idPrefix(record).length);

export const isJobId = (text: unknown): text is string => typeof text === "string" && UUID_FORM.test(text);

// ------------------------------------------------------------------------------------------------- reading

/** The ids of all jobs, in no order. */
export async function listJobIds(disk: Disk, root: string): Promise<string[]> {
  const directory = jobsDirectory(root);
  // Most namespaces have no jobs, which a look tells more cheaply than a failed listing.
  if ((await disk.stat(directory))?.kind !== "directory") return [];
  const entries = (await disk.list(directory)) ?? [];
  return entries.filter(({ name, kind }) => kind === "directory" && isJobId(name)).map(({ name }) => name);
}

/**
 * A job as it is now; null where there is none.
 * @throws CorruptFileError for a directory of a job that holds something else
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
    throw new CorruptFileError(path, 0, "it is no record of a job that this release knows");
  }
  const look = async () => {
    // The owner first: one that ends the job writes the outcome, then lets the lock go.
    const owner = await stateOfLock(directory, lock.staleMs ?? DEFAULT_STALE_MS);
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
 * The same for many: null also for a record that is malformed, or that this process may not or can't read.
 * @param onUnsound told why a record that is there counts for none
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

/** True if one record is at fault, and not the disk as a whole. */
const isUnreadable = (error: unknown): boolean =>
  isMissing(error) || isUnwritable(error) || codeOf(error) === "EISDIR" || codeOf(error) === "EIO";

async function readFile(disk: Disk, path: string, maxBytes: number): Promise<Uint8Array | null> {
  try {
    return await disk.readFile(path, maxBytes);
  } catch (cause) {
    if (codeOf(cause) !== "EISDIR" && codeOf(cause) !== "ENOTDIR") throw cause;
    throw new CorruptFileError(path, 0, "it is no file", { cause });
  }
}

/**
 * Like `readFile`, for files without which a job is still known: null for one that is too long, or no file.
 */
async function readIfSound(disk: Disk, path: string, maxBytes: number): Promise<Uint8Array | null> {
  try {
    return await readFile(disk, path, maxBytes);
  } catch (error) {
    if (error instanceof CorruptFileError) return null;
    throw error;
  }
}

async function readProgress(disk: Disk, directory: string): Promise<JobProgress | null> {
  const bytes = await readIfSound(disk, join(directory, PROGRESS_NAME), MAX_PROGRESS_BYTES);
  return bytes && decodeProgress(bytes);
}

export async function readJobOutcome(disk: Disk, directory: string): Promise<JobOutcome | null> {
  const bytes = await readIfSound(disk, join(directory, OUTCOME_NAME), MAX_OUTCOME_BYTES);
  return bytes && decodeOutcome(bytes);
}

export async function readCheckpoint(disk: Disk, directory: string): Promise<JsonValue | null> {
  const bytes = await readIfSound(disk, join(directory, CHECKPOINT_NAME), MAX_CHECKPOINT_BYTES);
  return bytes && decodeCheckpoint(bytes);
}

export const isCancelRequested = async (disk: Disk, directory: string): Promise<boolean> =>
  (await disk.stat(join(directory, CANCEL_NAME))) !== null;

// ------------------------------------------------------------------------------------------------- writing

/** A directory for a new job, which has no name yet. */
export async function makeUnnamed(disk: Disk, root: string): Promise<string> {
  const directory = join(jobsDirectory(root), temporaryName());
  await disk.makeDirectory(directory, root);
  return directory;
}

/**
 * Writes what a job is, and gives its directory the name. The caller holds the lock of all jobs, and that of
 * the directory.
 * @throws InvalidInputError for one that is too large
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
  await disk.rename(unnamed, directory);
  await disk.syncDirectory(jobsDirectory(root));
  return directory;
}

/**
 * Takes its name from a job, so that it is no job any more. The caller holds the lock of all jobs, and that
 * of its directory.
 * @returns the directory, which is to be removed
 */
export async function hideJob(disk: Disk, root: string, jobId: string): Promise<string> {
  const hidden = join(jobsDirectory(root), temporaryName());
  await disk.rename(jobDirectory(root, jobId), hidden);
  return hidden;
}

/** Not synced: after a power cut the progress may be unknown. */
export async function writeProgress(
  disk: Disk,
  directory: string,
  progress: JobProgress,
  lease: LockLease,
): Promise<void> {
  await replaceFile(disk, join(directory, PROGRESS_NAME), encodeProgress(progress), { sync: false, lease });
}

/** @throws InvalidInputError for one that is too large */
export async function writeCheckpoint(
  disk: Disk,
  directory: string,
  state: JsonValue,
  lease: LockLease,
): Promise<void> {
  const bytes = bounded(encodeCheckpoint(state), MAX_CHECKPOINT_BYTES, "a checkpoint");
  await replaceFile(disk, join(directory, CHECKPOINT_NAME), bytes, { sync: true, lease });
}

/** False where the job has ended before. A result that is too large is left out. */
export function writeOutcome(
  disk: Disk,
  directory: string,
  outcome: JobOutcome,
  lease: LockLease,
): Promise<boolean> {
  const bytes = encodeOutcome(outcome);
  const { result: _, ...rest } = outcome;
  const kept = bytes.length > MAX_OUTCOME_BYTES ? encodeOutcome(rest) : bytes;
  return createExclusive(disk, directory, OUTCOME_NAME, [kept], { lease });
}

/** Asks the process that runs a job to cancel it; false where there is no such job. */
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
