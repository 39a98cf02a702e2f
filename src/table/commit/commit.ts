/**
 * Making a version visible by a transaction:
 *
 *   write the transaction file ─ lock ─ find the latest version ─ check against what came in between
 *        ─ publish the manifest of latest + 1 (publication.ts) ─ unlock
 *
 * The lock only saves writers from losing races; the exclusive creation of the manifest decides. An engine that
 * does not take the lock can still get in first, then the loop starts over on the newer version. So it does where the
 * lock was lost while this process was suspended. The order makes a crash harmless at every point: before the creation
 * nothing refers to what was written, after it the version is complete, and only the hint may be old.
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
  /** Removes the files written for it; called where it did not become a version. */
  readonly discard?: () => Promise<void>;
}

/** A change that was committed, as it was planned in the end. */
export interface CommittedPlan<Plan> {
  readonly committed: CommittedVersion;
  readonly plan: Plan;
}

/** Lost races after which a commit gives up. */
const MAX_ATTEMPTS = 20;
/** Times a change is planned anew before it gives up. */
const MAX_PLANS = 20;

/**
 * Commits a change to a table that exists. Where the transaction was planned on an older version it is rebased,
 * unless what came in between stands against it.
 * @param tableRoot directory of the table or branch
 * @param anchor the version that the transaction was planned on
 * @throws TableReplacedError where another table lies there by now
 * @throws ConcurrentModificationError where the change conflicts, or lost too many races
 * @throws TableGoneError where the table has no versions; TableVersionNotFoundError for a restore of none
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
    const latest = await findLatestVersion(environment.disk, tableRoot);
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
 * Commits a change that is asked for of the table as it now is, whichever version that be: planned on the latest
 * version and, where one that comes in between stands against it, planned again on that.
 * @param directory of its versions, as it was when the table was opened
 * @param plan what to commit over the version given, or null where there is nothing to do; a TransactionConflictError
 *   says that the version was overtaken while it was planned on, and is followed by another round
 * @returns null where there was nothing to do
 * @throws what `plan` throws and {@link commitTransaction} throws; TableReplacedError where the versions lie in another
 *   directory; ConcurrentModificationError where others keep getting in between
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
    // It was the latest, and was followed by another and cleaned up, or the table was dropped.
    if (attempt === MAX_ATTEMPTS) throw new ConcurrentModificationError(`${tableRoot}: versions come and go`);
    await backOff(attempt);
  }
}

/**
 * Commits the first version of a table. Null where the table has versions already, or somebody else was first.
 * @param anchor the table that was declared; where there is none its directory is made
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
  if (anchor.kind === "absent") await disk.makeDirectory(versions);
  if (options.unshared === true) return create(UNSHARED_LEASE);
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
 * Commits a change as the version right after the one it was planned on, and as no other: a table that is
 * rewritten as a whole is planned anew rather than rebased. The transaction is kept in the manifest alone, and
 * fragments are numbered from 0. The caller holds the table's lock.
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
