/**
 * Commits a transaction, which makes a version visible:
 *
 *     write the transaction file ─ lock ─ find the latest version ─ check against the commits in between
 *          ─ publish the manifest of latest + 1 (publication.ts) ─ unlock
 *
 * The exclusive creation of the manifest decides. The lock only saves writers from losing races: an engine
 * that ignores it can still commit first. Then the loop starts over on the newer version. It also starts over
 * if the lock was lost while this process was suspended. A crash is harmless at every point: before the
 * creation nothing refers to the new files, and after it the version is complete and only the hint may be
 * old.
 */

import { ConcurrentModificationError } from "../../errors.js";
import type { Transaction } from "../../format/table.js";
import { codeOf } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/disk/locks.js";
import { UNSHARED_LEASE } from "../../io/lock/lease.js";
import { isSameDirectory } from "../versions/directoryIdentity.js";
import { requireWritable } from "../versions/flags.js";
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
import { backOff, isFrozenByLock, withTableLock } from "../versions/tableLock.js";
import type { LatestVersion } from "../versions/versions.js";
import { TransactionConflictError } from "./conflictError.js";
import { type CommitOptions, type CreationOptions, PreparedCommit } from "./preparedCommit.js";
import { withFiles } from "./publication.js";

export interface PlannedChange {
  readonly transaction: Transaction;
  /** Removes the files of the change; called if it did not become a version. */
  readonly discard?: () => Promise<void>;
}

export interface ChangeTarget<Environment extends TableEnvironment = TableEnvironment> {
  readonly table: TableAt<Environment>;
  readonly latest: LatestVersion;
}

export interface CommittedPlan<Plan> {
  readonly committed: OpenVersion;
  readonly plan: Plan;
}

/** Maximum number of lost races before a commit fails. */
const MAX_ATTEMPTS = 20;
/** Maximum number of plans before a change fails. */
const MAX_PLANS = 20;

/**
 * Commits a change to an existing table. A transaction that was planned on an older version is rebased,
 * unless a later commit conflicts with it.
 * @param base version that the transaction was planned on
 * @throws TableReplacedError if another table lies in the directory now
 * @throws ConcurrentModificationError if the change conflicts, or lost too many races
 * @throws TableGoneError if the table has no versions; TableVersionNotFoundError if the version to restore
 *   does not exist
 * @throws PublishUncertainError if the version may exist; its files must stay
 */
export async function commitTransaction(
  base: OpenLatest,
  transaction: Transaction,
  options: CommitOptions = {},
): Promise<OpenVersion> {
  const { table } = base;
  const prepared = new PreparedCommit(table, anchorOf(base), transaction);
  const committed = await withMissingAsNotFound(table.root, () =>
    withFiles(
      () => prepared.removeTransactionFile(),
      async () => {
        await prepared.writeAhead();
        return withTableLock(table, { signal: options.signal, keep: true }, (lease) =>
          commitOverLatest(prepared, lease, options),
        );
      },
    ),
  );
  // The commit stands. An error here would look like a failed commit, whose files are removed.
  await table.environment.afterCommit?.(committed).catch(() => undefined);
  return committed;
}

async function commitOverLatest(
  prepared: PreparedCommit,
  lease: LockLease,
  options: CommitOptions,
): Promise<OpenVersion> {
  const { table } = prepared;
  const { latestVersions } = table.environment;
  const isFrozen = isFrozenByLock(table);
  // The check is made early where it can be, so that it runs beside the search.
  const verified = isFrozen ? options.verify?.() : undefined;
  // The failure is handled after the search.
  verified?.catch(() => undefined);
  for (let attempt = 1; ; attempt++) {
    const latest =
      attempt === 1 && latestVersions !== undefined
        ? await latestVersions.findForCommit(table.root, prepared.readVersion)
        : await findLatestVersion(table);
    if (latest === null) throw new TableGoneError(table.root);
    await verified;
    const verify = isFrozen ? undefined : options.verify;
    const committed = await prepared.tryOver(latest, lease, { ...options, verify });
    if (committed !== null) return committed;
    if (attempt === MAX_ATTEMPTS) {
      throw new ConcurrentModificationError(`${table.root}: another writer won ${attempt} races in a row`);
    }
    await backOff(attempt);
  }
}

