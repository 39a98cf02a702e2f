/**
 * Removes old versions of a table or branch, and the files that no version refers to.
 *
 * A cleanup keeps the latest version, the versions that the policy keeps, and those that tags or branches
 * need. It keeps every file that one of these, or any version of any branch, refers to: a branch reads
 * inherited files in its source's directory. A cleanup does not know tables that were cloned elsewhere. They
 * lose the files that they share with a removed version.
 *
 * There are three kinds of garbage:
 *
 * - Files to which only removed versions referred. Nobody needs them.
 * - Files to which no version refers. A commit may be writing them, so they stay until they are a week old or
 *   the caller vouches that there is no writer. They are removed only under the lock: under it, our writers
 *   check that their files still exist before they commit.
 * - Files of dead writers, which have names of their own (orphans.ts).
 *
 *     read manifests ─ lock ─ read new manifests ─ remove unreferenced files ─ set versions aside ─ unlock
 *          ─ remove their files
 *
 * Most of the work is reading manifests, which happens before the lock is taken. Under the lock, unreferenced
 * files go first, so that a full disk has room for the writes that precede the removal of versions. A version
 * that another engine commits without the lock cannot refer to the files of a removed one. Only versions
 * below the latest are ever removed.
 *
 * A holder may lose its lock while it is suspended. So each step that cannot be undone checks the lock first,
 * and each step that can be undone checks it again afterwards (retiredVersions.ts).
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { ageClockMs } from "../../async/timers.js";
import { ConcurrentModificationError, InvalidTableStateError } from "../../errors.js";
import type { FileStat } from "../../io/disk/disk.js";
import { codeOf, isDiskFull } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/disk/locks.js";
import { LeaseLostError, UNSHARED_LEASE } from "../../io/lock/lease.js";
import { type LockOptions, withLock } from "../../io/lock/lock.js";
import { OverruledError } from "../../io/publish.js";
import { branchRoots } from "../refs/branchRoots.js";
import { isPinned, type PinnedVersions, readPinnedVersions } from "../refs/pinnedVersions.js";
import { checkReaderFlags, checkWriterFlags } from "../versions/flags.js";
import { noteRemovedVersions } from "../versions/gapWriter.js";
import { TableGoneError } from "../versions/identity.js";
import { fileKey, type ManifestImage, ManifestReader } from "../versions/manifestImages.js";
import { branchAt, type TableAt } from "../versions/tableAt.js";
import { lockOptions, withTableLock } from "../versions/tableLock.js";
import { timestampMillis } from "../versions/versionAsOf.js";
import { listVersions, type VersionEntry } from "../versions/versions.js";
import { findFiles, RemovedFiles, removeNamedFile, syncRemovals } from "./namedFiles.js";
import { sweepOrphans } from "./orphans.js";
import { VersionFiles } from "./referencedFiles.js";
import { isOutdated, type RetentionPolicy } from "./retentionPolicy.js";
import {
  forgetHint,
  forgetReleased,
  listSetAside,
  putBackVersion,
  releaseVersions,
  retiredOf,
  retireVersions,
  type SetAsideVersion,
} from "./retiredVersions.js";

export interface CleanupOptions extends RetentionPolicy {
  /** Number of a version that stays, regardless of the policy. */
  readonly keptVersion?: number;
  /** Removes unreferenced files of any age: the caller vouches that nobody writes to the table. */
  readonly deleteUnverified?: boolean;
  /** Fails if the policy would remove a tagged version. Default: tagged versions stay. */
  readonly errorIfTagged?: boolean;
  /** Removes only the files of versions that were removed before. */
  readonly retiredOnly?: boolean;
  /** Milliseconds to wait for the table's lock. */
  readonly waitMs?: number;
  /** Rejects if the caller may remove nothing more. Called before each step that cannot be undone. */
  readonly hold?: () => Promise<void>;
  /** Receives the number of versions read so far, and their total. */
  readonly progress?: (done: number, total: number) => void;
  /** Aborts the cleanup until it removes the first version; after that, the cleanup is completed. */
  readonly signal?: AbortSignal;
}

