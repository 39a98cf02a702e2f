/**
 * Removing old versions of a table or branch, and the files that nothing refers to any more.
 *
 * Kept are the latest version, those the policy keeps, those that tags name or that branches were made from, and every
 * file that any of them refers to, or any version of any branch: a branch reads what it inherited in its source's
 * directory. Tables cloned elsewhere are not known here, and lose what they share with a version that goes.
 *
 * Garbage is of two kinds. Files that a removed version referred to, and none that stays, are nobody's. Files that no
 * version refers to may belong to a commit that is being written; they stay until they are a week old, or the caller
 * vouches for there being no writer, and are removed under the lock only: under it, our own writers make sure that
 * their files are still there before they commit.
 *
 * Most of the work is reading manifests. It is done ahead, without the lock; under it only what is new since then is
 * read. Engines that don't take the lock cannot make a version refer to the files of one that is gone, and versions
 * are only ever taken from below the latest.
 */

import { join } from "node:path";
import { ConcurrentModificationError, InvalidTableStateError, TableNotFoundError } from "../errors.js";
import type { Disk, FileStat } from "../io/disk.js";
import { codeOf } from "../io/errno.js";
import { Breather } from "../io/eventLoop.js";
import type { LockLease } from "../io/lease.js";
import { withLock } from "../io/lock.js";
import { timestampMillis } from "./apply.js";
import { branchRoots } from "./branchRoots.js";
import { type TableEnvironment, withTableLock } from "./environment.js";
import { checkReaderFlags, checkWriterFlags } from "./flags.js";
import { type ManifestFile, readManifestFile } from "./manifest.js";
import { dataDirectory, deletionsDirectory, indicesDirectory, transactionsDirectory } from "./paths.js";
import { isPinned, type PinnedVersions, readPinnedVersions } from "./pinnedVersions.js";
import { ReferencedFiles } from "./referencedFiles.js";
import { branchRoot } from "./refs.js";
import { isOutdated, type RetentionPolicy } from "./retention.js";
import { forgetRetired, listRetired, type RetiredVersion, retireVersions } from "./retiredVersions.js";
import { listVersions, type VersionEntry } from "./versions.js";

export interface CleanupOptions extends RetentionPolicy {
  /** A version that stays whatever the policy says. */
  readonly keptVersion?: number;
  /** Files that no version refers to go at any age: nobody is writing to the table. */
  readonly deleteUnverified?: boolean;
  /** Tags on versions that the policy lets go are an error, rather than a reason to keep these. */
  readonly errorIfTagged?: boolean;
  /** Nothing goes but what versions leave behind that were taken away before. */
  readonly retiredOnly?: boolean;
  /** Milliseconds to wait for the table's lock. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

export interface CleanupResult {
  /** Of all files removed, manifests included. */
  readonly bytesRemoved: number;
  readonly versionsRemoved: number;
  /** Data files, and files of blobs beside them. */
  readonly dataFilesRemoved: number;
  readonly deletionFilesRemoved: number;
  readonly transactionFilesRemoved: number;
  readonly indexFilesRemoved: number;
}

/** Age from which a file that no version refers to is nobody's. */
const UNVERIFIED_MS = 7 * 24 * 60 * 60 * 1000;
/** Manifests read at once. */
const PARALLELISM = 16;

/**
 * @param mainRoot directory of the table
 * @param branch the branch to clean up; null is the main branch
 * @throws TableNotFoundError where there are no versions; InvalidTableStateError where tags are in the way and
 *   `errorIfTagged` is set
 * @throws UnsupportedError, CorruptFileError where a version can't be read, so that it is unknown what it needs
 */
export async function cleanUpVersions(
  environment: TableEnvironment,
  mainRoot: string,
  branch: string | null,
  options: CleanupOptions,
): Promise<CleanupResult> {
  const { waitMs, signal } = options;
  const cleanup = new Cleanup(environment.disk, mainRoot, branch, options);
  await cleanup.survey();
  const lock = {
    ...environment.lock,
    signal: signal ?? environment.lock.signal,
    ...(waitMs !== undefined && { waitMs }),
  };
  try {
    // The main branch's first, as for all changes of what refs point at.
    await withTableLock(environment, mainRoot, lock, (lease) => {
      if (branch === null) return cleanup.removeVersions([lease]);
      return withLock(cleanup.tableRoot, lock, (own) => cleanup.removeVersions([lease, own]));
    });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new TableNotFoundError(`${cleanup.tableRoot} was dropped during a cleanup`, { cause: error });
  }
  return cleanup.removeReleased();
}

