/**
 * Makes the attempts of one commit. They share the transaction, its file and the list of checked versions.
 * Each attempt reads the latest version from the disk and publishes the manifest of the next one.
 */

import { lazyModule } from "../../async/lazy.js";
import { ConcurrentModificationError, TableVersionNotFoundError } from "../../errors.js";
import { type Transaction, Transaction as TransactionMessage } from "../../format/table.js";
import { codeOf } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/disk/locks.js";
import { join } from "../../platform/native.js";
import { type AcceptedLogs, refuseLogs } from "../versions/bufferedRows.js";
import { requireWritable } from "../versions/flags.js";
import { requireAnchor, type TableAnchor, TableReplacedError } from "../versions/identity.js";
import type { ManifestFile } from "../versions/manifest.js";
import { encodeManifestFile } from "../versions/manifestEncoder.js";
import { readManifestAnew, readManifestAt, readManifestOnce } from "../versions/openVersion.js";
import { type NamingScheme, transactionsDirectory } from "../versions/paths.js";
import type { OpenVersion, TableAt } from "../versions/tableAt.js";
import { isFrozenByLock } from "../versions/tableLock.js";
import type { VersionContent } from "../versions/versionContent.js";
import { readGap } from "../versions/versionGap.js";
import {
  type FoundVersion,
  findVersion,
  listVersions,
  type VersionEntry,
  versionEntry,
} from "../versions/versions.js";
import { applyTransaction } from "./apply.js";
import { TransactionConflictError } from "./conflictError.js";
import { onlyGainedFragments } from "./gainedFragments.js";
import { type PublicationTerms, publishManifest } from "./publication.js";
import {
  COMMIT_MESSAGE_PROPERTY,
  encodeTransactionFile,
  fileNameOf,
  operationOf,
  readTransaction,
  storesTransactionFiles,
  withProperty,
} from "./transaction.js";

// Most commits follow the version that they were planned on.
const conflicts = lazyModule(() => import("./conflict.js"));

/** Maximum number of versions in between that are probed one by one; for more, the directory is listed. */
const MAX_PROBED_VERSIONS = 64;

export interface CommitOptions {
  readonly schemaMetadata?: ReadonlyMap<string, Uint8Array>;
  /** Ends the wait for the lock. A commit that has begun is completed. */
  readonly signal?: AbortSignal;
  /** Returns true if this change must be planned again after a commit that the conflict table allows. */
  readonly mustSee?: (committed: Transaction) => boolean;
  /** Logs that the version to commit over may have. Default: none. */
  readonly logs?: AcceptedLogs;
  /** Called under the lock, right before the version is published. If it throws, the commit fails. */
  readonly verify?: () => Promise<void>;
}

export interface CreationOptions extends CommitOptions {
  /** Data format of the new table, e.g. `2.2`. */
  readonly dataFormatVersion: string;
  readonly stableRowIds?: boolean;
  readonly scheme: NamingScheme;
  /** True if nobody else knows the directory yet: the commit needs no lock and no look for versions. */
  readonly unshared?: boolean;
  /** True if the table's directory exists. */
  readonly directoryExists?: boolean;
  /** Version whose copy is the first version, under the same number. Default: none. */
  readonly cloned?: Pick<OpenVersion, "file" | "version">;
}

export class PreparedCommit {
  readonly table: TableAt;
  readonly #anchor: TableAnchor;
  readonly #transaction: Transaction;
  readonly #transactionBytes: Uint8Array;
  /** True if the commit keeps only the table's settings; see {@link commitSuccessor}. */
  readonly #rewritesTable: boolean;
  /** True if the transaction has no file. */
  readonly #isInline: boolean;
  /** Highest version that was checked and does not conflict. */
  #checkedUpTo: number;
  /** Fields that the transaction names and that one of the checked versions lacks. */
  readonly #droppedFields = new Set<number>();
  #transactionFileWritten = false;

  constructor(table: TableAt, anchor: TableAnchor, transaction: Transaction, { rewritesTable = false } = {}) {
    this.table = table;
    this.#rewritesTable = rewritesTable;
    this.#isInline = rewritesTable || !storesTransactionFiles(table.disk);
    this.#anchor = anchor;
    const { commitMessage } = table.environment;
    this.#transaction = withProperty(transaction, COMMIT_MESSAGE_PROPERTY, commitMessage);
    this.#transactionBytes = TransactionMessage.encode(this.#transaction);
    this.#checkedUpTo = transaction.readVersion;
  }

  /** Version that the transaction was planned on. */
  get readVersion(): number {
    return this.#transaction.readVersion;
  }

