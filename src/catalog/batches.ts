/**
 * Changes of several tables that happen all or not at all.
 *
 *   lock the tables ─ check every part ─ lock the batch ─ write the journal ─ do the parts ─ remove the journal ─ unlock
 *
 * The journal decides. A process that dies behind it leaves the rest to whoever comes next: every operation first
 * brings decided batches to an end, and so does every writer that gets a table's lock, which is why nobody sees or
 * takes what is half done. Only an engine that knows of no journals can get in between; where it takes a number that
 * a part needs, what was done so far is undone.
 *
 * Parts are done in an order in which the ones that can't be undone come last: declarations, versions, then
 * deregistrations, then deletions.
 */

import { join } from "node:path";
import { ConcurrentModificationError, NamespaceError, TableNotFoundError } from "../errors.js";
import { codeOf } from "../io/errno.js";
import type { LockLease } from "../io/lease.js";
import { withLock } from "../io/lock.js";
import { PublishUncertainError } from "../io/publish.js";
import type { TableEnvironment, UnfinishedBatches } from "../table/environment.js";
import { ABSENT } from "../table/identity.js";
import { decodeManifestFile, readManifestBytes } from "../table/manifest.js";
import { versionsDirectory } from "../table/paths.js";
import { branchRoot } from "../table/refs.js";
import { publishUnderLock } from "../table/stagedVersion.js";
import { deleteVersionsUnderLock } from "../table/versionRemoval.js";
import { findLatestVersion, findVersion } from "../table/versions.js";
import {
  type Batch,
  type BatchStep,
  type CreateVersionStep,
  type DeclareTableStep,
  decideBatch,
  dropBatch,
  endBatch,
  isDecided,
  listBatches,
  prepareBatch,
  readBatch,
} from "./batchJournal.js";
import type { CatalogEnvironment } from "./catalogTable.js";
import { isReserved, reserve } from "./markers.js";
import { deregisterTable } from "./registration.js";
import { sweepDropped, takeAway } from "./removal.js";
import { publishTable, removeRootTable, removeTableRow } from "./tableRows.js";
import type { TableLocation } from "./tables.js";

/** What a batch is to do, found to be possible. */
export interface BatchPlan {
  readonly steps: readonly BatchStep[];
  /** Manifests of its versions; a step names one by its position. */
  readonly manifests: readonly Uint8Array[];
}

/** A directory without a journal that is so old belongs to nobody who still writes it. */
const ABANDONED_MS = 60 * 60 * 1000;

type Leases = ReadonlyMap<string, LockLease>;

/**
 * @param tableRoots directories of the tables and branches whose versions it changes; that of the table itself as well
 *   where versions of a branch go
 * @param plan checks every part, under the locks of the tables; what it throws ends the batch with nothing written
 * @throws ConcurrentModificationError where another engine got in between
 */
export async function commitBatch(
  environment: CatalogEnvironment,
  tableRoots: readonly string[],
  plan: () => Promise<BatchPlan>,
  signal?: AbortSignal,
): Promise<void> {
  const { disk, root } = environment;
  for (;;) {
    await settleBatches(environment, signal);
    const isDone = await withLocks(environment, tableRoots, signal, async (leases) => {
      if (await hasDecidedBatch(environment)) return false;
      const { steps, manifests } = await plan();
      if (steps.length === 0) return true;
      const batch = await prepareBatch(disk, root, steps, manifests);
      await decideAndDo(environment, batch, leases, signal);
      return true;
    });
    if (isDone) return;
  }
}

async function decideAndDo(
  environment: CatalogEnvironment,
  batch: Batch,
  leases: Leases,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { disk, root, lock } = environment;
  let isLocked = false;
  try {
    await withLock(batch.directory, { ...lock, signal }, async (lease) => {
      isLocked = true;
      await decideBatch(disk, batch, { lease });
      await doBatch(environment, batch, leases, lease);
    });
  } catch (error) {
    if (!isLocked) await dropBatch(disk, root, batch.directory);
    throw error;
  }
}

/** What the table layer asks about batches. */
export const unfinishedBatches = (environment: CatalogEnvironment): UnfinishedBatches => ({
  present: () => hasDecidedBatch(environment),
  settle: (signal) => settleBatches(environment, signal),
});

async function hasDecidedBatch({ disk, root }: CatalogEnvironment): Promise<boolean> {
  for (const directory of await listBatches(disk, root)) if (await isDecided(disk, directory)) return true;
  return false;
}

/**
 * Brings all batches that were decided to an end: waits for those under way, does the rest of those whose process
 * died. Costs one look at a directory that is not there in all other cases.
 * @throws CorruptFileError for a damaged journal
 */
export async function settleBatches(environment: CatalogEnvironment, signal?: AbortSignal): Promise<void> {
  const { disk, root } = environment;
  for (const directory of await listBatches(disk, root)) {
    const batch = await readBatch(disk, directory);
    if (batch === null) {
      await dropAbandoned(environment, directory);
      continue;
    }
    await withLocks(environment, await lockedRoots(environment, batch.steps), signal, (leases) =>
      finishBatch(environment, batch, leases, signal),
    );
  }
}

