/**
 * Making a version visible. Every commit, ours or a caller's staged manifest, goes the same way:
 *
 *   write the transaction file ─ lock ─ find the latest version ─ check against what came in between
 *        ─ createExclusive(manifest of latest + 1) ─ hint ─ unlock
 *
 * The lock only saves writers from losing races; the exclusive creation of the manifest decides. An engine that
 * does not take the lock can still get in first, then the loop starts over on the newer version. The order makes
 * a crash harmless at every point: before the creation nothing refers to what was written, after it the version
 * is complete, and only the hint may be old.
 */

import { join } from "node:path";
import {
  ConcurrentModificationError,
  TableNotFoundError,
  TableVersionNotFoundError,
  UnsupportedError,
} from "../errors.js";
import type { Manifest, Transaction } from "../format/table.js";
import { Transaction as TransactionMessage } from "../format/table.js";
import type { Disk } from "../io/disk.js";
import { codeOf } from "../io/errno.js";
import { type LockLease, UNSHARED_LEASE } from "../io/lease.js";
import { type LockOptions, withLock } from "../io/lock.js";
import { createExclusive, PublishUncertainError } from "../io/publish.js";
import { applyTransaction } from "./apply.js";
import { checkConflict, keepsFields, namedFields, TransactionConflictError } from "./conflict.js";
import { checkReaderFlags, checkWriterFlags } from "./flags.js";
import { encodeManifestFile, isSameManifest, ManifestFile } from "./manifest.js";
import { manifestName, type NamingScheme, transactionsDirectory, versionsDirectory } from "./paths.js";
import { fileNameOf, operationOf, readTransaction } from "./transaction.js";
import type { VersionContent } from "./versionContent.js";
import {
  entryOf,
  findLatestVersion,
  findVersion,
  listVersions,
  type ManifestCache,
  readGap,
  readManifestAt,
  type TableVersion,
  type VersionEntry,
  writeHint,
} from "./versions.js";

/** What the table layer works with. */
export interface TableEnvironment {
  readonly disk: Disk;
  readonly lock: LockOptions;
  readonly manifests: ManifestCache;
  /** Called after each commit to a table that was there, without the table's lock; rejects never. */
  readonly afterCommit?: (tableRoot: string, committed: CommittedVersion) => Promise<void>;
  /** Changes of several tables at once that a process may have died in the middle of; absent where there are none. */
  readonly batches?: UnfinishedBatches;
}

/** What keeps a version from being committed in between the parts of a batch. */
export interface UnfinishedBatches {
  /** Whether there is any; called under a table's lock. */
  present(): Promise<boolean>;
  /** Brings them to an end; called without a lock, as it takes those of the tables concerned. */
  settle(signal?: AbortSignal): Promise<void>;
}

export interface CommitOptions {
  /** Schema metadata of an overwrite. */
  readonly schemaMetadata?: ReadonlyMap<string, Uint8Array>;
  /** Ends the wait for the lock; a commit that has begun goes through. */
  readonly signal?: AbortSignal;
  /** Called under the lock, before anything is written; what it throws ends the commit. */
  readonly verify?: () => Promise<void>;
}

export interface CreationOptions extends CommitOptions {
  /** Data format of the new table, e.g. `2.2`. */
  readonly dataFormatVersion: string;
  readonly scheme: NamingScheme;
  /** Nobody else can know of the directory yet: there is nothing to look for, and its lock is not taken. */
  readonly unshared?: boolean;
}

/** A version that is there for good. */
export interface CommittedVersion extends VersionEntry {
  readonly manifest: Manifest;
  readonly file: ManifestFile;
}

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
const FIRST_BACKOFF_MS = 1;
const MAX_BACKOFF_MS = 50;
/** Up to so many versions in between are opened by their numbers; beyond, the directory is listed. */
const MAX_PROBED_VERSIONS = 64;

/**
 * Commits a change to a table that exists. Where the transaction was planned on an older version it is rebased,
 * unless what came in between stands against it.
 * @param tableRoot directory of the table or branch
 * @throws ConcurrentModificationError where the change conflicts, or lost too many races
 * @throws TableNotFoundError where the table has no versions; TableVersionNotFoundError for a restore of none
 * @throws PublishUncertainError where the version may or may not be there: its files must stay
 */
