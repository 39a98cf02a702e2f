/**
 * Commits a transaction, which makes a version visible:
 *
 *   write the transaction file ─ lock ─ find the latest version ─ check against what came in between
 *        ─ publish the manifest of latest + 1 (publication.ts) ─ unlock
 *
 * The exclusive creation of the manifest decides; the lock only saves writers from losing races. An engine
 * that does not take the lock can still commit first. Then the loop starts over on the newer version, as it
 * does where the lock was lost while this process was suspended. The order makes a crash harmless at every
 * point: before the creation nothing refers to what was written, after it the version is complete and only
 * the hint may be old.
 */

import { ConcurrentModificationError } from "../../errors.js";
import type { Transaction } from "../../format/table.js";
import { codeOf } from "../../io/disk/errno.js";
import { type LockLease, UNSHARED_LEASE } from "../../io/lock/lease.js";
import { isSameDirectory } from "../versions/directoryIdentity.js";
import { checkReaderFlags, checkWriterFlags } from "../versions/flags.js";
import {
  anchorOf,
  requireAnchor,
  type TableAnchor,
  TableGoneError,
  TableReplacedError,
} from "../versions/identity.js";
import { findLatestVersion } from "../versions/latestVersion.js";
import { openVersion } from "../versions/openVersion.js";
import { versionsDirectory } from "../versions/paths.js";
import type { OpenLatest, OpenVersion, TableAt, TableEnvironment } from "../versions/tableAt.js";
import { backOff, withTableLock } from "../versions/tableLock.js";
import type { LatestVersion } from "../versions/versions.js";
import { CommitAttempts, type CommitOptions, type CreationOptions } from "./commitAttempts.js";
import { TransactionConflictError } from "./conflict.js";
import { withFiles } from "./publication.js";

/** A change as it was planned on one version. */
export interface PlannedChange {
  readonly transaction: Transaction;
  /** Removes the files written for the change; called where it did not become a version. */
  readonly discard?: () => Promise<void>;
}

/** A table or branch to change, as it was opened. */
export interface ChangeTarget<Environment extends TableEnvironment = TableEnvironment> {
  readonly table: TableAt<Environment>;
  readonly latest: LatestVersion;
}

/** A committed change and the plan that was committed in the end. */
export interface CommittedPlan<Plan> {
  readonly committed: OpenVersion;
  readonly plan: Plan;
}

/** Lost races after which a commit gives up. */
const MAX_ATTEMPTS = 20;
/** Times a change is planned before it gives up. */
const MAX_PLANS = 20;

/**
 * Commits a change to an existing table. A transaction that was planned on an older version is rebased,
 * unless a commit made since then conflicts with it.
 * @param base the version that the transaction was planned on
 * @throws TableReplacedError where another table lies there by now
 * @throws ConcurrentModificationError where the change conflicts, or lost too many races
 * @throws TableGoneError where the table has no versions; TableVersionNotFoundError where the version to
 *   restore does not exist
 * @throws PublishUncertainError where the version may or may not be there: its files must stay
 */
export async function commitTransaction(
  base: OpenLatest,
  transaction: Transaction,
  options: CommitOptions = {},
): Promise<OpenVersion> {
  const { table } = base;
  const attempts = new CommitAttempts(table, anchorOf(base), transaction);
  const committed = await withMissingAsNotFound(table.root, () =>
    withFiles(
      () => attempts.removeTransactionFile(),
      async () => {
        await attempts.writeAhead();
        return withTableLock(table, { signal: options.signal, keep: true }, (lease) =>
          commitOverLatest(attempts, lease, options),
        );
      },
    ),
  );
  // The commit stands. An error here would pass for a failed commit, whose files are removed.
  await table.environment.afterCommit?.(committed).catch(() => undefined);
  return committed;
}

async function commitOverLatest(
  attempts: CommitAttempts,
  lease: LockLease,
  options: CommitOptions,
): Promise<OpenVersion> {
  const { table } = attempts;
  for (let attempt = 1; ; attempt++) {
    const { latestVersions } = table.environment;
    const latest =
      attempt === 1 && latestVersions !== undefined
        ? await latestVersions.findForCommit(table.root, attempts.readVersion)
        : await findLatestVersion(table);
    if (latest === null) throw new TableGoneError(table.root);
    const committed = await attempts.tryOver(latest, lease, options);
    if (committed !== null) return committed;
    if (attempt === MAX_ATTEMPTS) {
      throw new ConcurrentModificationError(`${table.root}: another writer won ${attempt} races in a row`);
    }
    await backOff(attempt);
  }
}