/** Does what is left of a batch that another began, once nobody else is at it. */
async function finishBatch(
  environment: CatalogEnvironment,
  batch: Batch,
  leases: Leases,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { disk, root, lock } = environment;
  let isLocked = false;
  try {
    await withLock(batch.directory, { ...lock, signal }, async () => {
      isLocked = true;
      if (await isDecided(disk, batch.directory)) await doBatch(environment, batch, leases, null);
      // It ended meanwhile; this lock may have kept its directory from going.
      else await dropBatch(disk, root, batch.directory);
    });
  } catch (error) {
    if (isLocked || codeOf(error) !== "ENOENT") throw error;
  }
}

async function dropAbandoned({ disk, root }: CatalogEnvironment, directory: string): Promise<void> {
  const stat = await disk.stat(directory);
  if (stat === null || Date.now() - Number(stat.modifiedNs / 1_000_000n) < ABANDONED_MS) return;
  await dropBatch(disk, root, directory);
}

const mainRootOf = (
  { root }: CatalogEnvironment,
  { location }: Pick<CreateVersionStep, "location">,
): string => join(root, ...location.split("/"));

const tableRootOf = (
  environment: CatalogEnvironment,
  step: Pick<CreateVersionStep, "location" | "branch">,
): string => branchRoot(mainRootOf(environment, step), step.branch ?? undefined);

/** Tables that were dropped since have no lock, and nothing to do. */
async function lockedRoots(environment: CatalogEnvironment, steps: readonly BatchStep[]): Promise<string[]> {
  const roots: string[] = [];
  for (const step of steps) {
    if (step.kind !== "createVersion" && step.kind !== "deleteVersions") continue;
    const changed = [tableRootOf(environment, step)];
    // Refs may point at what goes.
    if (step.kind === "deleteVersions") changed.push(mainRootOf(environment, step));
    for (const tableRoot of changed) {
      if ((await environment.disk.stat(tableRoot)) !== null) roots.push(tableRoot);
    }
  }
  return roots;
}

/**
 * Takes the locks in one order for all callers, so that no two wait for each other.
 * @throws TableNotFoundError where a table was dropped
 */
async function withLocks<T>(
  environment: TableEnvironment,
  tableRoots: readonly string[],
  signal: AbortSignal | undefined,
  work: (leases: Leases) => Promise<T>,
): Promise<T> {
  const leases = new Map<string, LockLease>();
  const takeFrom = async (rest: readonly string[]): Promise<T> => {
    const [next, ...others] = rest;
    if (next === undefined) return work(leases);
    return withLock(next, { ...environment.lock, signal }, (lease) => {
      leases.set(next, lease);
      return takeFrom(others);
    }).catch((cause: unknown) => {
      if (leases.has(next) || codeOf(cause) !== "ENOENT") throw cause;
      throw new TableNotFoundError(`there is no table at ${next}`, { cause });
    });
  };
  return takeFrom([...new Set(tableRoots)].sort());
}

/**
 * Does the parts of a batch; the caller holds its lock.
 * @param own the lock of one that was decided under it; null for one that another began: what that has done already is
 *   not a conflict, nor is it where our lock was taken over meanwhile
 * @throws ConcurrentModificationError where it had to be undone
 */
async function doBatch(
  environment: CatalogEnvironment,
  batch: Batch,
  leases: Leases,
  own: LockLease | null,
): Promise<void> {
  // Its own parts must not wait for it.
  const inside: CatalogEnvironment = { ...environment, batches: undefined };
  const { disk, root } = environment;
  const done: BatchStep[] = [];
  try {
    for (const step of inOrder(batch.steps)) {
      await doStep(inside, batch, step, leases, () => own !== null && !own.compromised);
      done.push(step);
    }
  } catch (error) {
    if (!(error instanceof BatchConflict)) throw error;
    // In an order in which the last one done is the first one undone.
    for (const step of done.reverse()) await undoStep(inside, batch, step);
    await endBatch(disk, root, batch.directory);
    if (own !== null) throw new ConcurrentModificationError(error.message, { cause: error.cause });
    return;
  }
  await endBatch(disk, root, batch.directory);
}

const ORDER: readonly BatchStep["kind"][] = [
  "declareTable",
  "createVersion",
  "deregisterTable",
  "deleteVersions",
];
const inOrder = (steps: readonly BatchStep[]): BatchStep[] =>
  ORDER.flatMap((kind) => steps.filter((step) => step.kind === kind));

/** A part can't be done: another engine was there in between. */
class BatchConflict extends Error {}

/**
 * Does a part, or finds it done.
 * @param isAlone whether nobody else can have done it
 */
