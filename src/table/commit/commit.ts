/**
 * Commits a transaction, which makes a version visible:
 *
 *   write the transaction file ─ lock ─ find the latest version ─ check against what came in between
 *        ─ publish the manifest of latest + 1 (publication.ts) ─ unlock
 *
 * The exclusive creation of the manifest decides; the lock only saves writers from losing races. An engine that does
 * not take the lock can still commit first. Then the loop starts over on the newer version, as it does where the lock
 * was lost while this process was suspended. The order makes a crash harmless at every point: before the creation
 * nothing refers to what was written, after it the version is complete and only the hint may be old.
 */

import { ConcurrentModificationError } from "../../errors.js";
import type { Transaction } from "../../format/table.js";
import { codeOf } from "../../io/disk/errno.js";
import { type LockLease, UNSHARED_LEASE } from "../../io/lock/lease.js";
import { backOff, type TableEnvironment, withTableLock } from "../versions/environment.js";
import { checkReaderFlags, checkWriterFlags } from "../versions/flags.js";
import {
  type DirectoryIdentity,
  isSameDirectory,
  requireAnchor,
  type TableAnchor,
  TableGoneError,
  TableReplacedError,
} from "../versions/identity.js";
import { findLatestVersion } from "../versions/latestVersion.js";
import { readManifestAt } from "../versions/manifestCache.js";
import { versionsDirectory } from "../versions/paths.js";
import { anchorOf, type CommittedVersion, type TableVersion } from "../versions/versions.js";
import { CommitAttempts, type CommitOptions, type CreationOptions } from "./commitAttempts.js";
import { TransactionConflictError } from "./conflict.js";
import { withFiles } from "./publication.js";

/** A change as it was planned on one version. */
export interface PlannedChange {
  readonly transaction: Transaction;
  /** Removes the files written for the change; called where it did not become a version. */
  readonly discard?: () => Promise<void>;
}

/** A committed change and the plan that was committed in the end. */
export interface CommittedPlan<Plan> {
  readonly committed: CommittedVersion;
  readonly plan: Plan;
}

/** Lost races after which a commit gives up. */
const MAX_ATTEMPTS = 20;
/** Times a change is planned before it gives up. */
const MAX_PLANS = 20;

/**
 * Commits a change to an existing table. A transaction that was planned on an older version is rebased, unless a
 * commit made since then conflicts with it.
 * @param tableRoot directory of the table or branch
 * @param anchor the version that the transaction was planned on
 * @throws TableReplacedError where another table lies there by now
 * @throws ConcurrentModificationError where the change conflicts, or lost too many races
 * @throws TableGoneError where the table has no versions; TableVersionNotFoundError where the version to restore does
 *   not exist
 * @throws PublishUncertainError where the version may or may not be there: its files must stay
 */
export async function commitTransaction(
  environment: TableEnvironment,
  tableRoot: string,
  anchor: TableAnchor,
  transaction: Transaction,
  options: CommitOptions = {},
): Promise<CommittedVersion> {
  const lock = { ...environment.lock, signal: options.signal ?? environment.lock.signal };
  const attempts = new CommitAttempts(environment, tableRoot, anchor, transaction);
  const committed = await withMissingAsNotFound(tableRoot, () =>
    withFiles(
      () => attempts.removeTransactionFile(),
      async () => {
        await attempts.writeAhead();
        return withTableLock(environment, tableRoot, lock, (lease) =>
          commitOverLatest(environment, attempts, lease, options),
        );
      },
    ),
  );
  await environment.afterCommit?.(tableRoot, committed);
  return committed;
}

async function commitOverLatest(
  environment: TableEnvironment,
  attempts: CommitAttempts,
  lease: LockLease,
  options: CommitOptions,
): Promise<CommittedVersion> {
  const { tableRoot } = attempts;
  for (let attempt = 1; ; attempt++) {
    const latest =
      attempt === 1 && environment.latestVersions !== undefined
        ? await environment.latestVersions.findForCommit(tableRoot, attempts.readVersion)
        : await findLatestVersion(environment.disk, tableRoot);
    if (latest === null) throw new TableGoneError(tableRoot);
    const committed = await attempts.tryOver(latest, lease, options);
    if (committed !== null) return committed;
    if (attempt === MAX_ATTEMPTS) {
      throw new ConcurrentModificationError(`${tableRoot}: another writer won ${attempt} races in a row`);
    }
    await backOff(attempt);
  }
}

/**
 * Commits a change to the table as it is now: plans it on the latest version and, where a commit made meanwhile
 * conflicts with it, plans it again on the version of that commit.
 * @param directory the directory of the table's versions, as it was when the table was opened
 * @param plan returns what to commit over the given version, or null where there is nothing to do; it throws a
 *   TransactionConflictError where that version was overtaken during planning, and is then called again with a newer
 *   one
 * @returns null where there was nothing to do
 * @throws errors of `plan` and of {@link commitTransaction}; TableReplacedError where the versions lie in another
 *   directory; ConcurrentModificationError where other commits keep getting in between
 */
