/**
 * Finds the version that a transaction made, by the transaction's id. The transaction's file in `_transactions` names
 * the version it was planned on. The search goes through the versions from that one on, of which it mostly needs only
 * one. A file proves nothing by itself: failed commits leave some behind.
 */

import type { Transaction } from "../../format/table.js";
import type { Disk } from "../../io/disk/disk.js";
import { listBranches } from "../refs/branches.js";
import { branchRoot } from "../refs/refs.js";
import type { ManifestFile } from "../versions/manifest.js";
import { type ManifestCache, readManifestAt } from "../versions/manifestCache.js";
import { parseTransactionFileName, transactionsDirectory } from "../versions/paths.js";
import { listVersions } from "../versions/versions.js";
import { readTransaction } from "./transaction.js";

/** A transaction and the version it made. */
export interface CommittedTransaction {
  readonly transaction: Transaction;
  /** Null is the main branch. */
  readonly branch: string | null;
  readonly version: number;
  readonly file: ManifestFile;
}

export interface LookupOptions {
  /**
   * Reads the manifests of all versions, newest first, where no transaction file leads to the version: a caller that
   * publishes staged manifests need not write one.
   */
  readonly thorough: boolean;
  readonly signal?: AbortSignal;
}

interface Environment {
  readonly disk: Disk;
  readonly manifests: ManifestCache;
}

/**
 * The transaction with the given id, on any branch of the table; null where no version that it made exists (any
 * more).
 * @param mainRoot directory of the table
 * @param id hyphenated, in lower case
 * @throws CorruptFileError, UnsupportedError for a file that the search needs and can't read
 */
export async function findTransaction(
  environment: Environment,
  mainRoot: string,
  id: string,
  options: LookupOptions,
): Promise<CommittedTransaction | null> {
  const branches = [null, ...(await listBranches(environment.disk, mainRoot))];
  for (const branch of branches) {
    const planned = await findPlanned(environment.disk, branchRoot(mainRoot, branch ?? undefined), id);
    const found = planned && (await findVersionOf(environment, mainRoot, branch, id, planned, options));
    if (found !== null) return found;
  }
  if (!options.thorough) return null;
  for (const branch of branches) {
    const found = await findVersionOf(environment, mainRoot, branch, id, null, options);
    if (found !== null) return found;
  }
  return null;
}

/** The version that a transaction file of this id names as the one planned on; null where there is no such file. */
async function findPlanned(disk: Disk, tableRoot: string, id: string): Promise<{ version: number } | null> {
  for (const { name } of (await disk.list(transactionsDirectory(tableRoot))) ?? []) {
    const parsed = parseTransactionFileName(name);
    if (parsed?.uuid === id) return { version: parsed.readVersion };
  }
  return null;
}

/** @param planned the version that the transaction was planned on; null where that is not known */
async function findVersionOf(
  environment: Environment,
  mainRoot: string,
  branch: string | null,
  id: string,
  planned: { readonly version: number } | null,
  { signal }: LookupOptions,
): Promise<CommittedTransaction | null> {
  const tableRoot = branchRoot(mainRoot, branch ?? undefined);
  const entries = await listVersions(environment.disk, tableRoot);
  // A branch's first version has the number of the one it was made from.
  const candidates =
    planned === null ? entries.reverse() : entries.filter(({ version }) => version >= planned.version);
  for (const entry of candidates) {
    signal?.throwIfAborted();
    const file = await readManifestAt(environment, entry);
    if (file === null || !mayBeOf(file, id)) continue;
    const transaction = await readTransaction(environment.disk, tableRoot, file);
    if (transaction?.uuid === id) return { transaction, branch, version: entry.version, file };
  }
  return null;
}

const mayBeOf = (file: ManifestFile, id: string): boolean =>
  file.head.transactionFile.includes(id) || file.transaction?.uuid === id;