/**
 * Removes the files of versions that were taken away before, and nothing else.
 * @throws what {@link cleanUpVersions} throws
 */
export const clearRetired = (
  environment: TableEnvironment,
  mainRoot: string,
  branch: string | null,
  options: Pick<CleanupOptions, "waitMs" | "signal"> = {},
): Promise<CleanupResult> =>
  cleanUpVersions(environment, mainRoot, branch, { ...options, retiredOnly: true });

/** The parts of a table's directory that garbage is looked for in. */
interface Area {
  readonly directoryOf: (tableRoot: string) => string;
  readonly names: keyof ReferencedFiles & ("data" | "deletions" | "transactions" | "indices");
  readonly files: RegExp | null;
  /** Directories that belong to a file, or are named like one; null where there are none. */
  readonly directories: { readonly name: RegExp; readonly content: RegExp; readonly suffix: string } | null;
}

const AREAS: readonly Area[] = [
  {
    directoryOf: dataDirectory,
    names: "data",
    files: /\.lance$/,
    // Blobs that lie beside a data file, in a directory of its name.
    directories: { name: /^/, content: /\.blob$/, suffix: ".lance" },
  },
  { directoryOf: deletionsDirectory, names: "deletions", files: /\.(arrow|bin)$/, directories: null },
  { directoryOf: transactionsDirectory, names: "transactions", files: /\.txn$/, directories: null },
  {
    directoryOf: indicesDirectory,
    names: "indices",
    files: null,
    directories: { name: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, content: /^/, suffix: "" },
  },
];

/** A file, or a directory of files that go together. */
interface FoundFile {
  readonly area: Area;
  readonly path: string;
  /** What versions know it by. */
  readonly name: string;
  readonly isDirectory: boolean;
}

/** One cleanup; its steps are called in their order. */
class Cleanup {
  readonly tableRoot: string;
  readonly #disk: Disk;
  readonly #mainRoot: string;
  readonly #branch: string | null;
  readonly #options: CleanupOptions;
  readonly #nowMs = Date.now();
  readonly #breather = new Breather();
  /** What versions that stay refer to. */
  readonly #needed = new ReferencedFiles();
  /** What versions that go, or went before, refer to. */
  readonly #released = new ReferencedFiles();
  /** Manifests that count among what is needed, by path and identity. */
  readonly #noted = new Set<string>();
  /** Versions taken away, by this cleanup or one that did not end. */
  readonly #retired: RetiredVersion[] = [];
  /** Versions that may go. */
  readonly #outdated = new Set<number>();
  /** When the oldest version was committed that stays for its age or number. */
  #earliestKeptMs = Number.POSITIVE_INFINITY;
  /** The latest version when the table was first looked at, by path and identity. */
  #firstLatest = "";
  readonly #removed = { data: 0, deletions: 0, transactions: 0, indices: 0, versions: 0, bytes: 0 };

  constructor(disk: Disk, mainRoot: string, branch: string | null, options: CleanupOptions) {
    this.#disk = disk;
    this.#mainRoot = mainRoot;
    this.#branch = branch;
    this.#options = options;
    this.tableRoot = branchRoot(mainRoot, branch ?? undefined);
  }

