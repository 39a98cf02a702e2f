/**
 * Does the parts of a batch, and undoes them. A process that died may have done a part before. Each part
 * first checks that the table is the one it was planned on. The disk is guarded: this process changes nothing
 * after losing the batch's lock. Without that lock no process touches the tables of an unfinished batch.
 *
 * If a table is gone or replaced, its parts behave as follows:
 *
 * - Creating a version is a conflict.
 * - Deregistering counts as done, because the planned table has lost the id.
 * - Deleting versions is a conflict in a batch that was decided just now. In a recovered batch it counts as
 *   done, because the dead process may have deleted them first.
 */

import { NamespaceNotFoundError, TableNotFoundError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { tellFailure } from "../../io/disk/diskErrors.js";
import { codeOf } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/disk/locks.js";
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
import { noteFormerId } from "../locations/formerIds.js";
import { directoryAt } from "../locations/locations.js";
import { hide, isDropped, readReservations, reserve, reserveAs, unhide } from "../locations/markerChanges.js";
import { isDeregistered, isReserved } from "../locations/markers.js";
import { isNewLocation } from "../locations/newLocations.js";
import { discardDirectory, sweepDropped, takeAway } from "../locations/removal.js";
import { isUnshared } from "../locations/sharedLocations.js";
import { findTable, type TableLocation, tableRow } from "../locations/tables.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import { changeCatalog } from "../rows/catalogTable.js";
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

export interface BatchWork {
  /** Environment with a guarded disk and without unfinished batches: parts must not wait for their own. */
  readonly environment: CatalogEnvironment;
  /** Environment without the guard. */
  readonly unguarded: CatalogEnvironment;
  readonly batch: Batch;
  readonly locks: BatchLocks;
  /** True if the batch was decided under these locks, so that no other process has done any part. */
  readonly isDecidedHere: boolean;
  /** Versions published so far; grows. */
  readonly published: PublishedVersion[];
  /** Versions set aside so far, or about to be; grows. */
  readonly retired: RetiredVersion[];
}

/** Versions that this process has set aside, or was about to set aside. */
export interface RetiredVersion {
  readonly step: DeleteVersionsStep;
  readonly version: SetAsideVersion;
}

export interface PublishedVersion {
  readonly tableRoot: string;
  readonly path: string;
  /** Identity of the file. */
  readonly identity: string;
}

/** Returns the table or branch of a part. */
export const tableOf = (
  environment: CatalogEnvironment,
  { location, branch }: Pick<CreateVersionStep, "location" | "branch">,
): TableAt => tableAt(environment, directoryAt(environment.root, location), branch);

/** Returns the directories whose locks a part needs. */
export function lockedRootsOf(environment: CatalogEnvironment, step: BatchStep): string[] {
  if (step.kind === "createVersion") return [tableOf(environment, step).root];
  if (step.kind !== "deleteVersions") return [];
  // Refs may name the versions to delete.
  const { root, mainRoot } = tableOf(environment, step);
  return [mainRoot, root];
}

// --------------------------------------------------------------------------------------------------- doing

/**
 * Does a part, or finds it done.
 * @returns false if another process did it, so that it must not be undone
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

const locationOfTable = (
  environment: CatalogEnvironment,
  id: readonly string[],
  location: string,
): TableLocation => ({ id, location, directory: directoryAt(environment.root, location) });

async function declare(work: BatchWork, step: DeclareTableStep): Promise<void> {
  const { environment } = work;
  const { id, location, properties = {} } = step;
  const publish = () => publishTable(environment, locationOfTable(environment, id, location), properties);
  // Like a single declaration: the directory decides for root tables, the row for others.
  if (id.length === 1) await publish();
  await reserveFor(work, step);
  if (id.length > 1) await publish();
}

async function reserveFor(work: BatchWork, step: DeclareTableStep): Promise<void> {
  const { disk } = work.environment;
  const { directory } = locationOfTable(work.environment, step.id, step.location);
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
    if (!work.isDecidedHere && (await hasBytes(disk, present.path, bytes))) return;
    throw new BatchConflict("another writer took the number meanwhile");
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
  // Dropping a table ignores the table's lock.
  await requireSame(work, step).catch(async (error: unknown) => {
    if (await hasBytes(disk, path, bytes)) await takeVersionBack(table, path, lease);
    throw error;
  });
}

/** @throws BatchConflict if the table or branch is not the one the step was planned on */
async function requireSame({ environment }: BatchWork, step: CreateVersionStep): Promise<void> {
  if (await isPlannedOn(environment, step)) return;
  throw new BatchConflict("the table or branch was dropped or replaced meanwhile");
}

async function isPlannedOn(
  environment: CatalogEnvironment,
  step: CreateVersionStep | DeleteVersionsStep,
): Promise<boolean> {
  const table = tableOf(environment, step);
  if (step.identity !== undefined) return isSameTable(table, step.identity);
  return (await table.disk.stat(table.root))?.kind === "directory";
}

/** @throws BatchConflict if the lock of a directory could not be taken */
function requireLease({ tables, refusals }: BatchLocks, tableRoot: string): LockLease {
  const lease = tables.get(tableRoot);
  if (lease !== undefined) return lease;
  const cause = refusals.get(tableRoot);
  if (cause === undefined) throw new BatchConflict("the table or branch was dropped meanwhile");
  throw new BatchConflict(`the lock cannot be taken: ${tellFailure(cause)}`, { cause });
}

/** @throws BatchConflict if the manifest is gone */
async function readStoredManifest(
  { environment, batch }: BatchWork,
  { manifest }: CreateVersionStep,
): Promise<Uint8Array> {
  const path = join(batch.directory, manifest);
  const read = await readManifestBytes(environment.disk, path);
  if (read === null) throw new BatchConflict(`${path} no longer exists`);
  return read.bytes;
}

async function hasBytes(disk: Disk, path: string, bytes: Uint8Array): Promise<boolean> {
  const read = await readManifestBytes(disk, path);
  return read !== null && isSameBytes(read.bytes, bytes);
}

async function deregister(work: BatchWork, step: DeregisterTableStep): Promise<boolean> {
  const { environment, isDecidedHere } = work;
  const { disk } = environment;
  try {
    const entry = await findTable(environment, step.id);
    if (entry === null) return !isDecidedHere;
    if (!(await isPlannedTable(work, step, entry))) return false;
    const vanish = () => hide(disk, entry.directory, () => isPlannedTable(work, step, entry));
    if (step.id.length === 1) await removeRootTable(environment, entry, vanish);
    else {
      await noteFormerId(environment, entry);
      await removeRow(environment, entry);
    }
    return true;
  } catch (error) {
    // Another caller removed the id meanwhile, which is this part's goal.
    if (error instanceof TableNotFoundError || error instanceof NamespaceNotFoundError) return false;
    throw error;
  }
}

/** Returns true if the table with the id of a step is the one it was planned on. */
async function isPlannedTable(
  { environment }: BatchWork,
  { location, identity }: DeregisterTableStep,
  table: TableLocation,
): Promise<boolean> {
  if (location === undefined || identity === undefined) return true;
  if (table.location !== location) return false;
  // A generated location belongs to one table only.
  return isNewLocation(location) || isSameTable({ disk: environment.disk, root: table.directory }, identity);
}

/**
 * Removes the row of a table, if it has one.
 * @returns true if no other table uses its directory
 */
async function removeRow(environment: CatalogEnvironment, { id, location }: TableLocation): Promise<boolean> {
  let isOnly = false;
  await changeCatalog(environment, async (catalog) => {
    const row = tableRow(catalog, id);
    const ownRow = row?.location === location ? row : null;
    const others = catalog.rows.filter((each) => each !== ownRow);
    isOnly = await isUnshared(environment, location, others);
    return ownRow === null ? null : { remove: new Set([ownRow.objectId]) };
  });
  return isOnly;
}

async function deleteVersions(work: BatchWork, step: DeleteVersionsStep): Promise<void> {
  const { environment, locks, isDecidedHere } = work;
  const { versions } = step;
  const table = tableOf(environment, step);
  if (!(await isPlannedOn(environment, step))) {
    // If the deciding process died, it may have deleted the versions before their table was dropped.
    if (isDecidedHere) throw new BatchConflict("the table or branch was dropped or replaced meanwhile");
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
  // Either all versions are deleted, or none.
  if (stayed.length > 0) {
    throw new BatchConflict(`version ${stayed[0]} got a tag or became the source of a branch meanwhile`);
  }
}

// ------------------------------------------------------------------------------------------------- undoing

/**
 * Undoes a part, as far as it was done, unless another writer has built on it. Undoes nothing on a table
 * whose lock cannot be taken.
 * @param wasDone true if the part was completed
 */
export async function undoStep(work: BatchWork, step: BatchStep, wasDone: boolean): Promise<void> {
  switch (step.kind) {
    case "declareTable":
      // Without a mark, an attempt's files look like another writer's table.
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
  // The bytes identify the version: no other table has them.
  if (!(await hasBytes(table.disk, latest.path, await readStoredManifest(work, step)))) return;
  await takeVersionBack(table, latest.path, lease);
}

/**
 * Removes a version that a batch has published.
 * @throws LeaseLostError or OverruledError if the table's lock was lost, because another writer may have
 *   published that number
 */
async function takeVersionBack(table: VersionsAt, path: string, lease: LockLease): Promise<void> {
  await removeLeased(table.disk, path, sideDirectory(table.root), table.root, lease);
  await table.disk.syncDirectory(versionsDirectory(table.root));
}

async function undeclare(work: BatchWork, step: DeclareTableStep): Promise<void> {
  const { environment, unguarded, locks } = work;
  const { disk } = environment;
  const location = locationOfTable(environment, step.id, step.location);
  const { ownPaths, hasOthers } =
    step.mark === undefined
      ? { ownPaths: [location.directory], hasOthers: false }
      : await readReservations(disk, location.directory, step.mark);
  const isGone =
    (ownPaths.length === 0 && (await disk.stat(location.directory)) === null) ||
    (await isDropped(disk, location.directory));
  if (isGone) {
    await removeRow(environment, location);
    return;
  }
  const isOwnOnly = ownPaths.length > 0 && !hasOthers;
  if (!isOwnOnly || (await findLatestVersion({ disk, root: location.directory })) !== null) {
    // The table belongs to another writer, which ignores this batch's markers.
    if (step.mark !== undefined) for (const path of ownPaths) await disk.remove(path);
    return;
  }
  // Checked after the directory has moved, because an engine without batches may have made its table
  // there. Then the directory must move back, even if the batch's lock is lost.
  const isUntouched = async (directory: string): Promise<boolean> => {
    if (environment !== unguarded) await requireLock(locks.batch);
    if ((await findLatestVersion({ disk: unguarded.disk, root: directory })) !== null) return false;
    if (step.mark === undefined) return true;
    const reservations = await readReservations(unguarded.disk, directory, step.mark);
    return reservations.ownPaths.length > 0 && !reservations.hasOthers;
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

/** Gives a table its id back, unless another table has it now. */
async function registerAgain(work: BatchWork, step: DeregisterTableStep): Promise<void> {
  const { environment } = work;
  const { disk } = environment;
  const { id, location, identity, properties = {} } = step;
  // Journals of earlier releases do not identify the table.
  if (location === undefined || identity === undefined) return;
  const tableLocation = locationOfTable(environment, id, location);
  const isRoot = id.length === 1;
  if (isRoot && !(await isDeregistered(disk, tableLocation.directory))) return;
  if (await isDropped(disk, tableLocation.directory)) return;
  if ((await findTable(environment, id)) !== null || !(await isPlannedTable(work, step, tableLocation)))
    return;
  await publishTable(environment, tableLocation, properties);
  if (isRoot) await unhide(disk, tableLocation.directory, () => isPlannedTable(work, step, tableLocation));
}

/** Puts deleted versions back. All of their files exist: a cleanup waits until the batch has ended. */
async function returnVersions(work: BatchWork, step: DeleteVersionsStep): Promise<void> {
  const { environment, locks } = work;
  if (!lockedRootsOf(environment, step).every((root) => locks.tables.has(root))) return;
  // Without an identity, the versions may be another table's.
  if (step.identity === undefined || !(await isPlannedOn(environment, step))) return;
  const confirm = () => confirmTables(work, step);
  await returnVersionsUnderLock(tableOf(environment, step), step.versions, confirm);
}

/** @throws LeaseLostError if the lock of one of the part's directories is lost */
async function confirmTables({ environment, locks }: BatchWork, step: BatchStep): Promise<void> {
  for (const root of lockedRootsOf(environment, step)) await locks.tables.get(root)?.confirm();
}

// ---------------------------------------------------------------------------------------------- resurrected

/**
 * Undoes the steps that this process did after another one had undone the batch: it was suspended between its
 * last check of the locks and the step. Recognises its work by a file or mark that nobody else has. The
 * caller holds no locks.
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

/** Puts back versions of a later table in the same directory, after another process did the batch. */
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
