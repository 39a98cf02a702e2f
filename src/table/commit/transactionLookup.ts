/**
 * Finding the version that a transaction made, by the transaction's id. Its file in `_transactions` names the version
 * it was planned on, from which on versions are looked through, mostly one. A file proves nothing by itself: commits
 * that came to nothing leave some behind.
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
   * Reads the manifests of all versions, newest first, where no transaction file has the id: who publishes staged
   * manifests need not write one.
   */
  readonly thorough: boolean;
  readonly signal?: AbortSignal;
}

interface Environment {
  readonly disk: Disk;
  readonly manifests: ManifestCache;
}

/**
 * The transaction of an id, on whichever branch of the table it was made; null where no version of it is there (any
 * more).
 * @param mainRoot directory of the table
 * @param id hyphenated, in lower case
 * @throws CorruptFileError, UnsupportedError for what has to be looked at and can't be read
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

/** The version that a transaction file of this id says it was planned on; null where there is none. */
async function findPlanned(disk: Disk, tableRoot: string, id: string): Promise<{ version: number } | null> {
  for (const { name } of (await disk.list(transactionsDirectory(tableRoot))) ?? []) {
    const parsed = parseTransactionFileName(name);
    if (parsed?.uuid === id) return { version: parsed.readVersion };
  }
  return null;
}

/** @param planned what the transaction was planned on, or null where that is not known */
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