  /** Reads all versions and decides which may go. */
  async survey(): Promise<void> {
    const entries = await this.#listOwn();
    const pinned = await this.#pinned();
    const tagged: number[] = [];
    const latest = entries[entries.length - 1];
    this.#firstLatest = (await this.#identityOf(latest)) ?? "";
    const indexes = new Map(entries.map(({ version }, index) => [version, index]));
    // The latest has no successor yet.
    let followedMs = Number.POSITIVE_INFINITY;
    await this.#forEachVersion(entries.toReversed(), (file, { version, path }, key) => {
      if (version === latest.version) checkWriterFlags(file.manifest, path);
      const committedMs = timestampMillis(file.manifest);
      const newerCount = entries.length - 1 - (indexes.get(version) ?? 0);
      const outdated =
        this.#options.retiredOnly !== true &&
        version !== this.#options.keptVersion &&
        isOutdated({ followedMs, newerCount }, this.#options, this.#nowMs);
      followedMs = committedMs;
      if (!outdated) this.#earliestKeptMs = Math.min(this.#earliestKeptMs, committedMs);
      if (outdated && pinned.tags.has(version)) tagged.unshift(version);
      if (outdated && !isPinned(pinned, version)) {
        this.#outdated.add(version);
        this.#released.add(file);
      } else {
        this.#note(file, key);
      }
    });
    if (this.#options.errorIfTagged === true && tagged.length > 0) {
      throw new InvalidTableStateError(`tags keep versions ${tagged.join(", ")} from being cleaned up`);
    }
    await this.#noteOthers();
  }

  /** Takes the versions away, and the files that are nobody's. The locks are held. */
  async removeVersions(leases: readonly LockLease[]): Promise<void> {
    const entries = await this.#listOwn();
    await this.#refuseReplaced(entries);
    const pinned = await this.#pinned();
    const latest = entries[entries.length - 1];
    const isGoing = ({ version }: VersionEntry): boolean =>
      this.#outdated.has(version) && version !== latest.version && !isPinned(pinned, version);
    const going = entries.filter(isGoing);
    await this.#noteUnseen(entries.filter((entry) => !isGoing(entry)));
    await this.#noteOthers();
    await this.#releaseRetired(entries);
    this.#options.signal?.throwIfAborted();
    if (leases.some((lease) => lease.compromised)) {
      throw new ConcurrentModificationError(
        `${this.tableRoot}: the lock was lost before anything was removed`,
      );
    }
    this.#retired.push(...(await retireVersions(this.#disk, this.tableRoot, going, latest)));
    if (this.#options.retiredOnly === true) return;
    for await (const found of this.#found()) {
      if (this.#needed[found.area.names].has(found.name)) continue;
      if (this.#released[found.area.names].has(found.name)) continue;
      await this.#remove(found, (stats) => stats.every((stat) => this.#isAbandoned(stat)));
    }
  }

  /** Removes what the versions that went leave behind. No version can come to refer to it any more. */
  async removeReleased(): Promise<CleanupResult> {
    const { signal } = this.#options;
    const released = ({ area, name }: FoundFile): boolean =>
      this.#released[area.names].has(name) && !this.#needed[area.names].has(name);
    for await (const found of this.#found()) {
      signal?.throwIfAborted();
      if (released(found)) await this.#remove(found, () => true);
    }
    for (const { path, version } of this.#retired) {
      const stat = await this.#disk.stat(path);
      if (stat === null) continue;
      await forgetRetired(this.#disk, this.tableRoot, { path, version });
      this.#removed.bytes += stat.size;
      this.#removed.versions++;
    }
    const { bytes, versions, data, deletions, transactions, indices } = this.#removed;
    return {
      bytesRemoved: bytes,
      versionsRemoved: versions,
      dataFilesRemoved: data,
      deletionFilesRemoved: deletions,
      transactionFilesRemoved: transactions,
      indexFilesRemoved: indices,
    };
  }

  // ---------------------------------------------------------------------------------------------- versions

  async #listOwn(): Promise<VersionEntry[]> {
    const entries = await listVersions(this.#disk, this.tableRoot);
    if (entries.length > 0) return entries;
    throw new TableNotFoundError(`there is no table at ${this.tableRoot}`);
  }

  /** A table that was dropped and made anew since has other versions under the same numbers. */
  async #refuseReplaced(entries: readonly VersionEntry[]): Promise<void> {
    const [path] = this.#firstLatest.split("\0");
    const first = entries.find((entry) => entry.path === path);
    // One that is gone was cleaned up by another, as newer ones followed.
    if (first === undefined || (await this.#identityOf(first)) === this.#firstLatest) return;
    throw new ConcurrentModificationError(`${this.tableRoot}: the table was replaced during a cleanup`);
  }

  #pinned(): Promise<PinnedVersions> {
    return readPinnedVersions(this.#disk, this.#mainRoot, this.#branch);
  }

  /** Counts what the versions of all other branches refer to among what is needed. */
  async #noteOthers(): Promise<void> {
    const roots = await branchRoots(this.#disk, this.#mainRoot, UNVERIFIED_MS);
    for (const root of [this.#mainRoot, ...roots]) {
      if (root !== this.tableRoot) await this.#noteUnseen(await listVersions(this.#disk, root));
    }
  }

  async #noteUnseen(entries: readonly VersionEntry[]): Promise<void> {
    await this.#forEachVersion(entries, (file, _, key) => this.#note(file, key), this.#noted);
  }

  #note(file: ManifestFile, key: string): void {
    this.#needed.add(file);
    this.#noted.add(key);
  }

  /** Versions that a cleanup took away and did not live to clear up after. */
  async #releaseRetired(entries: readonly VersionEntry[]): Promise<void> {
    const live = new Set(entries.map(({ version }) => version));
    for (const path of await listRetired(this.#disk, this.tableRoot)) {
      const file = await readManifestFile(this.#disk, path);
      if (file === null) continue;
      const { version } = file.head;
      if (live.has(version)) {
        // Its way here was undone by a power cut. A second name of one file: to rename it again would do nothing.
        await this.#disk.remove(path);
      } else {
        this.#released.add(file);
        this.#retired.push({ path, version });
      }
    }
  }

  /** Calls `visit` with each version that is still there, in their order. */
  async #forEachVersion(
    entries: readonly VersionEntry[],
    visit: (file: ManifestFile, entry: VersionEntry, key: string) => void,
    except?: ReadonlySet<string>,
  ): Promise<void> {
    for (let start = 0; start < entries.length; start += PARALLELISM) {
      this.#options.signal?.throwIfAborted();
      await this.#breather.breathe();
      const read = await Promise.all(
        entries.slice(start, start + PARALLELISM).map(async (entry) => {
          const key = await this.#identityOf(entry);
          if (key === null || except?.has(key)) return null;
          const file = await readManifestFile(this.#disk, entry.path);
          return file && { file, entry, key };
        }),
      );
      for (const each of read) {
        if (each === null) continue;
        checkReaderFlags(each.file.head, each.entry.path);
        visit(each.file, each.entry, each.key);
      }
    }
  }

  async #identityOf({ path }: VersionEntry): Promise<string | null> {
    const stat = await this.#disk.stat(path);
    return stat && `${path}\0${stat.identity}`;
  }

  // ------------------------------------------------------------------------------------------------- files

  /** A file no version refers to, that nobody will commit any more. */
  #isAbandoned({ modifiedNs }: FileStat): boolean {
    const modifiedMs = Number(modifiedNs / 1_000_000n);
    if (modifiedMs >= this.#earliestKeptMs) return false;
    return this.#options.deleteUnverified === true || modifiedMs < this.#nowMs - UNVERIFIED_MS;
  }

  async *#found(): AsyncGenerator<FoundFile, void, undefined> {
    for (const area of AREAS) {
      const directory = area.directoryOf(this.tableRoot);
      for (const { name, kind } of (await this.#disk.list(directory)) ?? []) {
        await this.#breather.breathe();
        const path = join(directory, name);
        if (kind === "file" && area.files?.test(name)) yield { area, path, name, isDirectory: false };
        if (kind === "directory" && area.directories?.name.test(name)) {
          yield { area, path, name: name + area.directories.suffix, isDirectory: true };
        }
      }
    }
  }

  /** Removes a file, or a directory that holds nothing but files of the expected kind. */
  async #remove(found: FoundFile, mayGo: (stats: readonly FileStat[]) => boolean): Promise<void> {
    const { area, path, isDirectory } = found;
    const files = [path];
    if (isDirectory) {
      const inside = (await this.#disk.list(path)) ?? [];
      const expected = inside.every(
        ({ name, kind }) => kind === "file" && area.directories?.content.test(name),
      );
      if (!expected) return;
      files.splice(0, 1, ...inside.map(({ name }) => join(path, name)));
    }
    const statsOf = async (paths: readonly string[]): Promise<FileStat[]> =>
      (await Promise.all(paths.map((each) => this.#disk.stat(each)))).filter((stat) => stat !== null);
    const stats = await statsOf(files);
    // An empty directory may be one that a writer has just made: its own age tells.
    if (!mayGo(stats.length === 0 ? await statsOf([path]) : stats)) return;
    if (isDirectory) await this.#disk.removeTree(path);
    else await this.#disk.remove(path);
    this.#removed[area.names] += stats.length;
    for (const { size } of stats) this.#removed.bytes += size;
  }
}
