/**
 * Creates a branch. Under the lock of the table's refs:
 *
 *     clear the orphans in tree/<branch> ─ transaction file ─ first manifest ─ hint ─ createExclusive(ref)
 *
 * The ref decides: until it exists, there is no branch, even if files are in its directory. Such files come
 * from a crash of any engine, or from a deletion that a nested branch prevented. They belong to nobody, and
 * the next creation clears them. An engine that ignores the lock may create the same branch; only one of the
 * two gets the ref.
 */

import { ageOfChangeMs, performance } from "../../async/timers.js";
import {
  ConcurrentModificationError,
  CorruptFileError,
  TableBranchAlreadyExistsError,
  TableBranchNotFoundError,
  TableVersionNotFoundError,
  UnsupportedError,
} from "../../errors.js";
import { Clone, Transaction } from "../../format/table.js";
import { uriOn } from "../../io/disk/addresses.js";
import type { Disk, FileStat } from "../../io/disk/disk.js";
import type { LockLease } from "../../io/disk/locks.js";
import { LruCache } from "../../io/memory/cache.js";
import { createExclusive, PublishUncertainError, Removal, removeLeased } from "../../io/publish.js";
import { dirname, join } from "../../platform/native.js";
import {
  checkNewBranchName,
  type Lineage,
  listBranches,
  newBranchRef,
  ownParts,
  readBranch,
  refuseTwinDirectories,
} from "../refs/branches.js";
import { formatBranch } from "../refs/refNames.js";
import { encodeRefFile, lockRefs } from "../refs/refs.js";
import { requireWritable } from "../versions/flags.js";
import { ABSENT } from "../versions/identity.js";
import { findLatestVersion } from "../versions/latestVersion.js";
import { readManifestFile } from "../versions/manifest.js";
import { encodeManifestFile } from "../versions/manifestEncoder.js";
import { openVersion } from "../versions/openVersion.js";
import {
  branchesDirectory,
  branchRefName,
  branchRefPath,
  HINT_NAME,
  hasUniqueNames,
  hintPath,
  MANIFEST_SUFFIX,
  manifestPath,
  sideDirectory,
  transactionsDirectory,
  versionsDirectory,
} from "../versions/paths.js";
import { branchAt, type OpenVersion, type RefsAt, type TableAt } from "../versions/tableAt.js";
import { findVersion } from "../versions/versions.js";
import { applyTransaction, WRITER } from "./apply.js";
import { publishManifest } from "./publication.js";
import {
  COMMIT_MESSAGE_PROPERTY,
  encodeTransactionFile,
  fileNameOf,
  newTransaction,
  withProperty,
} from "./transaction.js";

/** Maximum milliseconds between the first manifest of a branch and its ref when another engine creates it. */
const FOREIGN_CREATION_MS = 5_000;
const MAX_WATCHED = 256;

/** When this process, by its own clock, first saw a manifest dated in the future: the clock was set back. */
const firstSeenMs = new LruCache<number>(MAX_WATCHED);

export interface BranchSource {
  /** Name of the branch; null for the main branch. */
  readonly branch: string | null;
  /** Number of the version; absent: the latest. */
  readonly version?: number;
}

interface OpenSource extends OpenVersion {
  readonly lineage: Lineage;
}

/**
 * Creates a branch.
 * @param table any branch of the table
 * @returns id of the transaction that made the first version
 * @throws InvalidInputError for an illegal name, or one whose directory would collide with another branch's
 * @throws TableBranchAlreadyExistsError; TableBranchNotFoundError or TableVersionNotFoundError if the source
 *   does not exist
 * @throws ConcurrentModificationError if another engine seems to be creating the same branch
 * @throws PublishUncertainError if the branch may exist
 */