export interface CleanupResult {
  /** Bytes of all removed files, manifests included. */
  readonly bytesRemoved: number;
  readonly versionsRemoved: number;
  /** Data files and the blob files beside them. */
  readonly dataFilesRemoved: number;
  readonly deletionFilesRemoved: number;
  readonly transactionFilesRemoved: number;
  readonly indexFilesRemoved: number;
  /** Temporary files, staged manifests and the like of dead writers. */
  readonly orphansRemoved: number;
}

/** Age from which an unreferenced file counts as abandoned. */
export const UNVERIFIED_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * Removes the versions and files that the options and refs do not keep.
 * @throws TableGoneError if there are no versions; InvalidTableStateError if `errorIfTagged` is set and a tag
 *   is in the way
 * @throws UnsupportedError or CorruptFileError if a version cannot be read, because it may need any file
 * @throws ConcurrentModificationError if another writer took the lock over
 */
export async function cleanUpVersions(table: TableAt, options: CleanupOptions): Promise<CleanupResult> {
  const removed = new RemovedFiles();
  let postponed = await cleanUpOnce(table, options, removed);
  for (let before = 0; postponed > 0 && removed.bytes > before; ) {
    before = removed.bytes;
    // The first pass made room for removing more. If this fails, the next cleanup removes the rest.
    const rest = { ...options, signal: undefined };
    postponed = await cleanUpOnce(table, rest, removed).catch(() => 0);
  }
  return cleanupResult(removed);
}

/** Returns what a cleanup tells of the files that it removed. */
export const cleanupResult = (removed: RemovedFiles): CleanupResult => ({
  bytesRemoved: removed.bytes,
  versionsRemoved: removed.versions,
  dataFilesRemoved: removed.data,
  deletionFilesRemoved: removed.deletions,
  transactionFilesRemoved: removed.transactions,
  indexFilesRemoved: removed.indices,
  orphansRemoved: removed.orphans,
});

/** @returns number of versions that stay only because the disk was full */
async function cleanUpOnce(table: TableAt, options: CleanupOptions, removed: RemovedFiles): Promise<number> {
  const main = branchAt(table, null);
  const lock = lockOptions(table.environment, options);
  const cleanup = new Cleanup({ table, options, lock, removed });
  await cleanup.survey();
  let postponed: number;
  let isLocked = false;
  const removeUnder = (...leases: LockLease[]) => {
    isLocked = true;
    const { hold } = options;
    return removeOnce(
      cleanup,
      hold === undefined ? leases : [...leases, { ...UNSHARED_LEASE, confirm: hold }],
    );
  };
  // Changes of versions that refs may name take the main branch's lock first.
  const remove = () =>
    withTableLock(main, options, (lease) =>
      table.branch === null
        ? removeUnder(lease)
        : withLock(table.root, lock, (branchLease) => removeUnder(lease, branchLease)),
    );
  try {
    postponed = await remove().catch(async (error: unknown) => {
      if (isLocked || !isDiskFull(error)) throw error;
      // On a disk that is full to the last block, not even a lock can be made.
      for (const each of [main, table]) await forgetHint(each);
      return remove();
    });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    if ((await table.disk.stat(table.root)) === null) throw new TableGoneError(table.root, { cause: error });
    // The temporary files are gone: a writer that took the lock over removed them.
    throw new ConcurrentModificationError(
      `${table.root}: another writer took over during a cleanup; please retry`,
      { cause: error },
    );
  }
  await cleanup.removeReleased();
  return postponed;
}

/**
 * Removes the files of versions that were removed before, and nothing else.
 * @throws the errors of {@link cleanUpVersions}
 */
export const clearRetired = (
  table: TableAt,
  options: Pick<CleanupOptions, "waitMs" | "signal"> = {},
): Promise<CleanupResult> => cleanUpVersions(table, { ...options, retiredOnly: true });

/** The table, options and counters of one cleanup. */
interface CleanupTask {
  readonly table: TableAt;
  readonly options: CleanupOptions;
  readonly lock: LockOptions;
  readonly removed: RemovedFiles;
}

/**
 * Removes versions. Does not start over if a lock was lost, because the survey is outdated then.
 * @throws ConcurrentModificationError if a lock was lost
 */
