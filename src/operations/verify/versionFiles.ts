/** Checks the versions of a branch: manifests, records of changes, the refs, and that files exist. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { lowerBound } from "../../bytes/search.js";
import { CorruptFileError } from "../../errors.js";
import type { DataFragment, IndexMetadata, Manifest } from "../../format/table.js";
import { hasLock } from "../../io/lock/lock.js";
import { join } from "../../platform/native.js";
import { decodeTransactionFile } from "../../table/commit/transaction.js";
import { readDeletions } from "../../table/fragments/deletions.js";
import { resolveDataFile, resolveIndexDirectory } from "../../table/fragments/fileLookup.js";
import { listBranches, readBranch } from "../../table/refs/branches.js";
import { unregisteredBranches } from "../../table/refs/branchRoots.js";
import { listTags, readTag } from "../../table/refs/tags.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { readManifestAnew } from "../../table/versions/openVersion.js";
import {
  branchDirectory,
  branchRefPath,
  isFileName,
  parseTransactionFileName,
  tagPath,
  transactionsDirectory,
  versionsDirectory,
} from "../../table/versions/paths.js";
import { branchAt, type TableAt } from "../../table/versions/tableAt.js";
import { indicesOf } from "../../table/versions/versionContent.js";
import { readGapFile } from "../../table/versions/versionGap.js";
import { readHint } from "../../table/versions/versionHint.js";
import { readVersionRecord } from "../../table/versions/versionRecord.js";
import { findVersion, listVersions, type VersionEntry } from "../../table/versions/versions.js";
import type { OperationContext } from "../context.js";
import type { Damages } from "./damages.js";
import { verifyWholeFile } from "./wholeFile.js";

/** Maximum size of a record of a change. */
const MAX_TRANSACTION_BYTES = 2 ** 30;

const FROM_OTHER_VERSION = "Other versions are readable; restore one of them to make it the latest.";
const FROM_BACKUP = "Restore the file from a backup, or restore a version that does not need it.";
const REBUILD = "Rows are not affected. Drop the index and create it again.";

/** Checks the branch of a table. Each file is read once, however many versions name it. */
export class VerifiedFiles {
  /** Versions whose own files have damage. */
  readonly damaged = new Set<number>();
  checkedVersions = 0;
  checkedFiles = 0;
  checkedBytes = 0;
  /** Result of each file, so that each version that names a damaged one counts as damaged. */
  readonly #isSound = new Map<string, boolean>();
  /** True if the version names a file that an earlier version found damaged. */
  #hasFailed = false;

