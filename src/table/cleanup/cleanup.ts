/**
 * Removes old versions of a table or branch, and the files that nothing refers to any more.
 *
 * A cleanup keeps the latest version, the versions that the policy keeps, those that tags name or that
 * branches were made from, and every file that one of these or any version of any branch refers to: a branch
 * reads inherited files in its source's directory. Tables cloned elsewhere are not known here, and lose the
 * files that they share with a removed version.
 *
 * There are three kinds of garbage. Files that a removed version referred to and no remaining one does belong
 * to nobody. Files that no version refers to may belong to a commit that is being written. They stay until
 * they are a week old or the caller vouches that there is no writer, and are removed only under the lock:
 * under it, our own writers make sure that their files still exist before they commit. Files left behind by
 * writers that died have names of their own (orphans.ts).
 *
 *   read manifests ─ lock ─ read what is new ─ remove unreferenced files ─ take versions away ─ unlock
 *        ─ remove their files
 *
 * Most of the work is reading manifests, which is done before the lock is taken. Under the lock, unreferenced
 * files are removed first, so that a full disk has room for what must be written before versions are removed.
 * Engines that don't take the lock cannot make a version refer to the files of a removed one, and only
 * versions below the latest are ever removed.
 *
 * A lock may be lost while its holder is suspended. So it is checked before each step that can't be undone,
 * and a step that can be undone is checked again afterwards (retiredVersions.ts).
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { ageClockMs } from "../../async/timers.js";
import { ConcurrentModificationError, InvalidTableStateError } from "../../errors.js";
import type { FileStat } from "../../io/disk/disk.js";
import { codeOf, isDiskFull } from "../../io/disk/errno.js";
import { LeaseLostError, type LockLease, UNSHARED_LEASE } from "../../io/lock/lease.js";
import { type LockOptions, withLock } from "../../io/lock/lock.js";
import { OverruledError } from "../../io/publish.js";
import { timestampMillis } from "../commit/apply.js";
import { branchRoots } from "../refs/branchRoots.js";
import { isPinned, type PinnedVersions, readPinnedVersions } from "../refs/pinnedVersions.js";
import { checkReaderFlags, checkWriterFlags } from "../versions/flags.js";
import { TableGoneError } from "../versions/identity.js";
import { fileKey, type ManifestImage, ManifestReader } from "../versions/manifestImages.js";
import { branchAt, type TableAt } from "../versions/tableAt.js";
import { lockOptions, withTableLock } from "../versions/tableLock.js";
import { noteRemovedVersions } from "../versions/versionGap.js";
import { listVersions, type VersionEntry } from "../versions/versions.js";
import { findFiles, RemovedFiles, removeFound, syncRemovals } from "./garbage.js";
import { sweepOrphans } from "./orphans.js";
import { VersionFiles } from "./referencedFiles.js";
import { isOutdated, type RetentionPolicy } from "./retention.js";
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
  /** A version that stays, regardless of the policy. */
  readonly keptVersion?: number;
  /** Removes files that no version refers to, of any age: nobody is writing to the table. */
  readonly deleteUnverified?: boolean;
  /**
   * Makes tags on versions that the policy would remove an error, rather than a reason to keep these
   * versions.
   */
  readonly errorIfTagged?: boolean;
  /** Removes only the files of versions that were removed before. */
  readonly retiredOnly?: boolean;
  /** Milliseconds to wait for the table's lock. */
  readonly waitMs?: number;
  /**
   * Rejects where the caller may not remove anything any more; called before each step that can't be undone.
   */
  readonly hold?: () => Promise<void>;
  /** Told how many versions were read so far, and of how many. */
  readonly progress?: (done: number, total: number) => void;
  /** Checked until the first version is removed; from then on the cleanup is completed. */
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
  /** Temporary files, staged manifests and the like, left by writers that died. */
  readonly orphansRemoved: number;
}

/** Age from which a file that no version refers to counts as abandoned. */
const UNVERIFIED_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * @throws TableGoneError where there are no versions; InvalidTableStateError where tags are in the way and
 *   `errorIfTagged` is set
 * @throws UnsupportedError, CorruptFileError where a version can't be read, so that it is unknown which files
 *   it needs
 * @throws ConcurrentModificationError where another writer took the lock over
 */