/**
 * Commits a change to the current table: plans it on the latest version. If a later commit conflicts with it,
 * plans it again on that commit's version.
 * @param plan returns the change to commit over a version, or null without a change. If a newer version
 *   overtook its version during planning, it throws a TransactionConflictError and is called again
 * @returns null if there is nothing to change
 * @throws errors of `plan` and of {@link commitTransaction}
 * @throws TableReplacedError if the versions lie in another directory; ConcurrentModificationError if other
 *   commits keep getting in between
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

/** @throws TableReplacedError if the versions lie in another directory than when the table was opened */
async function readLatest<Environment extends TableEnvironment>({
  table,
  latest,
}: ChangeTarget<Environment>): Promise<OpenLatest<Environment>> {
  for (let attempt = 1; ; attempt++) {
    const { latestVersions } = table.environment;
    const entry = (await latestVersions?.countUp(table.root)) ?? (await findLatestVersion(table));
    if (entry === null) throw new TableGoneError(table.root);
    if (!isSameDirectory(entry.directory, latest.directory)) throw new TableReplacedError(table.root);
    const base = await openVersion(table, entry);
    if (base !== null) {
      requireWritable(base.file.manifest, base.path);
      return base;
    }
    // The version was superseded and cleaned up meanwhile, or the table was dropped.
    if (attempt === MAX_ATTEMPTS)
      throw new ConcurrentModificationError(`${table.root}: versions disappear while they are opened`);
    await backOff(attempt);
  }
}

/**
 * Commits the first version of a table.
 * @param anchor the declared table; if there is none, its directory is made
 * @param transaction an overwrite
 * @returns null if the table already has versions or another writer was first
 * @throws TableReplacedError if another table lies in the directory now
 * @throws ConcurrentModificationError if the directory is dropped meanwhile
 * @throws PublishUncertainError if the version may exist; its files must stay
 */
export async function commitCreation(
  table: TableAt,
  anchor: TableAnchor,
  transaction: Transaction,
  options: CreationOptions,
): Promise<OpenVersion | null> {
  const { disk } = table;
  const versions = versionsDirectory(table.root);
  const prepared = new PreparedCommit(table, anchor, transaction);
  const create = (lease: LockLease) =>
    withFiles(
      () => prepared.removeTransactionFile(),
      () => prepared.tryCreate(lease, options),
    );
  if (options.unshared === true) {
    await disk.makeDirectory(versions);
    return create(UNSHARED_LEASE);
  }
  // The lock needs the directory.
  if (anchor.kind === "absent" && options.directoryExists !== true) await disk.makeDirectory(table.root);
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
 * Commits a change as the direct successor of the version that it was planned on. Such a change rewrites the
 * whole table, so it is planned again rather than rebased. Only the manifest stores the transaction, and
 * fragments are numbered from 0. The caller holds the table's lock.
 * @param base the latest version, which the transaction was planned on
 * @returns null if another writer took the number
 * @throws LeaseLostError or OverruledError if the lock was lost
 * @throws PublishUncertainError if the version may exist; its files must stay
 */
export function commitSuccessor(
  base: OpenLatest,
  transaction: Transaction,
  lease: LockLease,
): Promise<OpenVersion | null> {
  const prepared = new PreparedCommit(base.table, anchorOf(base), transaction, { rewritesTable: true });
  return prepared.tryOver(base, lease, {});
}

/** Reports a missing directory as a missing table: the table was dropped before this writer got the lock. */
async function withMissingAsNotFound<T>(tableRoot: string, commit: () => Promise<T>): Promise<T> {
  try {
    return await commit();
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new TableGoneError(tableRoot, { cause: error });
  }
}