/**
 * Commits a change to the table as it is now: plans it on the latest version and, where a commit made
 * meanwhile conflicts with it, plans it again on the version of that commit.
 * @param plan returns what to commit over the given version, or null where there is nothing to do; it throws
 *   a TransactionConflictError where that version was overtaken during planning, and is then called again
 *   with a newer one
 * @returns null where there was nothing to do
 * @throws errors of `plan` and of {@link commitTransaction}; TableReplacedError where the versions lie in
 *   another directory; ConcurrentModificationError where other commits keep getting in between
 */
export async function commitPlanned<Environment extends TableEnvironment, Plan extends PlannedChange>(
  target: ChangeTarget<Environment>,
  plan: (base: OpenLatest<Environment>) => Promise<Plan> | Plan,
  options?: CommitOptions,
): Promise<CommittedPlan<Plan>>;
export async function commitPlanned<Environment extends TableEnvironment, Plan extends PlannedChange>(
  target: ChangeTarget<Environment>,
  plan: (base: OpenLatest<Environment>) => Promise<Plan | null> | Plan | null,
  options?: CommitOptions,
): Promise<CommittedPlan<Plan> | null>;
export async function commitPlanned<Environment extends TableEnvironment, Plan extends PlannedChange>(
  target: ChangeTarget<Environment>,
  plan: (base: OpenLatest<Environment>) => Promise<Plan | null> | Plan | null,
  options: CommitOptions = {},
): Promise<CommittedPlan<Plan> | null> {
  for (let round = 1; ; round++) {
    options.signal?.throwIfAborted();
    const base = await readLatest(target);
    let planned: Plan | null = null;
    try {
      return await withFiles(
        async () => planned?.discard?.(),
        async () => {
          planned = await plan(base);
          if (planned === null) return null;
          const { transaction } = planned;
          const committed = await commitTransaction(base, transaction, options);
          return { committed, plan: planned };
        },
      );
    } catch (error) {
      if (!(error instanceof TransactionConflictError) || round === MAX_PLANS) throw error;
    }
    await backOff(round);
  }
}

/** @throws TableReplacedError where the versions lie in another directory than when the table was opened */
async function readLatest<Environment extends TableEnvironment>({
  table,
  latest,
}: ChangeTarget<Environment>): Promise<OpenLatest<Environment>> {
  for (let attempt = 1; ; attempt++) {
    const entry = await findLatestVersion(table);
    if (entry === null) throw new TableGoneError(table.root);
    if (!isSameDirectory(entry.directory, latest.directory)) throw new TableReplacedError(table.root);
    const base = await openVersion(table, entry);
    if (base !== null) {
      checkReaderFlags(base.file.manifest, base.path);
      checkWriterFlags(base.file.manifest, base.path);
      return base;
    }
    // It was the latest, but was superseded and cleaned up since, or the table was dropped.
    if (attempt === MAX_ATTEMPTS)
      throw new ConcurrentModificationError(`${table.root}: versions come and go`);
    await backOff(attempt);
  }
}

/**
 * Commits the first version of a table. Returns null where the table already has versions or another writer
 * was first.
 * @param anchor the table that was declared; where there is none, its directory is made
 * @param transaction an overwrite
 * @throws TableReplacedError where another table lies there by now
 * @throws ConcurrentModificationError where the directory is dropped meanwhile
 * @throws PublishUncertainError where the version may or may not be there: its files must stay
 */
export async function commitCreation(
  table: TableAt,
  anchor: TableAnchor,
  transaction: Transaction,
  options: CreationOptions,
): Promise<OpenVersion | null> {
  const { disk } = table;
  const versions = versionsDirectory(table.root);
  const attempts = new CommitAttempts(table, anchor, transaction);
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
  if (anchor.kind === "absent" && options.isPlaced !== true) await disk.makeDirectory(table.root);
  try {
    return await withTableLock(table, { signal: options.signal }, async (lease) => {
      if ((await findLatestVersion(table)) !== null) return null;
      await requireAnchor(table, anchor);
      await disk.makeDirectory(versions, table.root);
      return create(lease);
    });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new ConcurrentModificationError(`${table.root} was dropped while a table was created there`, {
      cause: error,
    });
  }
}

/**
 * Commits a change as the version right after the one it was planned on, and as no other: a change that
 * rewrites the whole table is planned again rather than rebased. The transaction is kept in the manifest
 * alone, and fragments are numbered from 0. The caller holds the table's lock.
 * @param base the latest version, which the transaction was planned on
 * @returns null where another writer took the number
 * @throws LeaseLostError, OverruledError where the lock was lost
 * @throws PublishUncertainError where the version may or may not be there: its files must stay
 */
export function commitSuccessor(
  base: OpenLatest,
  transaction: Transaction,
  lease: LockLease,
): Promise<OpenVersion | null> {
  const attempts = new CommitAttempts(base.table, anchorOf(base), transaction, { rewritesTable: true });
  return attempts.tryOver(base, lease, {});
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