  /** Makes one attempt; returns null if another writer took the number, or the latest version has changed. */
  async tryOver(latest: FoundVersion, lease: LockLease, options: CommitOptions): Promise<OpenVersion | null> {
    const readManifest = isFrozenByLock(this.table) ? readManifestAt : readManifestAnew;
    const base = await readManifest(this.table.environment, latest);
    if (base === null) return null;
    await this.#requirePlannedOn(base);
    requireWritable(base.manifest, latest.path);
    await refuseLogs({ table: this.table, file: base }, options.logs ?? "none");
    await this.#checkConflicts(latest, base, options);
    const content = applyTransaction(base, this.#transaction, {
      version: latest.version + 1,
      nowNs: currentNs(),
      schemaMetadata: this.#rewritesTable ? base.manifest.schemaMetadata : options.schemaMetadata,
      restored: await this.#restored(),
      rewritesTable: this.#rewritesTable,
      isInline: this.#isInline,
    });
    return this.#publish(content, latest.scheme, { lease, latest: base, verify: options.verify });
  }

  /** Checks that the change was planned on this table. Commits of another table prove nothing. */
  async #requirePlannedOn(base: ManifestFile): Promise<void> {
    const anchor = this.#anchor;
    if (anchor.kind === "version" && anchor.base.path === base.path) {
      if (!base.isCopyOf(anchor.base.file)) throw new TableReplacedError(this.table.root);
      return;
    }
    await requireAnchor(this.table, anchor);
  }

  async tryCreate(lease: LockLease, options: CreationOptions): Promise<OpenVersion | null> {
    if (!this.#isInline) {
      await this.table.disk.makeDirectory(transactionsDirectory(this.table.root), this.table.root);
    }
    const { cloned } = options;
    const content = applyTransaction(cloned?.file ?? null, this.#transaction, {
      version: cloned?.version ?? 1,
      nowNs: currentNs(),
      schemaMetadata: options.schemaMetadata,
      dataFormatVersion: options.dataFormatVersion,
      stableRowIds: options.stableRowIds,
      isInline: this.#isInline,
    });
    return this.#publish(content, options.scheme, { lease, latest: null, verify: options.verify });
  }

  async #publish(
    content: VersionContent,
    scheme: NamingScheme,
    terms: Omit<PublicationTerms, "anchor">,
  ): Promise<OpenVersion | null> {
    const { disk } = this.table;
    const transactionBytes = this.#transactionBytes;
    const { manifest, chunks, fileAt } = encodeManifestFile({ ...content, transactionBytes });
    await this.#writeTransactionFile().catch(async (error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
      await disk.makeDirectory(transactionsDirectory(this.table.root), this.table.root);
      await this.#writeTransactionFile();
    });
    const publication = { version: manifest.version, scheme, chunks, fileAt, isUnique: true } as const;
    return publishManifest(this.table, publication, { ...terms, anchor: this.#anchor });
  }

  /**
   * @throws ConcurrentModificationError if a version committed after the one read conflicts with the
   *   transaction
   */
  async #checkConflicts(latest: VersionEntry, base: ManifestFile, { mustSee }: CommitOptions): Promise<void> {
    if (operationOf(this.#transaction).kind === "restore") return;
    if (this.#checkedUpTo > latest.version) {
      throw new ConcurrentModificationError(
        `${this.table.root}: version ${this.#checkedUpTo}, on which the change is based, no longer exists`,
      );
    }
    const schema = () => base.manifest.fields;
    let missing = latest.version - this.#checkedUpTo;
    if (missing === 0) return;
    if (missing > 1 && mustSee === undefined && this.#followsAppends(base)) {
      this.#checkedUpTo = latest.version;
      return;
    }
    const { checkConflict, keepsFields, namedFields } = await conflicts.get();
    for (const entry of await this.#versionsSince(latest)) {
      const isLatest = entry.version === latest.version;
      const file = isLatest ? base : await readManifestOnce(this.table.environment, entry);
      if (file === null) continue;
      missing--;
      const committed = await readTransaction(this.table, file);
      let verdict = committed === null ? "incompatible" : checkConflict(this.#transaction, committed, schema);
      if (verdict === "ok" && committed !== null && mustSee?.(committed) === true) verdict = "retryable";
      if (verdict === "ok") {
        // Reading the fields decodes all fragments, so this is skipped if the fields have not changed.
        if (committed !== null && !keepsFields(committed))
          this.#refuseReusedFields(entry, file, namedFields(this.#transaction));
        continue;
      }
      const mine = operationOf(this.#transaction).kind;
      const theirs = committed === null ? "a change without a transaction" : operationOf(committed).kind;
      throw new TransactionConflictError(
        verdict,
        verdict === "retryable"
          ? `${this.table.root}: version ${entry.version} (${theirs}) preempted this ${mine}; please retry`
          : `${this.table.root}: this ${mine} is incompatible with version ${entry.version} (${theirs})`,
      );
    }
    if (missing > 0) await this.#requireSkipped(missing, latest);
    this.#checkedUpTo = latest.version;
  }

  /** Returns true if this change appends rows, and the table only gained fragments since it was planned. */
  #followsAppends(base: ManifestFile): boolean {
    const anchor = this.#anchor;
    return (
      operationOf(this.#transaction).kind === "append" &&
      anchor.kind === "version" &&
      anchor.base.version === this.readVersion &&
      onlyGainedFragments(anchor.base.file, base)
    );
  }

  /**
   * @param named ids of the fields that the transaction names
   * @throws TransactionConflictError if one of them was dropped and its id given to another
   */
  #refuseReusedFields({ version }: VersionEntry, file: ManifestFile, named: ReadonlySet<number>): void {
    const present = new Set(file.manifest.fields.map((field) => field.id));
    for (const id of named) {
      if (!present.has(id)) this.#droppedFields.add(id);
      else if (this.#droppedFields.has(id)) {
        throw new TransactionConflictError(
          "retryable",
          `${this.table.root}: version ${version} gave the id ${id} of a dropped field to another field; please retry`,
        );
      }
    }
  }

  /** Lists the versions after the checked ones, up to the latest. Some of them may be gone. */
  async #versionsSince(latest: VersionEntry): Promise<VersionEntry[]> {
    const first = this.#checkedUpTo + 1;
    const count = latest.version - this.#checkedUpTo;
    if (count <= MAX_PROBED_VERSIONS) {
      return Array.from({ length: count }, (_, index) =>
        versionEntry(this.table.root, first + index, latest.scheme),
      );
    }
    const all = await listVersions(this.table);
    return all.filter((entry) => entry.version >= first && entry.version <= latest.version);
  }

  /** @throws TransactionConflictError if more versions are missing than numbers were skipped */
  async #requireSkipped(missing: number, latest: VersionEntry): Promise<void> {
    const gap = await readGap(this.table);
    const first = this.#checkedUpTo + 1;
    const skipped =
      gap === null ? 0 : Math.min(gap.to - 1, latest.version) - Math.max(gap.from + 1, first) + 1;
    if (missing <= Math.max(skipped, 0)) return;
    throw new TransactionConflictError(
      "retryable",
      `${this.table.root}: versions since ${this.#checkedUpTo} no longer exist, so their changes are unknown`,
    );
  }

  async #restored(): Promise<VersionContent | undefined> {
    const operation = operationOf(this.#transaction);
    if (operation.kind !== "restore") return undefined;
    const entry = await findVersion(this.table, operation.value.version);
    const file = entry && (await readManifestAt(this.table.environment, entry));
    if (entry === null || file === null) {
      throw new TableVersionNotFoundError(`${this.table.root} has no version ${operation.value.version}`);
    }
    requireWritable(file.manifest, entry.path);
    return file;
  }

  /** Writes the transaction file before the lock is taken, so that the lock is held for less time. */
  async writeAhead(): Promise<void> {
    try {
      await this.#writeTransactionFile();
    } catch (error) {
      // The table was dropped, or never had the directory; the next look under the lock tells which.
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }

  /** Writes the transaction file into an existing directory. No sync: the manifest has the same bytes. */
  async #writeTransactionFile(): Promise<void> {
    if (this.#transactionFileWritten || this.#isInline) return;
    const path = join(transactionsDirectory(this.table.root), fileNameOf(this.#transaction));
    this.#transactionFileWritten = true;
    const handle = await this.table.disk.create(path).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") this.#transactionFileWritten = false;
      throw error;
    });
    try {
      await handle.write(encodeTransactionFile(this.#transactionBytes));
    } finally {
      await handle.close();
    }
  }

  /** Removes the transaction file. Never rejects: nothing refers to a file that remains. */
  async removeTransactionFile(): Promise<void> {
    if (!this.#transactionFileWritten) return;
    this.#transactionFileWritten = false;
    const path = join(transactionsDirectory(this.table.root), fileNameOf(this.#transaction));
    await this.table.disk.remove(path).catch(() => undefined);
  }
}

const currentNs = (): bigint => BigInt(Date.now()) * 1_000_000n;