export async function cleanUpVersions(table: TableAt, options: CleanupOptions): Promise<CleanupResult> {
  const removed = new RemovedFiles();
  let postponed = await cleanUpOnce(table, options, removed);
  for (let before = 0; postponed > 0 && removed.bytes > before; ) {
    before = removed.bytes;
    // Versions were removed, and the disk has room for removing more. The rest is left to the next cleanup.
    const rest = { ...options, signal: undefined };
    postponed = await cleanUpOnce(table, rest, removed).catch(() => 0);
  }
  return {
    bytesRemoved: removed.bytes,
    versionsRemoved: removed.versions,
    dataFilesRemoved: removed.data,
    deletionFilesRemoved: removed.deletions,
    transactionFilesRemoved: removed.transactions,
    indexFilesRemoved: removed.indices,
    orphansRemoved: removed.orphans,
  };
}

/** @returns how many versions stay only because the disk was full */
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
  // The main branch's lock is taken first, as for all changes of what refs point at.
  const remove = () =>
    withTableLock(main, options, (lease) =>
      table.branch === null
        ? removeUnder(lease)
        : withLock(table.root, lock, (own) => removeUnder(lease, own)),
    );
  try {
    postponed = await remove().catch(async (error: unknown) => {
      if (isLocked || !isDiskFull(error)) throw error;
      // On a disk that is full to the last block not even a lock can be made.
      for (const each of [main, table]) await forgetHint(each);
      return remove();
    });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    if ((await table.disk.stat(table.root)) === null) throw new TableGoneError(table.root, { cause: error });
    // The temporary files are gone: a writer that takes a lock over removes them.
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

/** What a cleanup works on, and how. */
interface CleanupTask {
  readonly table: TableAt;
  readonly options: CleanupOptions;
  readonly lock: LockOptions;
  /** Counts what is removed. */
  readonly removed: RemovedFiles;
}

/**
 * Removes versions. Unlike other work under a lock, this does not start over where the lock was lost: the
 * survey means nothing then.
 * @throws ConcurrentModificationError where a lock was lost
 */
async function removeOnce(cleanup: Cleanup, leases: readonly LockLease[]): Promise<number> {
  try {
    return await cleanup.removeVersions(leases);
  } catch (error) {
    if (!(error instanceof LeaseLostError || error instanceof OverruledError)) throw error;
    throw new ConcurrentModificationError(error.message, { cause: error });
  }
}

/** One cleanup; its steps are called in their order. */
class Cleanup {
  readonly #table: TableAt;
  readonly #task: CleanupTask;
  readonly #options: CleanupOptions;
  /** For the policy, which is about the times that versions record. */
  readonly #nowMs = Date.now();
  /** For files that nobody has committed yet: a clock that is set ahead does not make them old. */
  readonly #ageNowMs = ageClockMs();
  readonly #manifests: ManifestReader;
  readonly #files: VersionFiles;
  /** Manifests whose files count as needed, by path and identity. */
  readonly #noted = new Set<string>();
  /** The same by path. */
  readonly #notedPaths = new Set<string>();
  /** Versions that may be removed, by path and identity of their manifests. */
  readonly #outdated = new Map<string, VersionEntry>();
  /** Unneeded versions that were retired by a cleanup that did not live to release them. */
  readonly #retired: SetAsideVersion[] = [];
  /** Versions whose files are to be removed. */
  readonly #released: SetAsideVersion[] = [];
  /** When the oldest version was committed that the policy or an option keeps. */
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
    const entries = await this.#listOwn();
    const pinned = await this.#pinned();
    const tagged: number[] = [];
    const latest = entries[entries.length - 1];
    // The latest has no successor yet.
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
   * Removes the versions, and the files that belong to nobody. The locks are held.
   * @returns how many versions stay only because the disk is full
   */
  async removeVersions(leases: readonly LockLease[]): Promise<number> {
    const confirm = async (): Promise<void> => {
      for (const lease of leases) await lease.confirm();
    };
    const entries = await this.#listOwn();
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
        // Engines that don't take the lock may have committed versions meanwhile.
        await this.#noteNewcomers(going);
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

  /**
   * Removes the files that only removed versions referred to. No version can come to refer to them any more.
   */
  async removeReleased(): Promise<void> {
    const { removed } = this.#task;
    const { needed, released } = this.#files;
    if (this.#released.length === 0) return;
    for await (const found of findFiles(this.#table)) {
      const { area, name } = found;
      if (!released[area.names].has(name) || needed[area.names].has(name)) continue;
      await removeFound(this.#table.disk, found, removed, () => true);
    }
    // Once their manifests are gone, nobody would know of files that come back.
    await syncRemovals(this.#table);
    await forgetReleased(this.#table, this.#released, removed);
  }

  // ---------------------------------------------------------------------------------------------- versions

  async #listOwn(): Promise<VersionEntry[]> {
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

  /** Counts as needed the files that the versions refer to. */
  async #noteAll(entries: readonly VersionEntry[]): Promise<void> {
    await this.#manifests.forEach(entries, async (image, entry) => {
      checkReaderFlags(image.file.head, entry.path);
      await this.#note(image, entry);
    });
  }

  /** The same for versions whose manifests were not seen before. */
  async #noteUnseen(entries: readonly VersionEntry[]): Promise<void> {
    const unseen: VersionEntry[] = [];
    for (const entry of entries) {
      const key = await this.#keyOf(entry);
      if (key !== null && !this.#noted.has(key)) unseen.push(entry);
    }
    await this.#noteAll(unseen);
  }

  /** Counts as needed the files that the versions of all other branches refer to. */
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
   * The outdated versions that are removed; one whose manifest was replaced since stays. Counts as needed the
   * files that all other versions refer to.
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

  /** Counts as needed the files of versions that appeared after the others were listed. */
  async #noteNewcomers(going: ReadonlySet<VersionEntry>): Promise<void> {
    const known = new Set(Array.from(going, ({ path }) => path));
    for (const root of [this.#table.root, ...(await this.#otherRoots())]) {
      const entries = await listVersions({ disk: this.#table.disk, root });
      await this.#noteAll(entries.filter(({ path }) => !this.#notedPaths.has(path) && !known.has(path)));
    }
  }

  /**
   * Takes over versions that were set aside by a cleanup that did not live to remove their files. A version
   * that is needed after all is put back, as long as it was not released.
   */
  async #takeUpSetAside(
    entries: readonly VersionEntry[],
    pinned: PinnedVersions,
    confirm: () => Promise<void>,
  ): Promise<void> {
    const present = new Set(entries.map(({ version }) => version));
    const latest = entries[entries.length - 1];
    const found = await listSetAside(this.#table);
    await this.#manifests.forEach(found, async (image, aside) => {
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
   * An outdated version that was not released here may still exist: it was put back, or retired by another
   * process, which may put it back. Then its files are needed.
   */
  async #noteUnreleased(): Promise<void> {
    const released = new Set(this.#released.map(({ version }) => version));
    const missing = Array.from(this.#outdated.values()).filter(({ version }) => !released.has(version));
    for (const entry of missing) {
      const aside = retiredOf(this.#table.root, entry);
      // It may be put back between two looks, but not retired again.
      let found = false;
      for (const place of [aside, entry, aside, entry]) {
        await this.#manifests.forEach([place], async (image) => {
          found = true;
          await this.#note(image, place);
        });
        if (found) break;
      }
    }
  }

  async #keyOf({ path }: VersionEntry): Promise<string | null> {
    const stat = await this.#table.disk.stat(path);
    return stat && fileKey(path, stat.identity);
  }

  // ------------------------------------------------------------------------------------------------- files

  /** Removes files that no version refers to, and orphans of dead writers. */
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
    for await (const found of findFiles(this.#table)) {
      const { area, name } = found;
      if (needed[area.names].has(name) || released[area.names].has(name)) continue;
      this.#options.signal?.throwIfAborted();
      await removeFound(this.#table.disk, found, removed, async (stats) => {
        if (!stats.every((stat) => this.#isOld(stat) && this.#isBeforeAllKept(stat))) return false;
        await confirm();
        return true;
      });
    }
  }

  /** True if nobody will commit the file any more. */
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
