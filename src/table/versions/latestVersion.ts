/**
 * Finds the latest version of a table: by the hint if it can be proved, else by listing `_versions`.
 *
 * Commits count up by one, so a hint N is right if manifest N exists and N + 1 does not. Each way in which a
 * hint can be wrong is checked:
 *
 * - It is stale because its writer died after publishing: N + 1 exists.
 * - It is stale and numbers were skipped, or versions removed: the gap file tells (versionGap.ts). A hint
 *   below the gap's `from` proves nothing. A hint from there up to its `to` proves something only if `to`
 *   does not exist.
 * - Another engine skipped numbers without a record, or files were copied in: `_versions` changed after the
 *   hint was written.
 * - It is too high, garbage, half written or missing: manifest N does not exist, or there is no N. A wrong
 *   number that looks like a hint is checked like any other.
 */

import { ageClockMs } from "../../async/timers.js";
import type { Disk, FileStat } from "../../io/disk/disk.js";
import { isTimeless } from "../../io/disk/timeless.js";
import { isUnchanged, showsNextChange } from "../../io/disk/unchangedDirectories.js";
import { LruCache } from "../../io/memory/cache.js";
import type { DirectoryIdentity } from "./directoryIdentity.js";
import { hintPath, manifestPath, versionsDirectory } from "./paths.js";
import { readGapFile, type VersionGap } from "./versionGap.js";
import { readHint } from "./versionHint.js";
import {
  type FoundVersion,
  findVersion,
  type LatestVersion,
  listVersions,
  type VersionEntry,
  type VersionsAt,
  versionEntry,
  versionStat,
} from "./versions.js";

/**
 * Maximum time between a hint and the change of its directory: the grain of the clock. It is as small as
 * possible, because a version that is copied in within this time of the hint would be missed.
 */
const HINT_GRAIN_NS = 50_000_000n;

/**
 * Maximum time between a manifest and the change of its directory. One step changes both, at the same tick of
 * the file system's clock. If other writers follow sooner than the hint's grain, the shortcut saves nothing.
 */
const MANIFEST_GRAIN_NS = 10_000_000n;

/** Maximum number of versions that are counted one by one; the directory is listed for more. */
const MAX_STEPS = 16;

/**
 * Finds the highest version; null if the table has none.
 * @throws InvalidTableStateError if manifests of both naming schemes exist
 */
export async function findLatestVersion(table: VersionsAt): Promise<LatestVersion | null> {
  if (table.disk.hasDirectories === false) return findByListing(table);
  const directoryStat = await table.disk.stat(versionsDirectory(table.root));
  return directoryStat === null ? null : findLatestIn(table, directoryStat);
}

/** Finds the highest version on a disk without directories, whose times could prove a hint. */
async function findByListing(table: VersionsAt): Promise<LatestVersion | null> {
  const latest = (await listVersions(table)).at(-1);
  return latest === undefined ? null : { ...latest, directory: NO_DIRECTORY };
}

/** Like {@link findLatestVersion}, with the stat of the directory of versions. */
async function findLatestIn(table: VersionsAt, directoryStat: FileStat): Promise<LatestVersion | null> {
  const latest = (await findByHint(table, directoryStat)) ?? (await listVersions(table)).at(-1);
  return latest === undefined ? null : { ...latest, directory: directoryStat };
}

/** Identity of any directory on a disk without directories. */
const NO_DIRECTORY: DirectoryIdentity = { inode: "", birthNs: 0n, changedNs: 0n };

/** Maximum number of tables whose latest version is remembered. */
const MAX_REMEMBERED = 16_384;

/** A manifest that was just published, as far as the commit looked at it. */
type SeenManifest = Pick<FileStat, "identity"> & Partial<Pick<FileStat, "changedNs">>;

/** Latest version of a table, from a search or a commit of this namespace. */
interface RememberedLatest {
  readonly entry: VersionEntry;
  /** Stat of the directory of versions before the search; null for a committed version. */
  readonly directoryStat: FileStat | null;
  /** True if the next change of the directory will change its times. */
  readonly showsNextChange: boolean;
  /** Change time of the manifest when it got its name, which also changed the directory; null if unknown. */
  readonly changedNs: bigint | null;
  readonly nextPath: string;
}

/**
 * Remembers the latest versions of tables. An entry holds while `_versions` is unchanged, because a version
 * that appears or disappears changes it. Even if the directory's times are unreliable, a version with a
 * successor never counts as the latest. If the directory changed so recently that the next change may not
 * show, the entry serves only as a hint. So does a version that was committed here: the next search need not
 * read the hint file.
 */