  constructor(
    private readonly table: TableAt<OperationContext>,
    private readonly damages: Damages,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Lists the versions of the branch, and compares the latest with the hint. */
  async versions(): Promise<VersionEntry[]> {
    const entries = await listVersions(this.table);
    const latest = entries.at(-1)?.version ?? -1;
    const hint = await readHint(this.table);
    if (typeof hint === "number" && hint > latest) {
      const path = versionsDirectory(this.table.root);
      const message = `version ${hint} was committed, but its manifest does not exist`;
      this.damages.add({ kind: "missingFile", path, message, version: hint, remedy: FROM_OTHER_VERSION });
    }
    return entries;
  }

  /**
   * Looks for versions whose manifests are gone although nobody removed them: the record of their change is
   * there, and no note says that versions were removed.
   * @param named names of the records of all versions
   */
  async checkLostVersions(entries: readonly VersionEntry[], named: ReadonlySet<string>): Promise<void> {
    const { disk, root, branch } = this.table;
    const numbers = entries.map(({ version }) => version);
    const versions = new Set(numbers);
    /** Versions that are missing after one that is there, ascending. */
    const missing = Float64Array.from(numbers.map((each) => each + 1).filter((each) => !versions.has(each)));
    const latest = entries.at(-1)?.version ?? 0;
    const gap = await readGapFile(this.table);
    if (branch !== null || gap === "garbage") return;
    for (const { name } of (await disk.list(transactionsDirectory(root))) ?? []) {
      const parsed = parseTransactionFileName(name);
      if (parsed === null || named.has(name)) continue;
      // Others may have committed between the version that the change read and its own.
      const first = parsed.readVersion + 1;
      const version = versions.has(first) ? missing[lowerBound(missing, first)] : first;
      if (version >= latest || (gap !== null && version < gap.to)) continue;
      const message = `the manifest of version ${version} is missing, but the record of its change exists: ${name}`;
      const path = versionsDirectory(root);
      this.damages.add({ kind: "missingFile", path, message, version, remedy: FROM_OTHER_VERSION });
    }
  }

  /** Checks a version: its manifest, its record of the change, and all files that it names. */
  async checkVersion(entry: VersionEntry): Promise<ManifestFile | null> {
    const { version, path } = entry;
    this.checkedVersions++;
    const before = this.damages.count;
    this.#hasFailed = false;
    const part = { kind: "manifest", path, version, remedy: FROM_OTHER_VERSION } as const;
    const file = await this.damages.attempt(part, async () => {
      const read = await readManifestAnew(this.table.environment, entry);
      if (read === null) throw new CorruptFileError(path, 0, "the manifest is missing");
      // Decodes all parts.
      void [read.manifest, read.indexSection, read.transaction];
      return read;
    });
    if (file !== null) {
      this.checkedFiles++;
      this.checkedBytes += file.byteLength;
      await this.#checkRecord(entry, file);
      for (const fragment of file.manifest.fragments) await this.#checkFragment(file, fragment);
      for (const index of indicesOf(file)) await this.#checkIndexFiles(file, index);
    }
    if (this.damages.count > before || this.#hasFailed) this.damaged.add(version);
    return file;
  }

  async #checkRecord(entry: VersionEntry, file: ManifestFile): Promise<void> {
    const { transactionFile } = file.head;
    const path = join(transactionsDirectory(this.table.root), transactionFile);
    const remedy = "Rows are not affected: only the record of what the version changed is lost.";
    const part = { kind: "reference", path, version: entry.version, remedy } as const;
    await this.damages.attempt(part, async () => {
      await readVersionRecord(this.table, entry);
      if (transactionFile === "" || !isFileName(transactionFile)) return;
      // The file is read although the manifest may hold a copy.
      const bytes = await this.table.disk.readFile(path, MAX_TRANSACTION_BYTES);
      if (bytes !== null) {
        decodeTransactionFile(bytes, path);
      }
      // The records of inherited versions lie in the directory of their source.
      else if (this.table.branch === null && file.manifest.basePaths.length === 0) {
        throw new CorruptFileError(path, 0, "the record of the change is missing");
      }
    });
  }

  async #checkFragment(file: ManifestFile, fragment: DataFragment): Promise<void> {
    const { id: fragmentId, files, deletionFile } = fragment;
    for (const dataFile of files) {
      const part = { kind: "dataFile", path: dataFile.path, fragmentId, remedy: FROM_BACKUP } as const;
      await this.damages.attempt(part, async () => {
        const path = await resolveDataFile(this.table, file.manifest, dataFile);
        await this.#checkFile(path, dataFile.fileSizeBytes, { ...part, path });
      });
    }
    if (deletionFile === undefined) return;
    const key = `${fragmentId}|${deletionFile.readVersion}|${deletionFile.id}`;
    await this.#once(key, async () => {
      const remedy =
        "The fragment's rows are readable, but deleted ones cannot be told from others. Restore a version before the deletion.";
      const part = { kind: "deletionFile", path: this.table.root, fragmentId, remedy } as const;
      return (
        (await this.damages.attempt(part, () => readDeletions(this.table, file.manifest, fragment))) !== null
      );
    });
    await yieldToEventLoop();
  }

  async #checkIndexFiles({ manifest }: { readonly manifest: Manifest }, index: IndexMetadata): Promise<void> {
    const part = { kind: "index", path: this.table.root, indexName: index.name, remedy: REBUILD } as const;
    await this.damages.attempt(part, async () => {
      const directory = await resolveIndexDirectory(this.table, manifest, index);
      const present = await this.table.disk.list(directory);
      if (present === null && index.files.length > 0) {
        throw new CorruptFileError(directory, 0, "the directory of the index is missing");
      }
      const recorded = new Map(index.files.map(({ path, sizeBytes }) => [path, sizeBytes]));
      const names = new Set([...recorded.keys(), ...(present ?? []).map(({ name }) => name)]);
      for (const name of names) {
        if (!/\.(lance|idx)$/.test(name)) continue;
        const path = join(directory, name);
        await this.#checkFile(path, recorded.get(name) ?? 0, { ...part, path });
      }
    });
  }

  /** Reads a file, once. */
  async #checkFile(path: string, bytes: number, part: Parameters<Damages["attempt"]>[0]): Promise<void> {
    await this.#once(path, async () => {
      this.checkedFiles++;
      const checked = await this.damages.attempt(part, async () => {
        if ((await this.table.disk.stat(path)) === null)
          throw new CorruptFileError(path, 0, "the file is missing");
        return verifyWholeFile(this.table.environment, path, bytes, this.signal);
      });
      this.checkedBytes += checked ?? 0;
      return checked !== null;
    });
  }

  /** Does a check once; a failed one counts for each version that needs it. */
  async #once(key: string, check: () => Promise<boolean>): Promise<void> {
    const isSound = this.#isSound.get(key);
    if (isSound === undefined) this.#isSound.set(key, await check());
    else if (!isSound) this.#hasFailed = true;
  }
}