async function removeOnce(cleanup: Cleanup, leases: readonly LockLease[]): Promise<number> {
  try {
    return await cleanup.removeVersions(leases);
  } catch (error) {
    if (!(error instanceof LeaseLostError || error instanceof OverruledError)) throw error;
    throw new ConcurrentModificationError(error.message, { cause: error });
  }
}

/** One cleanup; its methods are called in their order. */
class Cleanup {
  readonly #table: TableAt;
  readonly #task: CleanupTask;
  readonly #options: CleanupOptions;
  /** Current time for the policy, which compares it with the times in manifests. */
  readonly #nowMs = Date.now();
  /** Current time for the age of uncommitted files; a clock that runs ahead does not make them old. */
  readonly #ageNowMs = ageClockMs();
  readonly #manifests: ManifestReader;
  readonly #files: VersionFiles;
  /** Keys (path and identity) of manifests whose files count as needed. */
  readonly #noted = new Set<string>();
  /** Paths of these manifests. */
  readonly #notedPaths = new Set<string>();
  /** Versions that may be removed, by path and identity of their manifests. */
  readonly #outdated = new Map<string, VersionEntry>();
  /** Unneeded versions that an interrupted cleanup retired and did not release. */
  readonly #retired: SetAsideVersion[] = [];
  /** Versions whose files are to be removed. */
  readonly #released: SetAsideVersion[] = [];
  /** Commit time of the oldest version that the policy or an option keeps. */
  #earliestKeptMs = Number.POSITIVE_INFINITY;

  constructor(task: CleanupTask) {
    this.#task = task;
    this.#table = task.table;
    this.#options = task.options;
    this.#manifests = new ManifestReader(task.table.disk);
    this.#files = new VersionFiles();
  }