async function doStep(
  environment: CatalogEnvironment,
  batch: Batch,
  step: BatchStep,
  leases: Leases,
  isAlone: () => boolean,
): Promise<void> {
  switch (step.kind) {
    case "declareTable":
      return declare(environment, step, isAlone);
    case "createVersion":
      return createVersion(environment, batch, step, leases);
    case "deregisterTable":
      // Whoever took the id away meanwhile left what this part is to leave.
      await deregisterTable(environment, step.id).catch((error: unknown) => {
        if (!(error instanceof TableNotFoundError)) throw error;
      });
      return;
    case "deleteVersions": {
      const { branch, versions } = step;
      // Dropped since it was decided.
      if (!leases.has(tableRootOf(environment, step))) return;
      return deleteVersionsUnderLock(environment.disk, mainRootOf(environment, step), branch, versions);
    }
  }
}

const placeOf = ({ root }: CatalogEnvironment, { id, location }: DeclareTableStep): TableLocation => ({
  id,
  location,
  directory: join(root, ...location.split("/")),
});

async function declare(
  environment: CatalogEnvironment,
  step: DeclareTableStep,
  isAlone: () => boolean,
): Promise<void> {
  const { disk } = environment;
  const place = placeOf(environment, step);
  const reserveOnce = async () => {
    if (await reserve(disk, place.directory)) return;
    if (isAlone() || !(await isReserved(disk, place.directory))) {
      throw new BatchConflict(`table ${step.id.join("$")} was made by another writer meanwhile`);
    }
  };
  // As when one table is declared: of a root table the directory decides, of others the row.
  if (step.id.length > 1) await reserveOnce();
  await publishTable(environment, place, step.properties ?? {}).catch((cause: unknown) => {
    if (cause instanceof PublishUncertainError || !isRefusal(cause)) throw cause;
    throw new BatchConflict(`table ${step.id.join("$")} can no longer be declared`, { cause });
  });
  if (step.id.length === 1) await reserveOnce();
}

/** Whether the catalog said no, rather than the disk. */
const isRefusal = (error: unknown): boolean => error instanceof NamespaceError && error.status < 500;

async function createVersion(
  environment: CatalogEnvironment,
  batch: Batch,
  step: CreateVersionStep,
  leases: Leases,
): Promise<void> {
  const { disk } = environment;
  const tableRoot = tableRootOf(environment, step);
  const lease = leases.get(tableRoot);
  // Dropped since it was decided.
  if (lease === undefined) return;
  const bytes = await readStoredManifest(environment, batch, step);
  const present = await findVersion(disk, tableRoot, step.version);
  const latest = present === null ? await findLatestVersion(disk, tableRoot) : null;
  if (present !== null ? !(await holds(environment, present.path, bytes)) : isAbove(latest, step.version)) {
    throw new BatchConflict(`${tableRoot}: version ${step.version} was taken by another writer meanwhile`);
  }
  if (present !== null) return;
  await disk.makeDirectory(versionsDirectory(tableRoot));
  const file = decodeManifestFile(bytes, join(batch.directory, step.manifest));
  const staged = { ...step, stagedPath: step.manifest };
  await publishUnderLock(environment, tableRoot, ABSENT, staged, { bytes, file }, lease).catch(
    (cause: unknown) => {
      if (!(cause instanceof ConcurrentModificationError)) throw cause;
      throw new BatchConflict(cause.message, { cause });
    },
  );
}

const isAbove = (latest: { readonly version: number } | null, version: number): boolean =>
  latest !== null && latest.version > version;

async function readStoredManifest(
  { disk }: CatalogEnvironment,
  batch: Batch,
  step: CreateVersionStep,
): Promise<Uint8Array> {
  const path = join(batch.directory, step.manifest);
  const read = await readManifestBytes(disk, path);
  if (read === null) throw new BatchConflict(`${path} is gone`);
  return read.bytes;
}

async function holds({ disk }: CatalogEnvironment, path: string, bytes: Uint8Array): Promise<boolean> {
  const read = await readManifestBytes(disk, path);
  return read !== null && Buffer.compare(read.bytes, bytes) === 0;
}

/** Takes a part back, unless somebody has built on it: that is then there to stay. */
async function undoStep(environment: CatalogEnvironment, batch: Batch, step: BatchStep): Promise<void> {
  const { disk, root } = environment;
  if (step.kind === "createVersion") {
    const tableRoot = tableRootOf(environment, step);
    const latest = await findLatestVersion(disk, tableRoot);
    if (latest?.version !== step.version) return;
    if (!(await holds(environment, latest.path, await readStoredManifest(environment, batch, step)))) return;
    await disk.remove(latest.path);
    await disk.syncDirectory(versionsDirectory(tableRoot));
  } else if (step.kind === "declareTable") {
    const place = placeOf(environment, step);
    if ((await findLatestVersion(disk, place.directory)) !== null) return;
    const vanish = () => takeAway(disk, root, place.directory);
    if (step.id.length === 1) await removeRootTable(environment, place, vanish);
    else if ((await removeTableRow(environment, place)).ownsDirectory) await vanish();
    await sweepDropped(disk, root);
  }
}