export function createBranch(
  table: TableAt,
  branch: string,
  source: BranchSource,
  signal?: AbortSignal,
): Promise<string> {
  const { disk, mainRoot } = table;
  return lockRefs(table, signal, async (lease) => {
    const others = await listBranches(table);
    if (others.includes(branch)) throw taken(branch);
    checkNewBranchName(branch, others);
    await refuseTwinDirectories(table, branch);
    const opened = await openSource(table, source);
    const tableDirectory = branchAt(table, branch);
    await clearOrphans(tableDirectory, ownParts(branch, others), lease);
    const clone = Clone.create({
      isShallow: true,
      refName: opened.table.branch ?? undefined,
      refVersion: opened.version,
      refPath: uriOn(disk, opened.table.root),
      branchName: branch,
    });
    const transaction = withProperty(
      newTransaction(opened.version, "clone", clone),
      COMMIT_MESSAGE_PROPERTY,
      table.environment.commitMessage,
    );
    try {
      await writeFirstVersion(tableDirectory, opened, transaction, lease);
      await register(table, branch, opened, lease);
    } catch (error) {
      // The branch may exist, and then needs its files.
      const refPath = branchRefPath(mainRoot, branch);
      if (!(error instanceof PublishUncertainError && error.path === refPath)) {
        await removeFirstVersion(tableDirectory, opened, transaction, lease).catch(() => undefined);
      }
      throw error;
    }
    // Another engine's cleanup ignores the lock, and so does dropping the table.
    const current = await table.environment.manifests.read(disk, opened.path);
    if (current?.isCopyOf(opened.file) === true) return transaction.uuid;
    const removal = new Removal(disk, sideDirectory(mainRoot), mainRoot, lease);
    await removal.takeOut(branchRefPath(mainRoot, branch)).finally(() => removal.finish());
    await removeFirstVersion(tableDirectory, opened, transaction, lease);
    throw new TableVersionNotFoundError(
      `version ${opened.version} was removed while a branch was made from it`,
    );
  });
}

const taken = (branch: string): TableBranchAlreadyExistsError =>
  new TableBranchAlreadyExistsError(`branch ${branch} already exists`);

/**
 * Removes orphans from the directory of a new branch. Their writers are gone: a writer that takes the lock
 * does not hold it now, and another engine soon publishes the ref after the first manifest.
 * @throws ConcurrentModificationError if another engine's manifest is too young
 */
async function clearOrphans(
  { disk, root, mainRoot }: TableAt,
  parts: readonly string[],
  lease: LockLease,
): Promise<void> {
  if ((await disk.stat(root)) === null) return;
  const directory = versionsDirectory(root);
  for (const { name } of (await disk.list(directory)) ?? []) {
    if (!name.endsWith(MANIFEST_SUFFIX)) continue;
    const path = join(directory, name);
    const stat = await disk.stat(path);
    if (stat === null || !isYoung(path, stat) || (await isOurs(disk, path))) continue;
    throw new ConcurrentModificationError(
      "another engine seems to be making this branch, or failed to make it just now; please retry in a few seconds",
    );
  }
  const removal = new Removal(disk, sideDirectory(mainRoot), mainRoot, lease, hasUniqueNames);
  try {
    for (const part of parts) {
      const directory = join(root, part);
      if ((await disk.stat(directory)) !== null) await removal.takeOut(directory);
    }
  } finally {
    await removal.finish();
  }
}

/** Returns true if another engine may still be making a branch that begins with this manifest. */
function isYoung(path: string, { modifiedNs, identity }: FileStat): boolean {
  const ageMs = ageOfChangeMs(modifiedNs);
  if (ageMs > -FOREIGN_CREATION_MS) return ageMs < FOREIGN_CREATION_MS;
  const key = `${identity} ${path}`;
  const seenMs = firstSeenMs.peek(key) ?? performance.now();
  firstSeenMs.set(key, seenMs, 1);
  return performance.now() - seenMs < FOREIGN_CREATION_MS;
}

async function isOurs(disk: Disk, path: string): Promise<boolean> {
  try {
    const file = await readManifestFile(disk, path);
    return file === null || file.manifest.writerVersion?.library === WRITER.library;
  } catch (error) {
    if (error instanceof CorruptFileError) return false;
    throw error;
  }
}