  /** Reads all versions and decides which may be removed. */
  async survey(): Promise<void> {
    const entries = await this.#listVersions();
    const pinned = await this.#pinned();
    const tagged: number[] = [];
    const latest = entries[entries.length - 1];
    // The latest version has no successor yet.
    let followedMs = Number.POSITIVE_INFINITY;
    let newerCount = entries.length;
    let readCount = 0;
    const newerCounts = new Map(entries.map(({ version }) => [version, --newerCount]));
    await this.#manifests.forEach(entries.toReversed(), async (image, entry) => {
      this.#options.signal?.throwIfAborted();
      this.#options.progress?.(++readCount, entries.length);
      const { version, path } = entry;
      const { head } = image.file;
      checkReaderFlags(head, path);
      if (version === latest.version) checkWriterFlags(head, path);
      const committedMs = timestampMillis(head);
      const age = { followedMs, newerCount: newerCounts.get(version) ?? 0 };
      const outdated =
        this.#options.retiredOnly !== true &&
        version !== this.#options.keptVersion &&
        isOutdated(age, this.#options, this.#nowMs);
      followedMs = committedMs;
      if (!outdated) this.#earliestKeptMs = Math.min(this.#earliestKeptMs, committedMs);
      if (outdated && pinned.tags.has(version)) tagged.unshift(version);
      if (outdated && !isPinned(pinned, version)) {
        this.#outdated.set(image.key, entry);
        await this.#files.addReleased(image);
      } else {
        await this.#note(image, entry);
      }
    });
    if (this.#options.errorIfTagged === true && tagged.length > 0) {
      throw new InvalidTableStateError(`tags keep versions ${tagged.join(", ")} from being cleaned up`);
    }
    await this.#noteOthers();
  }

  /**
   * Removes the versions and the unreferenced files. The caller holds the locks.
   * @returns number of versions that stay only because the disk is full
   */
  async removeVersions(leases: readonly LockLease[]): Promise<number> {
    const confirm = async (): Promise<void> => {
      for (const lease of leases) await lease.confirm();
    };
    const entries = await this.#listVersions();
    const pinned = await this.#pinned();
    const going = await this.#pickGoing(entries, pinned);
    await this.#noteOthers();
    await this.#takeUpSetAside(entries, pinned, confirm);
    if (this.#options.retiredOnly !== true) await this.#removeUnreferenced(entries, confirm);
    this.#options.signal?.throwIfAborted();
    const guard = {
      confirm,
      readPinned: async () => {
        const needed = await this.#pinned();
        // Engines that ignore the lock may have committed versions meanwhile.
        await this.#noteNewVersions(going);
        return needed;
      },
    };
    await confirm();
    const { retired, postponed } = await retireVersions(this.#table, entries, going, guard, {
      partially: true,
    });
    this.#released.push(...(await releaseVersions(this.#table, [...this.#retired, ...retired])));
    await this.#noteUnreleased();
    return postponed;
  }

  /** Removes the files to which only removed versions referred. No later version can refer to them. */
  async removeReleased(): Promise<void> {
    const { removed } = this.#task;
    const { needed, released } = this.#files;
    if (this.#released.length === 0) return;
    for await (const namedFile of findFiles(this.#table)) {
      const { area, name } = namedFile;
      if (!released[area.names].has(name) || needed[area.names].has(name)) continue;
      await removeNamedFile(this.#table.disk, namedFile, removed, () => true);
    }
    // Without this, files could come back after a power cut, when their manifests are already gone.
    await syncRemovals(this.#table);
    await forgetReleased(this.#table, this.#released, removed);
  }

  // ---------------------------------------------------------------------------------------------- versions

  async #listVersions(): Promise<VersionEntry[]> {
    const entries = await listVersions(this.#table);
    await yieldToEventLoop();
    if (entries.length > 0) return entries;
    throw new TableGoneError(this.#table.root);
  }

  #pinned(): Promise<PinnedVersions> {
    return readPinnedVersions(this.#table);
  }

  async #note(image: ManifestImage, { path }: VersionEntry): Promise<void> {
    await this.#files.addNeeded(image);
    this.#noted.add(image.key);
    this.#notedPaths.add(path);
  }

  /** Counts the files of the versions as needed. */
  async #noteAll(entries: readonly VersionEntry[]): Promise<void> {
    await this.#manifests.forEach(entries, async (image, entry) => {
      checkReaderFlags(image.file.head, entry.path);
      await this.#note(image, entry);
    });
  }

  /** Counts the files of the versions as needed, unless their manifests were counted before. */
  async #noteUnseen(entries: readonly VersionEntry[]): Promise<void> {
    const unseen: VersionEntry[] = [];
    for (const entry of entries) {
      const key = await this.#keyOf(entry);
      if (key !== null && !this.#noted.has(key)) unseen.push(entry);
    }
    await this.#noteAll(unseen);
  }

  /** Counts the files of all other branches' versions as needed. */
  async #noteOthers(): Promise<void> {
    for (const root of await this.#otherRoots()) {
      await this.#noteUnseen(await listVersions({ disk: this.#table.disk, root }));
    }
  }

  async #otherRoots(): Promise<string[]> {
    const { mainRoot } = this.#table;
    const roots = [mainRoot, ...(await branchRoots(this.#table, UNVERIFIED_MS))];
    return roots.filter((root) => root !== this.#table.root);
  }

  /**
   * Picks the outdated versions to remove, and counts the files of all others as needed. A version whose
   * manifest was replaced after the survey stays.
   */
  async #pickGoing(entries: readonly VersionEntry[], pinned: PinnedVersions): Promise<Set<VersionEntry>> {
    const latest = entries[entries.length - 1];
    const going = new Set<VersionEntry>();
    const staying: VersionEntry[] = [];
    for (const entry of entries) {
      const key = await this.#keyOf(entry);
      if (key === null || this.#noted.has(key)) continue;
      const mayGo = this.#outdated.has(key) && entry !== latest && !isPinned(pinned, entry.version);
      if (mayGo) going.add(entry);
      else staying.push(entry);
    }
    await this.#noteAll(staying);
    return going;
  }

  /** Counts as needed the files of versions that appeared after the other versions were listed. */
  async #noteNewVersions(going: ReadonlySet<VersionEntry>): Promise<void> {
    const goingPaths = new Set(Array.from(going, ({ path }) => path));
    for (const root of [this.#table.root, ...(await this.#otherRoots())]) {
      const entries = await listVersions({ disk: this.#table.disk, root });
      await this.#noteAll(entries.filter(({ path }) => !this.#notedPaths.has(path) && !goingPaths.has(path)));
    }
  }

  /** Takes over versions that a dead cleanup set aside. Puts an unreleased, needed version back. */
  async #takeUpSetAside(
    entries: readonly VersionEntry[],
    pinned: PinnedVersions,
    confirm: () => Promise<void>,
  ): Promise<void> {
    const present = new Set(entries.map(({ version }) => version));
    const latest = entries[entries.length - 1];
    const setAside = await listSetAside(this.#table);
    await this.#manifests.forEach(setAside, async (image, aside) => {
      if (aside.state === "released") {
        await this.#files.addReleased(image);
        this.#released.push(aside);
      } else if (isPinned(pinned, aside.version) && !present.has(aside.version)) {
        await this.#note(image, aside);
        await confirm();
        await this.#putBack(aside, latest);
      } else {
        await this.#files.addReleased(image);
        this.#retired.push(aside);
      }
    });
  }

  async #putBack(aside: SetAsideVersion, latest: VersionEntry): Promise<void> {
    try {
      await noteRemovedVersions(this.#table, latest.version);
    } catch (error) {
      // The version keeps its files, and waits until there is room.
      if (isDiskFull(error)) return;
      throw error;
    }
    await putBackVersion(this.#table, aside);
  }

  /**
   * Counts the files of outdated versions as needed that this cleanup did not release. Such a version may
   * still exist: it was put back, or another process retired it and may put it back.
   */
  async #noteUnreleased(): Promise<void> {
    const released = new Set(this.#released.map(({ version }) => version));
    const missing = Array.from(this.#outdated.values()).filter(({ version }) => !released.has(version));
    for (const entry of missing) {
      const aside = retiredOf(this.#table.root, entry);
      // Between two looks it may be put back, but not retired again.
      let isThere = false;
      for (const candidate of [aside, entry, aside, entry]) {
        await this.#manifests.forEach([candidate], async (image) => {
          isThere = true;
          await this.#note(image, candidate);
        });
        if (isThere) break;
      }
    }
  }

  async #keyOf({ path }: VersionEntry): Promise<string | null> {
    const stat = await this.#table.disk.stat(path);
    return stat && fileKey(path, stat.identity);
  }

  // ------------------------------------------------------------------------------------------------- files

  /** Removes unreferenced files and orphans of dead writers. */
  async #removeUnreferenced(entries: readonly VersionEntry[], confirm: () => Promise<void>): Promise<void> {
    const { lock, removed } = this.#task;
    const versions = new Set(entries.map(({ version }) => version));
    for (const { version } of [...this.#retired, ...this.#released]) versions.add(version);
    await sweepOrphans({
      table: this.#table,
      lock,
      versions,
      removed,
      isOld: (stat) => this.#isOld(stat),
      isForgotten: (stat) => this.#isForgotten(stat),
      confirm,
    });
    const { needed, released } = this.#files;
    for await (const namedFile of findFiles(this.#table)) {
      const { area, name } = namedFile;
      if (needed[area.names].has(name) || released[area.names].has(name)) continue;
      this.#options.signal?.throwIfAborted();
      await removeNamedFile(this.#table.disk, namedFile, removed, async (stats) => {
        if (!stats.every((stat) => this.#isOld(stat) && this.#isBeforeAllKept(stat))) return false;
        await confirm();
        return true;
      });
    }
  }

  /** Returns true if no writer will commit the file. */
  #isOld(stat: FileStat): boolean {
    return this.#options.deleteUnverified === true || this.#isForgotten(stat);
  }

  #isForgotten({ modifiedNs }: FileStat): boolean {
    return toMillis(modifiedNs) < this.#ageNowMs - UNVERIFIED_MS;
  }

  #isBeforeAllKept({ modifiedNs }: FileStat): boolean {
    return toMillis(modifiedNs) < this.#earliestKeptMs;
  }
}

const toMillis = (ns: bigint): number => Number(ns / 1_000_000n);