export class LatestVersions {
  readonly #disk: Disk;
  /** By the path of the directory. */
  readonly #remembered = new LruCache<RememberedLatest>(MAX_REMEMBERED);
  /** True if the disk is private and its directories have no times, so that readers count up. */
  #countsUp = false;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Like {@link findLatestVersion}, for readers. */
  async find(tableRoot: string): Promise<LatestVersion | null> {
    if (this.#disk.hasDirectories === false) return findByListing({ disk: this.#disk, root: tableRoot });
    const counted = this.#countsUp ? await this.countUp(tableRoot) : null;
    if (counted !== null) return counted;
    const directory = versionsDirectory(tableRoot);
    return await this.#findIn(tableRoot, directory, await this.#disk.stat(directory));
  }

  /** Returns a version, possibly superseded a moment ago, for callers that only ask if one exists. */
  async findAny(tableRoot: string): Promise<LatestVersion | null> {
    if (this.#disk.hasDirectories === false) return findByListing({ disk: this.#disk, root: tableRoot });
    const counted = this.#countsUp ? await this.countUp(tableRoot) : null;
    if (counted !== null) return counted;
    const directory = versionsDirectory(tableRoot);
    const directoryStat = await this.#disk.stat(directory);
    const remembered = this.#remembered.peek(directory);
    if (remembered !== undefined && directoryStat !== null) {
      if (isUntouched(remembered, directoryStat)) return { ...remembered.entry, directory: directoryStat };
      if (isHint(remembered, directoryStat) && !showsNextChange(directoryStat, ageClockMs())) {
        const manifestStat = await this.#disk.stat(remembered.entry.path);
        if (manifestStat?.kind === "file")
          return { ...remembered.entry, directory: directoryStat, manifestStat };
      }
    }
    return this.#findIn(tableRoot, directory, directoryStat);
  }

  /**
   * Like {@link findLatestVersion}, for a commit that holds the table's lock. If the directory has not
   * changed since the latest version was found or committed, returns that version without a look at its
   * manifest, which the commit reads anyway. Also skips the look for the next version's manifest if the
   * directory's times would show that file. If the next version exists nevertheless, the commit fails to
   * create it, and must call {@link findLatestVersion}.
   * @param least a version that certainly exists
   */
  async findForCommit(tableRoot: string, least: number): Promise<LatestVersion | null> {
    if (this.#disk.hasDirectories === false) return findByListing({ disk: this.#disk, root: tableRoot });
    const counted = this.#countsUp ? await this.countUp(tableRoot, least) : null;
    if (counted !== null) return counted;
    const directory = versionsDirectory(tableRoot);
    const directoryStat = await this.#disk.stat(directory);
    if (directoryStat === null) return null;
    const remembered = this.#remembered.peek(directory);
    const isSame = remembered !== undefined && isUntouched(remembered, directoryStat);
    if (
      remembered !== undefined &&
      remembered.entry.version >= least &&
      (isSame || isHint(remembered, directoryStat))
    ) {
      const { entry, nextPath } = remembered;
      const gap = await readGapFile({ disk: this.#disk, root: tableRoot });
      const isAhead = gap === null || (gap !== "garbage" && entry.version >= gap.to);
      const isLast =
        isAhead && ((isSame && remembered.showsNextChange) || (await this.#disk.stat(nextPath)) === null);
      if (isLast) return { ...entry, directory: directoryStat };
    }
    return findLatestIn({ disk: this.#disk, root: tableRoot }, directoryStat);
  }

  /**
   * Counts up from the remembered version to one without a successor. On a private disk that is the latest,
   * whatever other writers did meanwhile: they count too, and record the numbers that they skip.
   * @param least a version that certainly exists
   * @returns null on another disk, or if counting proves nothing
   */
  async countUp(tableRoot: string, least = 0): Promise<LatestVersion | null> {
    const remembered = this.#remembered.peek(versionsDirectory(tableRoot));
    if (!this.#countsUp || remembered === undefined || remembered.entry.version < least) return null;
    let { entry } = remembered;
    const nextStat = () => this.#disk.stat(manifestPath(tableRoot, entry.version + 1, entry.scheme));
    const gapOfTable = readGapFile({ disk: this.#disk, root: tableRoot });
    let [manifestStat, next, gap] = await Promise.all([this.#disk.stat(entry.path), nextStat(), gapOfTable]);
    if (gap === "garbage" || (gap !== null && entry.version < gap.to)) return null;
    for (let steps = 0; next !== null; steps++) {
      if (steps === MAX_STEPS) return null;
      entry = versionEntry(tableRoot, entry.version + 1, entry.scheme);
      manifestStat = next;
      next = await nextStat();
    }
    if (manifestStat?.kind !== "file") return null;
    if (entry !== remembered.entry) this.#remember(tableRoot, { ...entry, manifestStat }, null, false);
    return { ...entry, manifestStat, directory: NO_DIRECTORY };
  }

  /**
   * Records a version that was committed right after the latest one.
   * @param seen change time of its manifest, if the commit knows it
   */
  committed(tableRoot: string, entry: VersionEntry, { changedNs }: SeenManifest): void {
    this.#remember(tableRoot, entry, null, false, changedNs);
  }

  async #findIn(
    tableRoot: string,
    directory: string,
    directoryStat: FileStat | null,
  ): Promise<LatestVersion | null> {
    const remembered = this.#remembered.peek(directory);
    if (directoryStat === null) {
      this.#remembered.delete(directory);
      return null;
    }
    this.#countsUp ||= this.#disk.isPrivate === true && isTimeless(directoryStat);
    const showsNextChangeNow = showsNextChange(directoryStat, ageClockMs());
    const isSame = remembered !== undefined && isUntouched(remembered, directoryStat);
    if (isSame && remembered.showsNextChange) {
      const hasNext = (await this.#disk.stat(remembered.nextPath)) !== null;
      if (!hasNext) {
        const { version, scheme, path } = remembered.entry;
        return { version, scheme, path, directory: directoryStat };
      }
    } else if (
      remembered !== undefined &&
      ((isSame && !showsNextChangeNow) || isHint(remembered, directoryStat))
    ) {
      const gap = await readGapFile({ disk: this.#disk, root: tableRoot });
      const proven = await this.#proveRemembered(tableRoot, remembered, gap);
      if (proven !== null) {
        this.#remember(tableRoot, proven, directoryStat, showsNextChangeNow);
        return { ...proven, directory: directoryStat };
      }
    }
    const entry = await findLatestIn({ disk: this.#disk, root: tableRoot }, directoryStat);
    if (entry === null) this.#remembered.delete(directory);
    else this.#remember(tableRoot, entry, directoryStat, showsNextChangeNow);
    return entry;
  }

  /**
   * Returns the remembered version if it exists, has no successor, and is not below a gap. Does not look for
   * manifests of the other scheme, which could only have come since this version was found or committed.
   */
  async #proveRemembered(
    tableRoot: string,
    { entry, nextPath }: RememberedLatest,
    gap: VersionGap | null | "garbage",
  ): Promise<FoundVersion | null> {
    if (gap !== null) return proveLatest({ disk: this.#disk, root: tableRoot }, entry.version, gap);
    const [manifestStat, next] = await Promise.all([this.#disk.stat(entry.path), this.#disk.stat(nextPath)]);
    return next === null && manifestStat?.kind === "file" ? { ...entry, manifestStat } : null;
  }

  #remember(
    tableRoot: string,
    { version, scheme, path, manifestStat }: FoundVersion,
    directoryStat: FileStat | null,
    showsNextChange: boolean,
    changedNs = manifestStat?.changedNs ?? null,
  ): void {
    const remembered = {
      entry: { version, scheme, path },
      directoryStat,
      showsNextChange,
      changedNs,
      nextPath: manifestPath(tableRoot, version + 1, scheme),
    };
    this.#remembered.set(versionsDirectory(tableRoot), remembered, 1);
  }
}

/** Returns true if the directory's times show no change since a version was found. */
const isUntouched = ({ directoryStat }: RememberedLatest, now: FileStat): boolean =>
  directoryStat !== null && isUnchanged(directoryStat, now);

/** Returns true if a version can be a hint: the directory is unchanged since it got its name. */
const isHint = ({ changedNs }: RememberedLatest, now: FileStat): boolean =>
  changedNs !== null && now.changedNs <= changedNs + MANIFEST_GRAIN_NS;

/** Finds the latest version by the hint; null if the hint proves nothing. */
async function findByHint(table: VersionsAt, directoryStat: FileStat): Promise<FoundVersion | null> {
  // Nothing shows if another engine has skipped a number since the hint.
  if (isTimeless(directoryStat)) return null;
  const hintStat = await table.disk.stat(hintPath(table.root));
  if (hintStat === null || hintStat.changedNs + HINT_GRAIN_NS < directoryStat.modifiedNs) return null;
  const [hint, gap] = await Promise.all([readHint(table), readGapFile(table)]);
  return typeof hint === "number" ? proveLatest(table, hint, gap) : null;
}

/** Returns the latest version if a candidate proves which one it is, else null. */
async function proveLatest(
  table: VersionsAt,
  hint: number,
  gap: VersionGap | null | "garbage",
): Promise<FoundVersion | null> {
  if (gap === "garbage") return null;
  let version = hint;
  if (gap !== null && version < gap.to) {
    if (version < gap.from) return null;
    if ((await findVersion(table, gap.to)) !== null) version = gap.to;
  }
  // Manifests of the other scheme must be missing too: a table with both has no latest version.
  const [thisV2, thisV1, nextV2, nextV1] = await Promise.all([
    versionStat(table, version, "V2"),
    versionStat(table, version, "V1"),
    versionStat(table, version + 1, "V2"),
    versionStat(table, version + 1, "V1"),
  ]);
  if (nextV2 !== null || nextV1 !== null || (thisV2 === null) === (thisV1 === null)) return null;
  const entry = versionEntry(table.root, version, thisV2 !== null ? "V2" : "V1");
  return { ...entry, manifestStat: thisV2 ?? thisV1 ?? undefined };
}