export async function commitTransaction(
  environment: TableEnvironment,
  tableRoot: string,
  transaction: Transaction,
  options: CommitOptions = {},
): Promise<CommittedVersion> {
  const lock = { ...environment.lock, signal: options.signal ?? environment.lock.signal };
  const attempts = new Attempts(environment, tableRoot, transaction);
  const committed = await withMissingAsNotFound(tableRoot, () =>
    attempts.orForget(async () => {
      await attempts.writeAhead();
      return withTableLock(environment, tableRoot, lock, async (lease) => {
        for (let attempt = 1; ; attempt++) {
          const latest = await findLatestVersion(environment.disk, tableRoot);
          if (latest === null) throw new TableNotFoundError(`there is no table at ${tableRoot}`);
          await options.verify?.();
          const committed = await attempts.tryOver(latest, lease, options);
          if (committed !== null) return committed;
          if (attempt === MAX_ATTEMPTS) {
            throw new ConcurrentModificationError(
              `${tableRoot}: another writer won ${attempt} races in a row`,
            );
          }
          await backOff(attempt);
        }
      });
    }),
  );
  await environment.afterCommit?.(tableRoot, committed);
  return committed;
}

/**
 * Commits a change that is asked for of the table as it now is, whichever version that be: planned on the latest
 * version and, where one that comes in between stands against it, planned again on that.
 * @param plan what to commit over the version given, or null where there is nothing to do; a TransactionConflictError
 *   says that the version was overtaken while it was planned on, and is followed by another round
 * @returns null where there was nothing to do
 * @throws what `plan` throws and {@link commitTransaction} throws; ConcurrentModificationError where others keep
 *   getting in between
 */
export async function commitPlanned<Plan extends PlannedChange>(
  environment: TableEnvironment,
  tableRoot: string,
  plan: (base: TableVersion) => Promise<Plan> | Plan,
  options?: CommitOptions,
): Promise<CommittedPlan<Plan>>;
export async function commitPlanned<Plan extends PlannedChange>(
  environment: TableEnvironment,
  tableRoot: string,
  plan: (base: TableVersion) => Promise<Plan | null> | Plan | null,
  options?: CommitOptions,
): Promise<CommittedPlan<Plan> | null>;
export async function commitPlanned<Plan extends PlannedChange>(
  environment: TableEnvironment,
  tableRoot: string,
  plan: (base: TableVersion) => Promise<Plan | null> | Plan | null,
  options: CommitOptions = {},
): Promise<CommittedPlan<Plan> | null> {
  for (let round = 1; ; round++) {
    options.signal?.throwIfAborted();
    const base = await readLatest(environment, tableRoot);
    let planned: Plan | null = null;
    const verify = async () => {
      await refuseReplaced(environment, tableRoot, base);
      await options.verify?.();
    };
    try {
      planned = await plan(base);
      if (planned === null) return null;
      const committed = await commitTransaction(environment, tableRoot, planned.transaction, {
        ...options,
        verify,
      });
      return { committed, plan: planned };
    } catch (error) {
      // A version that may be there needs its files.
      if (error instanceof PublishUncertainError) throw error;
      // What can't be removed is an orphan that nothing refers to.
      await planned?.discard?.().catch(() => undefined);
      if (!(error instanceof TransactionConflictError) || round === MAX_PLANS) throw error;
    }
    await backOff(round);
  }
}

