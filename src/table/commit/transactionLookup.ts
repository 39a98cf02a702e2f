/**
 * Finds the version that a transaction made, by the transaction's id. The transaction's file in
 * `_transactions` names the version that it was planned on. The search goes up from that version and mostly
 * reads only one. A file alone proves nothing, because failed commits leave some.
 */

import type { Transaction } from "../../format/table.js";
import { listBranches } from "../refs/branches.js";
import type { ManifestFile } from "../versions/manifest.js";
import { openVersion } from "../versions/openVersion.js";
import { parseTransactionFileName, transactionsDirectory } from "../versions/paths.js";
import { branchAt, type OpenVersion, type TableAt } from "../versions/tableAt.js";
import { listVersions, type VersionsAt } from "../versions/versions.js";
import { readTransaction, storesTransactionFiles } from "./transaction.js";

export interface CommittedTransaction extends OpenVersion {
  readonly transaction: Transaction;
}

export interface LookupOptions {
  /**
   * Also reads the manifests of all versions, newest first, if no transaction file leads to the version.
   * Callers that publish staged manifests need not write such a file. On a private disk no commit does, so
   * every search there is thorough.
   */
  readonly thorough: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Finds a transaction by id, on any branch of the table; null if no version that it made exists (any more).
 * @param id hyphenated, in lower case
 * @throws CorruptFileError or UnsupportedError for a file that the search needs and cannot read
 */
export async function findTransaction(
  table: TableAt,
  id: string,
  options: LookupOptions,
): Promise<CommittedTransaction | null> {
  const branches = [null, ...(await listBranches(table))].map((branch) => branchAt(table, branch));
  for (const branch of branches) {
    const planned = await findPlanned(branch, id);
    const version = planned && (await findVersionOf(branch, id, planned, options));
    if (version !== null) return version;
  }
  if (!options.thorough && storesTransactionFiles(table.disk)) return null;
  for (const branch of branches) {
    const version2 = await findVersionOf(branch, id, null, options);
    if (version2 !== null) return version2;
  }
  return null;
}

/** Returns the version that the transaction file names as its base; null if there is no such file. */
async function findPlanned(table: VersionsAt, id: string): Promise<{ version: number } | null> {
  for (const { name } of (await table.disk.list(transactionsDirectory(table.root))) ?? []) {
    const parsed = parseTransactionFileName(name);
    if (parsed?.uuid === id) return { version: parsed.readVersion };
  }
  return null;
}

/** @param planned version that the transaction was planned on; null if unknown */
async function findVersionOf(
  table: TableAt,
  id: string,
  planned: { readonly version: number } | null,
  { signal }: LookupOptions,
): Promise<CommittedTransaction | null> {
  const entries = await listVersions(table);
  // A branch's first version has the number of its source version.
  const candidates =
    planned === null ? entries.reverse() : entries.filter(({ version }) => version >= planned.version);
  for (const entry of candidates) {
    signal?.throwIfAborted();
    const open = await openVersion(table, entry);
    if (open === null || !mayBeOf(open.file, id)) continue;
    const transaction = await readTransaction(table, open.file);
    if (transaction?.uuid === id) return { ...open, transaction };
  }
  return null;
}

const mayBeOf = (file: ManifestFile, id: string): boolean =>
  file.head.transactionFile.includes(id) || file.transaction?.uuid === id;