/** Checks the tags and branches of a table: that they can be read, and that their versions exist. */
export async function verifyRefs(table: TableAt<OperationContext>, damages: Damages): Promise<void> {
  const { mainRoot } = table;
  const main = branchAt(table, null);
  const lists = {
    kind: "reference",
    path: mainRoot,
    remedy: "Restore the directory _refs from a backup.",
  } as const;
  for (const tag of (await damages.attempt(lists, () => listTags(main))) ?? []) {
    const remedy = "Its version is not affected. Delete the tag and create it again.";
    await damages.attempt({ kind: "reference", path: tagPath(mainRoot, tag), remedy }, async () => {
      const content = await readTag(main, tag);
      if (content === null) return;
      const line = branchAt(table, content.branch);
      if ((await findVersion(line, content.version)) !== null) return;
      const path = tagPath(mainRoot, tag);
      throw new CorruptFileError(path, 0, `the tag names version ${content.version}, which does not exist`);
    });
  }
  for (const branch of (await damages.attempt(lists, () => listBranches(main))) ?? []) {
    const path = branchRefPath(mainRoot, branch);
    const remedy = "Its versions can be read in its directory below tree/.";
    await damages.attempt({ kind: "reference", path, remedy }, async () => {
      if ((await readBranch(main, branch)) === null) return;
      const versions = await listVersions(branchAt(table, branch));
      if (versions.length === 0) throw new CorruptFileError(path, 0, "the branch has no versions");
    });
  }
  await damages.attempt(lists, () => verifyBranchRoots(main, damages));
}

/** Looks for directories of branches that are not registered. */
async function verifyBranchRoots(main: TableAt<OperationContext>, damages: Damages): Promise<void> {
  const { mainRoot } = main;
  for (const branch of await unregisteredBranches(main)) {
    // A branch is made and deleted under this lock, by several steps.
    if (await hasLock(mainRoot, main.environment.lock)) {
      damages.skip(`branch ${branch}: it is being made or deleted`);
      continue;
    }
    const path = branchRefPath(mainRoot, branch);
    const directory = branchDirectory(mainRoot, branch);
    const message = `branch ${branch} has versions in ${directory}, but its file does not exist`;
    const remedy =
      "Restore the file from a backup. If the branch was deleted, a cleanup of the table removes the directory.";
    damages.add({ kind: "missingFile", path, message, remedy });
  }
}