async function readLatest(environment: TableEnvironment, tableRoot: string): Promise<TableVersion> {
  for (let attempt = 1; ; attempt++) {
    const entry = await findLatestVersion(environment.disk, tableRoot);
    if (entry === null) throw new TableNotFoundError(`there is no table at ${tableRoot}`);
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
 * A table made anew under the name of one that was dropped counts its versions from 1 again; what was planned on
 * the one is not for the other.
 */
async function refuseReplaced(
  environment: TableEnvironment,
  tableRoot: string,
  base: TableVersion,
): Promise<void> {
  const current = await environment.manifests.read(environment.disk, base.file.path);
  // A version that is gone while newer ones follow was cleaned up; the commit sees to those.
  if (current === null || isSameManifest(current, base.file)) return;
  throw new TransactionConflictError("incompatible", `${tableRoot}: the table was replaced by another`);
}

/**
 * Commits the first version of a table; its directory is made. Null where the table has versions already, or
 * somebody else was first.
 * @param transaction an overwrite
 * @throws ConcurrentModificationError where the directory is dropped meanwhile
 * @throws PublishUncertainError where the version may or may not be there: its files must stay
 */
export async function commitCreation(
  environment: TableEnvironment,
  tableRoot: string,
  transaction: Transaction,
  options: CreationOptions,
): Promise<CommittedVersion | null> {
  await environment.disk.makeDirectory(versionsDirectory(tableRoot));
  if (options.unshared === true) {
    await options.verify?.();
    return new Attempts(environment, tableRoot, transaction).tryCreate(UNSHARED_LEASE, options);
  }
  const lock = { ...environment.lock, signal: options.signal ?? environment.lock.signal };
  try {
    return await withTableLock(environment, tableRoot, lock, async (lease) => {
      if ((await findLatestVersion(environment.disk, tableRoot)) !== null) return null;
      await options.verify?.();
      return new Attempts(environment, tableRoot, transaction).tryCreate(lease, options);
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
 * @throws PublishUncertainError where the version may or may not be there: its files must stay
 */
export async function commitSuccessor(
  environment: TableEnvironment,
  tableRoot: string,
  base: VersionEntry,
  transaction: Transaction,
  lease: LockLease,
): Promise<CommittedVersion | null> {
  const attempts = new Attempts(environment, tableRoot, transaction, { rewritesTable: true });
  return attempts.tryOver(base, lease, {});
}

/**
 * Holds a table's lock while no batch is unfinished: one that its process left half done has versions yet to publish,
 * whose numbers nobody else may take.
 */
export async function withTableLock<T>(
  environment: TableEnvironment,
  tableRoot: string,
  lock: LockOptions,
  work: (lease: LockLease) => Promise<T>,
): Promise<T> {
  const { batches } = environment;
  for (;;) {
    const outcome = await withLock(tableRoot, lock, async (lease) =>
      (await batches?.present()) ? null : { value: await work(lease) },
    );
    if (outcome !== null) return outcome.value;
    await batches?.settle(lock.signal);
  }
}

/** A table dropped before we got its lock looks like a missing directory. */
async function withMissingAsNotFound<T>(tableRoot: string, commit: () => Promise<T>): Promise<T> {
  try {
    return await commit();
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new TableNotFoundError(`there is no table at ${tableRoot}`, { cause: error });
  }
}

const backOff = (attempt: number): Promise<void> =>
  new Promise((resolve) => {
    const limit = Math.min(FIRST_BACKOFF_MS * 2 ** attempt, MAX_BACKOFF_MS);
    setTimeout(resolve, limit * (0.5 + Math.random() / 2));
  });

/** The attempts of one commit: what they share is the transaction, its file, and what was checked already. */
class Attempts {
  readonly #environment: TableEnvironment;
  readonly #tableRoot: string;
  readonly #transaction: Transaction;
  readonly #transactionBytes: Uint8Array;
  /** Nothing is kept from the version before but the table's settings; see {@link commitSuccessor}. */
  readonly #rewritesTable: boolean;
  /** Versions up to this one do not stand against the transaction. */
  #checkedUpTo: number;
  /** Fields that the transaction names and one of those versions does not have. */
  readonly #droppedFields = new Set<number>();
  #transactionFileWritten = false;

  constructor(
    environment: TableEnvironment,
    tableRoot: string,
    transaction: Transaction,
    { rewritesTable = false } = {},
  ) {
    this.#environment = environment;
    this.#rewritesTable = rewritesTable;
    this.#tableRoot = tableRoot;
    this.#transaction = transaction;
    this.#transactionBytes = TransactionMessage.encode(transaction);
    this.#checkedUpTo = transaction.readVersion;
  }

  /** Null where another writer took the number. */
  async tryOver(
    latest: VersionEntry,
    lease: LockLease,
    options: CommitOptions,
  ): Promise<CommittedVersion | null> {
    const base = await readManifestAt(this.#environment, latest);
    // Dropped, or dropped and made anew, since it was found.
    if (base === null) throw new TableNotFoundError(`there is no table at ${this.#tableRoot}`);
    checkWriterFlags(base.manifest, latest.path);
    await this.#checkConflicts(latest);
    const content = applyTransaction(base, this.#transaction, {
      version: latest.version + 1,
      nowNs: currentNs(),
      schemaMetadata: this.#rewritesTable ? base.manifest.schemaMetadata : options.schemaMetadata,
      restored: await this.#restored(),
      rewritesTable: this.#rewritesTable,
    });
    return this.#publish(content, latest.scheme, lease);
  }

  async tryCreate(lease: LockLease, options: CreationOptions): Promise<CommittedVersion | null> {
    return this.orForget(async () => {
      await this.#environment.disk.makeDirectory(transactionsDirectory(this.#tableRoot));
      const content = applyTransaction(null, this.#transaction, {
        version: 1,
        nowNs: currentNs(),
        schemaMetadata: options.schemaMetadata,
        dataFormatVersion: options.dataFormatVersion,
      });
      return this.#publish(content, options.scheme, lease);
    });
  }

  /** Takes the transaction file away again, unless the version is there or may be. */
  async orForget<Committed extends CommittedVersion | null>(
    attempt: () => Promise<Committed>,
  ): Promise<Committed> {
    try {
      const committed = await attempt();
      if (committed === null) await this.#removeTransactionFile();
      return committed;
    } catch (error) {
      if (!(error instanceof PublishUncertainError)) await this.#removeTransactionFile();
      throw error;
    }
  }

  async #publish(
    content: VersionContent,
    scheme: NamingScheme,
    lease: LockLease,
  ): Promise<CommittedVersion | null> {
    const { disk, manifests } = this.#environment;
    const { version } = content.manifest;
    if (!Number.isSafeInteger(version)) throw new UnsupportedError("version numbers end at 2^53 - 1");
    const encoded = encodeManifestFile({ ...content, transactionBytes: this.#transactionBytes });
    await this.#writeTransactionFile().catch(async (error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
      await disk.makeDirectory(transactionsDirectory(this.#tableRoot));
      await this.#writeTransactionFile();
    });
    const directory = versionsDirectory(this.#tableRoot);
    const name = manifestName(version, scheme);
    const published = await createExclusive(disk, directory, name, encoded.chunks, {
      lockedRename: !lease.compromised,
    });
    if (!published) return null;
    const path = join(directory, name);
    const { manifest, byteLength } = encoded;
    const file = new ManifestFile(
      path,
      manifest,
      manifest,
      content.indexSectionBytes,
      this.#transactionBytes,
      byteLength,
    );
    await writeHint(disk, this.#tableRoot, version, { isFirst: version === 1 });
    await manifests.remember(disk, path, file);
    return { version, scheme, path, manifest, file };
  }

  /** @throws ConcurrentModificationError where a version since the one read stands against the transaction */
  async #checkConflicts(latest: VersionEntry): Promise<void> {
    if (operationOf(this.#transaction).kind === "restore") return;
    if (this.#checkedUpTo > latest.version) {
      throw new ConcurrentModificationError(
        `${this.#tableRoot}: version ${this.#checkedUpTo}, on which the change is based, is gone`,
      );
    }
    let missing = latest.version - this.#checkedUpTo;
    for (const entry of await this.#versionsSince(latest)) {
      const file = await readManifestAt(this.#environment, entry);
      if (file === null) continue;
      missing--;
      const other = await readTransaction(this.#environment.disk, this.#tableRoot, file);
      const verdict = other === null ? "incompatible" : checkConflict(this.#transaction, other);
      if (verdict === "ok") {
        // Fields are decoded along with all fragments: not where they are those of the version before.
        if (other !== null && !keepsFields(other)) this.#refuseReusedFields(entry, file);
        continue;
      }
      const mine = operationOf(this.#transaction).kind;
      const theirs = other === null ? "a change without a record" : operationOf(other).kind;
      throw new TransactionConflictError(
        verdict,
        verdict === "retryable"
          ? `${this.#tableRoot}: version ${entry.version} (${theirs}) preempted this ${mine}; please retry`
          : `${this.#tableRoot}: this ${mine} is incompatible with version ${entry.version} (${theirs})`,
      );
    }
    if (missing > 0) await this.#requireSkipped(missing, latest);
    this.#checkedUpTo = latest.version;
  }

  /** @throws TransactionConflictError where a field that the transaction names was dropped, and its id given to another */
  #refuseReusedFields({ version }: VersionEntry, file: ManifestFile): void {
    const present = new Set(file.manifest.fields.map((field) => field.id));
    for (const id of namedFields(this.#transaction)) {
      if (!present.has(id)) this.#droppedFields.add(id);
      else if (this.#droppedFields.has(id)) {
        throw new TransactionConflictError(
          "retryable",
          `${this.#tableRoot}: since version ${version}, field ${id} is another than the one meant; please retry`,
        );
      }
    }
  }

  /** Where the versions after those checked are, up to the latest; some of them may be gone. */
  async #versionsSince(latest: VersionEntry): Promise<VersionEntry[]> {
    const first = this.#checkedUpTo + 1;
    const count = latest.version - this.#checkedUpTo;
    if (count <= MAX_PROBED_VERSIONS) {
      return Array.from({ length: count }, (_, index) =>
        entryOf(this.#tableRoot, first + index, latest.scheme),
      );
    }
    const all = await listVersions(this.#environment.disk, this.#tableRoot);
    return all.filter((entry) => entry.version >= first && entry.version <= latest.version);
  }

  /** @throws TransactionConflictError where more versions are missing than numbers were skipped */
  async #requireSkipped(missing: number, latest: VersionEntry): Promise<void> {
    const gap = await readGap(this.#environment.disk, this.#tableRoot);
    const first = this.#checkedUpTo + 1;
    const skipped =
      gap === null ? 0 : Math.min(gap.to - 1, latest.version) - Math.max(gap.from + 1, first) + 1;
    if (missing <= Math.max(skipped, 0)) return;
    throw new TransactionConflictError(
      "retryable",
      `${this.#tableRoot}: versions since ${this.#checkedUpTo} are gone, and what they changed is unknown`,
    );
  }

  async #restored(): Promise<VersionContent | undefined> {
    const operation = operationOf(this.#transaction);
    if (operation.kind !== "restore") return undefined;
    const entry = await findVersion(this.#environment.disk, this.#tableRoot, operation.value.version);
    const file = entry && (await readManifestAt(this.#environment, entry));
    if (entry === null || file === null) {
      throw new TableVersionNotFoundError(`${this.#tableRoot} has no version ${operation.value.version}`);
    }
    checkReaderFlags(file.manifest, entry.path);
    checkWriterFlags(file.manifest, entry.path);
    return file;
  }

  /** Writes what can be written before the lock is held: the shorter that is, the sooner others get it. */
  async writeAhead(): Promise<void> {
    try {
      await this.#writeTransactionFile();
    } catch (error) {
      // The table was dropped, or never had the directory: which of the two shows under the lock.
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }

  /**
   * Not synced: the manifest holds the same bytes, so the version can be read without this file. Its directory is the
   * caller's to make.
   */
  async #writeTransactionFile(): Promise<void> {
    if (this.#transactionFileWritten || this.#rewritesTable) return;
    const path = join(transactionsDirectory(this.#tableRoot), fileNameOf(this.#transaction));
    this.#transactionFileWritten = true;
    const handle = await this.#environment.disk.create(path).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") this.#transactionFileWritten = false;
      throw error;
    });
    try {
      await handle.write([this.#transactionBytes]);
    } finally {
      await handle.close();
    }
  }

  /** What it leaves when it fails is a file that nothing refers to. */
  async #removeTransactionFile(): Promise<void> {
    if (!this.#transactionFileWritten) return;
    this.#transactionFileWritten = false;
    const path = join(transactionsDirectory(this.#tableRoot), fileNameOf(this.#transaction));
    await this.#environment.disk.remove(path).catch(() => undefined);
  }
}

const currentNs = (): bigint => BigInt(Date.now()) * 1_000_000n;
