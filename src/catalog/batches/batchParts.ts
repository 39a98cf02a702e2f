/**
 * Does the parts of a batch, and takes them back. Each part may have been done before, by a process that
 * died; and each proves first that the table is the one it was planned on. The disk is guarded: nothing is
 * changed once the lock of the batch is lost. Without that lock nobody else touches what an unfinished batch
 * names.
 *
 * If a table is gone, or another was put in its place, creating a version of it is a conflict. Deregistering
 * it counts as done: an id that another table has by now was taken from the one that is meant. Versions to
 * delete went with their table. If the batch is settled for a process that died, that part counts as done as
 * well, as that process may have deleted them first; in a batch that was decided just now it is a conflict.
 */

import { NamespaceNotFoundError, TableNotFoundError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { tellFailure } from "../../io/disk/diskErrors.js";
import { codeOf } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/lock/lease.js";
import { removeLeased } from "../../io/publish.js";
import { isSameBytes, join } from "../../platform/native.js";
import { putBackVersion, type SetAsideVersion } from "../../table/cleanup/retiredVersions.js";
import { deleteVersionsUnderLock, returnVersionsUnderLock } from "../../table/cleanup/versionRemoval.js";
import { publishUnderLock } from "../../table/staging/stagedVersion.js";
import { ABSENT } from "../../table/versions/identity.js";
import { findLatestVersion } from "../../table/versions/latestVersion.js";
import { decodeManifestFile, readManifestBytes } from "../../table/versions/manifest.js";
import { sideDirectory, versionsDirectory } from "../../table/versions/paths.js";
import { type TableAt, tableAt } from "../../table/versions/tableAt.js";
import { isSameTable } from "../../table/versions/tableIdentity.js";
import { withSteadyLock } from "../../table/versions/tableLock.js";
import { findVersion, type VersionsAt } from "../../table/versions/versions.js";
import { noteFormerId } from "../places/formerIds.js";
import { directoryAt, isNewLocation } from "../places/locations.js";
import {
  hide,
  isDeregistered,
  isDropped,
  isReserved,
  readReservations,
  reserve,
  reserveAs,
  unhide,
} from "../places/markers.js";
import { discardDirectory, sweepDropped, takeAway } from "../places/removal.js";
import { isUnshared } from "../places/sharedPlaces.js";
import { findTable, type TableLocation, tableRow } from "../places/tables.js";
import { type CatalogEnvironment, changeCatalog } from "../rows/catalogTable.js";
import { publishTable, removeRootTable } from "../tableRows.js";
import type { Batch } from "./batchJournal.js";
import { type BatchLocks, requireLock } from "./batchLocks.js";
import { BatchConflict } from "./batchRefusals.js";
import type {
  BatchStep,
  CreateVersionStep,
  DeclareTableStep,
  DeleteVersionsStep,
  DeregisterTableStep,
} from "./journalFormat.js";

/** A batch while it is done, or undone. */
export interface BatchWork {
  /**
   * Its disk is guarded by the batch's lock. It knows of no batches: the parts of one must not wait for it.
   */
  readonly environment: CatalogEnvironment;
  /** The same without the guard. */
  readonly unguarded: CatalogEnvironment;
  readonly batch: Batch;
  readonly locks: BatchLocks;
  /** True if it was decided under these locks, so that nobody else can have done any of it. */
  readonly isOwn: boolean;
  /** The versions published so far; grows. */
  readonly published: PublishedVersion[];
  /** The versions set aside so far, or about to be; grows. */
  readonly retired: RetiredVersion[];
}

/** A version that this process has set aside, or was about to. */
export interface RetiredVersion {
  readonly step: DeleteVersionsStep;
  readonly version: SetAsideVersion;
}

/** A manifest that this process has put in place. */
export interface PublishedVersion {
  readonly tableRoot: string;
  readonly path: string;
  /** Of the file. */
  readonly identity: string;
}

/** The table or branch of a part. */
export const tableOf = (
  environment: CatalogEnvironment,
  { location, branch }: Pick<CreateVersionStep, "location" | "branch">,
): TableAt => tableAt(environment, directoryAt(environment.root, location), branch);

/** Directories whose locks a part is done under. */
export function lockedRootsOf(environment: CatalogEnvironment, step: BatchStep): string[] {
  if (step.kind === "createVersion") return [tableOf(environment, step).root];
  if (step.kind !== "deleteVersions") return [];
  // Refs may point at the versions to delete.
  const { root, mainRoot } = tableOf(environment, step);
  return [mainRoot, root];
}

// --------------------------------------------------------------------------------------------------- doing

/**
 * Does a part, or finds it done.
 * @returns false where another process did it, so that it is not to be undone
 * @throws BatchConflict, and other errors that prevent it, see {@link isLasting}
 */
export async function doStep(work: BatchWork, step: BatchStep): Promise<boolean> {
  switch (step.kind) {
    case "declareTable":
      await declare(work, step);
      return true;
    case "createVersion":
      await createVersion(work, step);
      return true;
    case "deregisterTable":
      return deregister(work, step);
    case "deleteVersions":
      await deleteVersions(work, step);
      return true;
  }
}

const placeOf = (
  environment: CatalogEnvironment,
  id: readonly string[],
  location: string,
): TableLocation => ({ id, location, directory: directoryAt(environment.root, location) });

async function declare(work: BatchWork, step: DeclareTableStep): Promise<void> {
  const { environment } = work;
  const { id, location, properties = {} } = step;
  const publish = () => publishTable(environment, placeOf(environment, id, location), properties);
  // As when one table is declared: for a root table the directory decides, for others the row.
  if (id.length === 1) await publish();
  await reserveFor(work, step);
  if (id.length > 1) await publish();
}

async function reserveFor(work: BatchWork, step: DeclareTableStep): Promise<void> {
  const { disk } = work.environment;
  const { directory } = placeOf(work.environment, step.id, step.location);
  const taken = () => new BatchConflict(`table ${step.id.join("$")} was made by another writer meanwhile`);
  if (step.mark === undefined) {
    if (!(await reserve(disk, directory)) && !(await isReserved(disk, directory))) throw taken();
    return;
  }
  const reservation = await reserveAs(disk, directory, step.mark);
  if (reservation === "other") throw taken();
  // An engine that makes tables without declaring them was first.
  if (reservation === "new" && (await findLatestVersion({ disk, root: directory })) !== null) throw taken();
}

async function createVersion(work: BatchWork, step: CreateVersionStep): Promise<void> {
  const { environment, locks } = work;
  const { disk } = environment;
  const table = tableOf(environment, step);
  await requireSame(work, step);
  const bytes = await readStoredManifest(work, step);
  const present = await findVersion(table, step.version);
  if (present !== null) {
    if (!work.isOwn && (await hasBytes(disk, present.path, bytes))) return;
    throw new BatchConflict("the number was taken by another writer meanwhile");
  }
  const lease = requireLease(locks, table.root);
  const file = decodeManifestFile(bytes, join(work.batch.directory, step.manifest));
  if (file.head.version !== step.version) {
    throw new BatchConflict(`${step.manifest} holds version ${file.head.version}`);
  }
  const staged = { ...step, stagedPath: step.manifest };
  const { path } = await publishUnderLock(table, ABSENT, staged, { bytes, file }, lease);
  const stat = await disk.stat(path);
  if (stat !== null) work.published.push({ tableRoot: table.root, path, identity: stat.identity });
  await requireLock(locks.batch);
  // Dropping a table takes no lock of the table.
  await requireSame(work, step).catch(async (error: unknown) => {
    if (await hasBytes(disk, path, bytes)) await takeVersionBack(table, path, lease);
    throw error;
  });
}

/** @throws BatchConflict where the table or branch is not the one the step was planned on */
async function requireSame({ environment }: BatchWork, step: CreateVersionStep): Promise<void> {
  if (await isPlannedOn(environment, step)) return;
  throw new BatchConflict("the table or branch was dropped, or another put in its place, meanwhile");
}

async function isPlannedOn(
  environment: CatalogEnvironment,
  step: CreateVersionStep | DeleteVersionsStep,
): Promise<boolean> {
  const table = tableOf(environment, step);
  if (step.identity !== undefined) return isSameTable(table, step.identity);
  return (await table.disk.stat(table.root))?.kind === "directory";
}

/** @throws BatchConflict where the lock of a directory can't be had */
function requireLease({ tables, refusals }: BatchLocks, tableRoot: string): LockLease {
  const lease = tables.get(tableRoot);
  if (lease !== undefined) return lease;
  const cause = refusals.get(tableRoot);
  if (cause === undefined) throw new BatchConflict("the table or branch was dropped meanwhile");
  throw new BatchConflict(`the lock can't be taken: ${tellFailure(cause)}`, { cause });
}

/** @throws BatchConflict where it is gone */
async function readStoredManifest(
  { environment, batch }: BatchWork,
  { manifest }: CreateVersionStep,
): Promise<Uint8Array> {
  const path = join(batch.directory, manifest);
  const read = await readManifestBytes(environment.disk, path);
  if (read === null) throw new BatchConflict(`${path} is gone`);
  return read.bytes;
}

async function hasBytes(disk: Disk, path: string, bytes: Uint8Array): Promise<boolean> {
  const read = await readManifestBytes(disk, path);
  return read !== null && isSameBytes(read.bytes, bytes);
}

async function deregister(work: BatchWork, step: DeregisterTableStep): Promise<boolean> {
  const { environment, isOwn } = work;
  const { disk } = environment;
  try {
    const entry = await findTable(environment, step.id);
    if (entry === null) return !isOwn;
    if (!(await isResolved(work, step, entry))) return false;
    const vanish = () => hide(disk, entry.directory, () => isResolved(work, step, entry));
    if (step.id.length === 1) await removeRootTable(environment, entry, vanish);
    else {
      await noteFormerId(environment, entry);
      await removeRow(environment, entry);
    }
    return true;
  } catch (error) {
    // A caller that took the id away meanwhile left the state that this part is to leave.
    if (error instanceof TableNotFoundError || error instanceof NamespaceNotFoundError) return false;
    throw error;
  }
}

/** True if the table that has the id of a step is the one it was planned on. */
async function isResolved(
  { environment }: BatchWork,
  { location, identity }: DeregisterTableStep,
  found: TableLocation,
): Promise<boolean> {
  if (location === undefined || identity === undefined) return true;
  if (found.location !== location) return false;
  // No other table gets a place that was made up for one.
  return isNewLocation(location) || isSameTable({ disk: environment.disk, root: found.directory }, identity);
}

/**
 * Removes the row of a table, if it has one.
 * @returns true if its directory is that of no other table
 */
async function removeRow(environment: CatalogEnvironment, { id, location }: TableLocation): Promise<boolean> {
  let isOnly = false;
  await changeCatalog(environment, async (catalog) => {
    const row = tableRow(catalog, id);
    const own = row?.location === location ? row : null;
    const others = catalog.rows.filter((each) => each !== own);
    isOnly = await isUnshared(environment, location, others);
    return own === null ? null : { remove: new Set([own.objectId]) };
  });
  return isOnly;
}

async function deleteVersions(work: BatchWork, step: DeleteVersionsStep): Promise<void> {
  const { environment, locks, isOwn } = work;
  const { versions } = step;
  const table = tableOf(environment, step);
  if (!(await isPlannedOn(environment, step))) {
    // If the process that began it died, the versions are gone along with their table.
    if (isOwn) throw new BatchConflict("the table or branch was dropped or replaced meanwhile");
    return;
  }
  try {
    for (const root of lockedRootsOf(environment, step)) requireLease(locks, root);
  } catch (error) {
    const left = await Promise.all(versions.map((version) => findVersion(table, version)));
    if (left.every((version) => version === null)) return;
    throw error;
  }
  const stayed = await deleteVersionsUnderLock(table, versions, {
    confirm: () => confirmTables(work, step),
    onRetiring: (version) => work.retired.push({ step, version }),
  });
  // All versions go, or none.
  if (stayed.length > 0) {
    throw new BatchConflict(
      `version ${stayed[0]} has got a tag, or a branch that is made from it, meanwhile`,
    );
  }
}

// ------------------------------------------------------------------------------------------------- undoing

/**
 * Takes a part back, as far as it was done, unless somebody has built on it: then it stays. Nothing is taken
 * back of a table whose lock can't be had.
 * @param wasDone whether all of it was done
 */
export async function undoStep(work: BatchWork, step: BatchStep, wasDone: boolean): Promise<void> {
  switch (step.kind) {
    case "declareTable":
      // Without a mark, what an attempt left can't be told from another writer's table.
      return step.mark === undefined && !wasDone ? undefined : undeclare(work, step);
    case "createVersion":
      return removeVersion(work, step);
    case "deregisterTable":
      return registerAgain(work, step);
    case "deleteVersions":
      return returnVersions(work, step);
  }
}

async function removeVersion(work: BatchWork, step: CreateVersionStep): Promise<void> {
  const { environment, locks } = work;
  const table = tableOf(environment, step);
  const lease = locks.tables.get(table.root);
  if (lease === undefined) return;
  const latest = await findLatestVersion(table);
  if (latest?.version !== step.version) return;
  // No version of another table has these bytes.
  if (!(await hasBytes(table.disk, latest.path, await readStoredManifest(work, step)))) return;
  await takeVersionBack(table, latest.path, lease);
}

/**
 * Removes a version that a batch has published.
 * @throws LeaseLostError, OverruledError where the table's lock was lost: another may have published one of
 *   that number
 */
async function takeVersionBack(table: VersionsAt, path: string, lease: LockLease): Promise<void> {
  await removeLeased(table.disk, path, sideDirectory(table.root), table.root, lease);
  await table.disk.syncDirectory(versionsDirectory(table.root));
}

async function undeclare(work: BatchWork, step: DeclareTableStep): Promise<void> {
  const { environment, unguarded, locks } = work;
  const { disk } = environment;
  const location = placeOf(environment, step.id, step.location);
  const { own, hasOthers } =
    step.mark === undefined
      ? { own: [location.directory], hasOthers: false }
      : await readReservations(disk, location.directory, step.mark);
  const isGone =
    (own.length === 0 && (await disk.stat(location.directory)) === null) ||
    (await isDropped(disk, location.directory));
  if (isGone) {
    await removeRow(environment, location);
    return;
  }
  const isOwnOnly = own.length > 0 && !hasOthers;
  if (!isOwnOnly || (await findLatestVersion({ disk, root: location.directory })) !== null) {
    // The table is another writer's, which does not know of this batch's markers.
    if (step.mark !== undefined) for (const path of own) await disk.remove(path);
    return;
  }
  // Asked once the directory is out of everybody's way: an engine that knows of no batches may have made its
  // table there. The directory has to go back even if the lock of the batch is lost by then.
  const isUntouched = async (directory: string): Promise<boolean> => {
    if (environment !== unguarded) await requireLock(locks.batch);
    if ((await findLatestVersion({ disk: unguarded.disk, root: directory })) !== null) return false;
    if (step.mark === undefined) return true;
    const found = await readReservations(unguarded.disk, directory, step.mark);
    return found.own.length > 0 && !found.hasOthers;
  };
  if (step.id.length === 1) {
    await removeRootTable(environment, location, () => takeAway(unguarded, location.directory, isUntouched));
  } else if (await removeRow(environment, location)) {
    await discardDirectory(unguarded, location.directory, isUntouched);
    const isLeft = (await disk.stat(location.directory)) !== null && !(await isUntouched(location.directory));
    if (isLeft) await publishTable(environment, location, step.properties ?? {});
  }
  await sweepDropped(environment);
}

/** Gives a table its id back, unless another has it by now. */
async function registerAgain(work: BatchWork, step: DeregisterTableStep): Promise<void> {
  const { environment } = work;
  const { disk } = environment;
  const { id, location, identity, properties = {} } = step;
  // Journals of earlier releases don't tell which table it was.
  if (location === undefined || identity === undefined) return;
  const tableLocation = placeOf(environment, id, location);
  const isRoot = id.length === 1;
  if (isRoot && !(await isDeregistered(disk, tableLocation.directory))) return;
  if (await isDropped(disk, tableLocation.directory)) return;
  if ((await findTable(environment, id)) !== null || !(await isResolved(work, step, tableLocation))) return;
  await publishTable(environment, tableLocation, properties);
  if (isRoot) await unhide(disk, tableLocation.directory, () => isResolved(work, step, tableLocation));
}

/**
 * Puts versions back that were taken away. All of their files are there: a cleanup waits until the batch has
 * ended.
 */
async function returnVersions(work: BatchWork, step: DeleteVersionsStep): Promise<void> {
  const { environment, locks } = work;
  if (!lockedRootsOf(environment, step).every((root) => locks.tables.has(root))) return;
  // A journal without an identity does not tell whether the versions are of this table.
  if (step.identity === undefined || !(await isPlannedOn(environment, step))) return;
  const confirm = () => confirmTables(work, step);
  await returnVersionsUnderLock(tableOf(environment, step), step.versions, confirm);
}

/** @throws LeaseLostError where the lock of a directory that the part is done under is lost */
async function confirmTables({ environment, locks }: BatchWork, step: BatchStep): Promise<void> {
  for (const root of lockedRootsOf(environment, step)) await locks.tables.get(root)?.confirm();
}

// ---------------------------------------------------------------------------------------------- resurrected

/**
 * Takes back what this process did of a batch after another one had undone it, because it was suspended
 * between the last look at its locks and the step. Its work is recognised by the file, or the mark, that
 * nobody else has. The caller holds no locks.
 */
export async function removeResurrected(work: BatchWork): Promise<void> {
  const { disk, lock } = work.unguarded;
  for (const { tableRoot, path, identity } of work.published) {
    const isThere = async () => (await disk.stat(path))?.identity === identity;
    if (!(await isThere())) continue;
    await withSteadyLock(tableRoot, lock, async (lease) => {
      if (await isThere()) await takeVersionBack({ disk, root: tableRoot }, path, lease);
    }).catch((error: unknown) => {
      // The table was dropped, and the version with it.
      if (codeOf(error) !== "ENOENT") throw error;
    });
  }
  await returnRetired(work, async () => true);
  const unguarded = { ...work, environment: work.unguarded };
  for (const step of work.batch.steps) {
    if (step.kind === "declareTable" && step.mark !== undefined) await undeclare(unguarded, step);
  }
}

/**
 * The same after another process has done the batch: the versions set aside may have been of another table in
 * the same place.
 */
export const returnForeign = (work: BatchWork): Promise<void> =>
  returnRetired(work, async (step) => !(await isPlannedOn(work.unguarded, step)));

async function returnRetired(
  { unguarded, retired }: BatchWork,
  isToReturn: (step: DeleteVersionsStep) => Promise<boolean>,
): Promise<void> {
  const { disk } = unguarded;
  for (const { step, version } of retired) {
    const table = tableOf(unguarded, step);
    if ((await disk.stat(version.path)) === null || !(await isToReturn(step))) continue;
    await putBackVersion(table, version);
    await disk.syncDirectory(versionsDirectory(table.root));
  }
}