async function openSource(table: TableAt, { branch, version }: BranchSource): Promise<OpenSource> {
  const parent = branch === null ? null : await readBranch(table, branch);
  if (branch !== null && parent === null) throw new TableBranchNotFoundError(`there is no branch ${branch}`);
  const lineage = parent === null ? [] : parent.lineage;
  if (lineage === null) {
    throw new UnsupportedError(
      `branch ${branch} was made by an old release and has no identifier, so it cannot be the source of a branch`,
    );
  }
  const tableDirectory = branchAt(table, branch);
  const { latestVersions } = tableDirectory.environment;
  const entry = await (version === undefined
    ? (latestVersions?.find(tableDirectory.root) ?? findLatestVersion(tableDirectory))
    : findVersion(tableDirectory, version));
  const open = entry && (await openVersion(tableDirectory, entry));
  if (open === null) {
    throw new TableVersionNotFoundError(`${formatBranch(branch)} has no version ${version ?? "yet"}`);
  }
  requireWritable(open.file.manifest, open.path);
  return { ...open, lineage };
}

async function writeFirstVersion(
  table: TableAt,
  source: OpenVersion,
  transaction: Transaction,
  lease: LockLease,
): Promise<void> {
  const { disk, root, mainRoot } = table;
  const content = applyTransaction(source.file, transaction, {
    version: source.version,
    nowNs: BigInt(Date.now()) * 1_000_000n,
  });
  const transactionBytes = Transaction.encode(transaction);
  const { chunks, fileAt } = encodeManifestFile({ ...content, transactionBytes });
  await lease.confirm();
  await disk.makeDirectory(versionsDirectory(root), mainRoot);
  await disk.makeDirectory(transactionsDirectory(root), mainRoot);
  const handle = await disk.create(join(transactionsDirectory(root), fileNameOf(transaction)));
  try {
    // Not synced: the manifest holds the same bytes.
    await handle.write(encodeTransactionFile(transactionBytes));
  } finally {
    await handle.close();
  }
  const publication = { version: source.version, scheme: source.scheme, chunks, fileAt };
  const terms = { lease, anchor: ABSENT, latest: null };
  if ((await publishManifest(table, publication, terms)) === null) {
    throw new ConcurrentModificationError("another writer is making the branch");
  }
}

async function register(
  { disk, mainRoot }: RefsAt,
  branch: string,
  { table, version, file, lineage }: OpenSource,
  lease: LockLease,
): Promise<void> {
  const directory = branchesDirectory(mainRoot);
  await disk.makeDirectory(directory, mainRoot);
  const ref = newBranchRef({ branch: table.branch, version, lineage, manifestSize: file.byteLength });
  if (!(await createExclusive(disk, directory, branchRefName(branch), [encodeRefFile(ref)], { lease }))) {
    throw taken(branch);
  }
}

/** Removes the files of a branch whose creation failed, and directories that this leaves empty. */
async function removeFirstVersion(
  { disk, root, mainRoot }: TableAt,
  source: OpenVersion,
  transaction: Transaction,
  lease: LockLease,
): Promise<void> {
  const versions = versionsDirectory(root);
  // Once the lock is lost, the file may be a successor's.
  const first = manifestPath(root, source.version, source.scheme);
  await removeLeased(disk, first, sideDirectory(mainRoot), mainRoot, lease);
  await lease.confirm();
  await disk.remove(join(transactionsDirectory(root), fileNameOf(transaction)));
  const left = (await disk.list(versions)) ?? [];
  if (left.every((entry) => entry.name === HINT_NAME)) await disk.remove(hintPath(root));
  const refs = branchesDirectory(mainRoot);
  const emptied = [transactionsDirectory(root), versions];
  for (let directory = root; directory.length > mainRoot.length; directory = dirname(directory)) {
    emptied.push(directory);
  }
  for (const directory of [...emptied, refs, dirname(refs)]) {
    await disk.removeEmptyDirectory(directory);
  }
}
