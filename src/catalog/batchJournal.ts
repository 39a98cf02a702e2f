/**
 * What makes a change of several tables one: its journal, which is there from the moment the change is decided until
 * all of its parts are done. Below the namespace's directory:
 *
 *   .tiltyard-batches/<uuid>/<n>.manifest    manifests to publish; written and synced first
 *   .tiltyard-batches/<uuid>/journal.json    the steps; published exclusively, which decides
 *
 *   {"format":1,"steps":[
 *     {"kind":"createVersion","location":"t.lance","branch":null,"version":7,"scheme":"V2","manifest":"0.manifest",
 *      "eTag":"…","metadata":{…}},
 *     {"kind":"declareTable","id":["a","t"],"location":"1f2e3d4c_a$t","properties":{…}},
 *     {"kind":"deregisterTable","id":["a","t"]},
 *     {"kind":"deleteVersions","location":"t.lance","branch":null,"versions":[3,4]}]}
 *
 * A directory without a journal was never decided. One with a journal is to be brought to an end by whoever finds it,
 * under the lock of the batch's directory: two at it at once would take each other's parts for a third writer's.
 */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { CorruptFileError } from "../errors.js";
import type { Disk } from "../io/disk.js";
import { createExclusive, type PublishOptions } from "../io/publish.js";
import type { Properties } from "../namespace.js";
import type { NamingScheme } from "../table/paths.js";
import { checkBranchName } from "../table/refs.js";
import { checkLocation } from "./locations.js";

/** A version of a table or branch, whose manifest lies beside the journal. */
export interface CreateVersionStep {
  readonly kind: "createVersion";
  /** Relative to the namespace's directory. */
  readonly location: string;
  /** Null is the main branch. */
  readonly branch: string | null;
  readonly version: number;
  readonly scheme: NamingScheme;
  /** Name of the manifest's file in the batch's directory. */
  readonly manifest: string;
  readonly eTag?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface DeclareTableStep {
  readonly kind: "declareTable";
  readonly id: readonly string[];
  /** The place chosen for it. */
  readonly location: string;
  readonly properties?: Properties;
}

export interface DeregisterTableStep {
  readonly kind: "deregisterTable";
  readonly id: readonly string[];
}

export interface DeleteVersionsStep {
  readonly kind: "deleteVersions";
  readonly location: string;
  readonly branch: string | null;
  /** Ascending. */
  readonly versions: readonly number[];
}

export type BatchStep = CreateVersionStep | DeclareTableStep | DeregisterTableStep | DeleteVersionsStep;

/** A batch, decided or about to be. */
export interface Batch {
  /** Its directory. */
  readonly directory: string;
  readonly steps: readonly BatchStep[];
}

const BATCHES_DIRECTORY = ".tiltyard-batches";
const JOURNAL_NAME = "journal.json";
const FORMAT = 1;
const MAX_JOURNAL_BYTES = 64 * 1024 * 1024;
const MANIFEST_NAME = /^\d{1,9}\.manifest$/;

const batchesDirectory = (root: string): string => join(root, BATCHES_DIRECTORY);

/**
 * Gets a batch ready in a directory of its own; nothing is decided.
 * @param manifests what the steps call `<index>.manifest`
 */
export async function prepareBatch(
  disk: Disk,
  root: string,
  steps: readonly BatchStep[],
  manifests: readonly Uint8Array[],
): Promise<Batch> {
  const directory = join(batchesDirectory(root), randomUUID());
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
  return { directory, steps };
}

/**
 * Decides a batch: from here on it happens. The caller holds the lock of its directory.
 * @throws PublishUncertainError where it may or may not be decided
 */
export async function decideBatch(
  disk: Disk,
  { directory, steps }: Batch,
  options?: PublishOptions,
): Promise<void> {
  const journal = new TextEncoder().encode(JSON.stringify({ format: FORMAT, steps }));
  await createExclusive(disk, directory, JOURNAL_NAME, [journal], options);
}

/** Ends a batch whose parts are all done, or all undone. What can't be removed after the journal is garbage. */
export async function endBatch(disk: Disk, root: string, directory: string): Promise<void> {
  await disk.remove(join(directory, JOURNAL_NAME));
  await disk.syncDirectory(directory);
  await dropBatch(disk, root, directory);
}

/** Removes what there is of a batch that was not decided, or has ended. */
export async function dropBatch(disk: Disk, root: string, directory: string): Promise<void> {
  await disk.removeTree(directory).catch(() => undefined);
  await disk.removeEmptyDirectory(batchesDirectory(root)).catch(() => false);
}

/** Directories of batches, decided or not, in the order in which they are to be looked at. */
export async function listBatches(disk: Disk, root: string): Promise<string[]> {
  // Asked by every operation: the error for listing what is not there costs more than all else of many of them.
  if ((await disk.stat(batchesDirectory(root))) === null) return [];
  const entries = await disk.list(batchesDirectory(root));
  if (entries === null) return [];
  return entries
    .filter((entry) => entry.kind === "directory")
    .map((entry) => join(batchesDirectory(root), entry.name))
    .sort();
}

/** Whether a batch is decided and not at its end. */
export const isDecided = async (disk: Disk, directory: string): Promise<boolean> =>
  (await disk.stat(join(directory, JOURNAL_NAME))) !== null;

/**
 * A batch that was decided; null where its directory has no journal (yet, or any more).
 * @throws CorruptFileError
 */
export async function readBatch(disk: Disk, directory: string): Promise<Batch | null> {
  const path = join(directory, JOURNAL_NAME);
  const bytes = await disk.readFile(path, MAX_JOURNAL_BYTES);
  if (bytes === null) return null;
  try {
    return { directory, steps: decodeJournal(bytes) };
  } catch (cause) {
    throw new CorruptFileError(path, 0, "it is no journal of a batch", { cause });
  }
}

function decodeJournal(bytes: Uint8Array): BatchStep[] {
  const journal = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  if (journal?.format !== FORMAT || !Array.isArray(journal.steps)) throw new TypeError("unknown format");
  return journal.steps.map((step: unknown) => checkStep(step as BatchStep));
}

/** What is named in a journal must lie where a batch may reach. */
function checkStep(step: BatchStep): BatchStep {
  const require = (isRight: boolean, member: string): void => {
    if (!isRight) throw new TypeError(`${member} of ${step.kind}`);
  };
  if (step.kind === "deregisterTable" || step.kind === "declareTable") {
    require(Array.isArray(step.id) && step.id.length > 0 && step.id.every(isString), "id");
    if (step.kind === "declareTable") checkLocation(step.location);
    return step;
  }
  checkLocation(step.location);
  if (step.branch !== null) checkBranchName(step.branch);
  if (step.kind === "createVersion") {
    require(Number.isSafeInteger(step.version) && step.version >= 0, "version");
    require(step.scheme === "V1" || step.scheme === "V2", "scheme");
    require(MANIFEST_NAME.test(step.manifest), "manifest");
  } else if (step.kind === "deleteVersions") {
    const areVersions = Array.isArray(step.versions) && step.versions.every(Number.isSafeInteger);
    require(areVersions && step.versions.every((version) => version >= 0), "versions");
  } else {
    throw new TypeError("unknown kind");
  }
  return step;
}

const isString = (value: unknown): value is string => typeof value === "string";