export async function commitPlanned<Plan extends PlannedChange>(
  environment: TableEnvironment,
  tableRoot: string,
  directory: DirectoryIdentity,
  plan: (base: TableVersion) => Promise<Plan> | Plan,
  options?: CommitOptions,
): Promise<CommittedPlan<Plan>>;
export async function commitPlanned<Plan extends PlannedChange>(
  environment: TableEnvironment,
  tableRoot: string,
  directory: DirectoryIdentity,
  plan: (base: TableVersion) => Promise<Plan | null> | Plan | null,
  options?: CommitOptions,
): Promise<CommittedPlan<Plan> | null>;
export async function commitPlanned<Plan extends PlannedChange>(
  environment: TableEnvironment,
  tableRoot: string,
  directory: DirectoryIdentity,
  plan: (base: TableVersion) => Promise<Plan | null> | Plan | null,
  options: CommitOptions = {},
): Promise<CommittedPlan<Plan> | null> {
  for (let round = 1; ; round++) {
    options.signal?.throwIfAborted();
    const base = await readLatest(environment, tableRoot, directory);
    let planned: Plan | null = null;
    try {
      return await withFiles(
        async () => planned?.discard?.(),
        async () => {
          planned = await plan(base);
          if (planned === null) return null;
          const { transaction } = planned;
          const committed = await commitTransaction(
            environment,
            tableRoot,
            anchorOf(base),
            transaction,
            options,
          );
          return { committed, plan: planned };
        },
      );
    } catch (error) {
      if (!(error instanceof TransactionConflictError) || round === MAX_PLANS) throw error;
    }
    await backOff(round);
  }
}

/** @throws TableReplacedError where the versions lie in another directory than the one given */
async function readLatest(
  environment: TableEnvironment,
  tableRoot: string,
  directory: DirectoryIdentity,
): Promise<TableVersion> {
  for (let attempt = 1; ; attempt++) {
    const entry = await findLatestVersion(environment.disk, tableRoot);
    if (entry === null) throw new TableGoneError(tableRoot);
    if (!isSameDirectory(entry.directory, directory)) throw new TableReplacedError(tableRoot);
    const file = await readManifestAt(environment, entry);
    if (file !== null) {
      checkReaderFlags(file.manifest, entry.path);
      checkWriterFlags(file.manifest, entry.path);
      return { entry, file };
    }
    // It was the latest, but was superseded and cleaned up since, or the table was dropped.
    if (attempt === MAX_ATTEMPTS) throw new ConcurrentModificationError(`${tableRoot}: versions come and go`);
    await backOff(attempt);
  }
}

/**
 * Commits the first version of a table. Returns null where the table already has versions or another writer was
 * first.
 * @param anchor the table that was declared; where there is none, its directory is made
 * @param transaction an overwrite
 * @throws TableReplacedError where another table lies there by now
 * @throws ConcurrentModificationError where the directory is dropped meanwhile
 * @throws PublishUncertainError where the version may or may not be there: its files must stay
 */
export async function commitCreation(
  environment: TableEnvironment,
  tableRoot: string,
  anchor: TableAnchor,
  transaction: Transaction,
  options: CreationOptions,
): Promise<CommittedVersion | null> {
  const { disk, manifests } = environment;
  const versions = versionsDirectory(tableRoot);
  const attempts = new CommitAttempts(environment, tableRoot, anchor, transaction);
  const create = (lease: LockLease) =>
    withFiles(
      () => attempts.removeTransactionFile(),
      () => attempts.tryCreate(lease, options),
    );
  if (options.unshared === true) {
    await disk.makeDirectory(versions);
    return create(UNSHARED_LEASE);
  }
  // The lock is taken in it.
  if (anchor.kind === "absent" && options.isPlaced !== true) await disk.makeDirectory(tableRoot);
  const lock = { ...environment.lock, signal: options.signal ?? environment.lock.signal };
  try {
    return await withTableLock(environment, tableRoot, lock, async (lease) => {
      if ((await findLatestVersion(disk, tableRoot)) !== null) return null;
      await requireAnchor(disk, tableRoot, anchor, (path) => manifests.read(disk, path));
      await disk.makeDirectory(versions, tableRoot);
      return create(lease);
    });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new ConcurrentModificationError(`${tableRoot} was dropped while a table was created there`, {
      cause: error,
    });
  }
}

/**
 * Commits a change as the version right after the one it was planned on, and as no other: a change that rewrites the
 * whole table is planned again rather than rebased. The transaction is kept in the manifest alone, and fragments are
 * numbered from 0. The caller holds the table's lock.
 * @param base the latest version, which the transaction was planned on
 * @returns null where another writer took the number
 * @throws LeaseLostError, OverruledError where the lock was lost
 * @throws PublishUncertainError where the version may or may not be there: its files must stay
 */
export async function commitSuccessor(
  environment: TableEnvironment,
  tableRoot: string,
  base: TableVersion,
  transaction: Transaction,
  lease: LockLease,
): Promise<CommittedVersion | null> {
  const attempts = new CommitAttempts(environment, tableRoot, anchorOf(base), transaction, {
    rewritesTable: true,
  });
  return attempts.tryOver(base.entry, lease, {});
}

/** A table dropped before we got its lock looks like a missing directory. */
async function withMissingAsNotFound<T>(tableRoot: string, commit: () => Promise<T>): Promise<T> {
  try {
    return await commit();
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new TableGoneError(tableRoot, { cause: error });
  }
}
