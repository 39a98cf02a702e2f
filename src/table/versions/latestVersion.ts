/**
 * Finds the latest version of a table: through the hint where it can be proved right, else by listing `_versions`.
 *
 * Commits count up by one, so a hint N is right when manifest N exists and N + 1 does not. Each way in which a hint
 * can be wrong is checked:
 *
 * - It is stale because its writer died after publishing: N + 1 exists.
 * - It is stale across numbers that were skipped, or versions that were removed: the gap file tells (versionGap.ts).
 *   A hint below the gap's `from` proves nothing, and one from there up to its `to` only where `to` does not exist.
 * - Another engine skipped numbers without a note, or files were copied in: `_versions` changed after the hint was
 *   written.
 * - It is too high, garbage, half written or missing: manifest N does not exist, or there is no N. A wrong number
 *   that passes for a hint is checked against all of the above like any other.
 */

import type { Disk, FileStat } from "../../io/disk/disk.js";
import { isSettled, isUnchanged } from "../../io/disk/settledDirectories.js";
import { LruCache } from "../../io/memory/cache.js";
import { hintPath, manifestPath, versionsDirectory } from "./paths.js";
import { readGapFile, type VersionGap } from "./versionGap.js";
import { readHint } from "./versionHint.js";
import {
  entryOf,
  findVersion,
  type LatestVersion,
  listVersions,
  type VersionEntry,
  versionStat,
} from "./versions.js";

/**
 * Writing a hint changes its directory, so the two times differ by the clock's grain at most. The value is no larger
 * than it must be, because a version copied into place within this time of the hint would be missed.
 */
const HINT_GRAIN_NS = 50_000_000n;

/**
 * The highest version, or null where the table has none.
 * @throws InvalidTableStateError where manifests of both naming schemes lie side by side
 */
export async function findLatestVersion(disk: Disk, tableRoot: string): Promise<LatestVersion | null> {
  const directoryStat = await disk.stat(versionsDirectory(tableRoot));
  return directoryStat === null ? null : findLatestIn(disk, tableRoot, directoryStat);
}

/** Like {@link findLatestVersion}, with the state of the directory of versions known. */
async function findLatestIn(
  disk: Disk,
  tableRoot: string,
  directoryStat: FileStat,
): Promise<LatestVersion | null> {
  const found =
    (await findByHint(disk, tableRoot, directoryStat)) ?? (await listVersions(disk, tableRoot)).at(-1);
  return found === undefined ? null : { ...found, directory: directoryStat };
}

/** Most tables whose latest version is remembered. */
const MAX_KNOWN = 16_384;

/** The latest version of a table, as it was once found. */
interface KnownLatest {
  readonly entry: LatestVersion;
  /** State of the directory of versions before the search. */
  readonly directoryStat: FileStat;
  /** Whether the next change there shows in the directory's times. */
  readonly isSettled: boolean;
  /** Where the next version would be. */
  readonly nextPath: string;
}

/**
 * Remembers the latest versions of tables. An entry holds while the state of `_versions` is unchanged, because a
 * version that comes or goes changes it. Even if the directory's times are unreliable, a version that has a next one
 * is never taken for the latest. If the directory changed so recently that the next change may not show, the entry
 * serves only as a hint. For readers: a commit finds the latest version anew, under the table's lock.
 */
export class LatestVersions {
  readonly #disk: Disk;
  /** By the path of the directory. */
  readonly #known = new LruCache<KnownLatest>(MAX_KNOWN);

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Like {@link findLatestVersion}. */
  async find(tableRoot: string): Promise<LatestVersion | null> {
    const directory = versionsDirectory(tableRoot);
    const directoryStat = await this.#disk.stat(directory);
    const known = this.#known.peek(directory);
    if (directoryStat !== null && known !== undefined && isUnchanged(known.directoryStat, directoryStat)) {
      const entry = await this.#findAgain(tableRoot, known);
      if (entry !== null) return entry;
    }
    this.#known.delete(directory);
    if (directoryStat === null) return null;
    const atMs = Date.now();
    const entry = await findLatestIn(this.#disk, tableRoot, directoryStat);
    if (entry === null) return null;
    const nextPath = manifestPath(tableRoot, entry.version + 1, entry.scheme);
    const found = { entry, directoryStat, isSettled: isSettled(directoryStat, atMs), nextPath };
    this.#known.set(directory, found, 1);
    return entry;
  }

  /** The remembered version if it still holds, else null. */
  async #findAgain(tableRoot: string, known: KnownLatest): Promise<LatestVersion | null> {
    const { entry, directoryStat, nextPath } = known;
    if (known.isSettled) return (await this.#disk.stat(nextPath)) === null ? entry : null;
    if (isSettled(directoryStat, Date.now())) return null;
    const gap = await readGapFile(this.#disk, tableRoot);
    const found = await proveLatest(this.#disk, tableRoot, entry.version, gap);
    return found && { ...found, directory: directoryStat };
  }
}

/** The latest version by the hint, or null where the hint proves nothing. */
async function findByHint(
  disk: Disk,
  tableRoot: string,
  directoryStat: FileStat,
): Promise<VersionEntry | null> {
  const hintStat = await disk.stat(hintPath(tableRoot));
  if (hintStat === null || hintStat.changedNs + HINT_GRAIN_NS < directoryStat.modifiedNs) return null;
  const [hint, gap] = await Promise.all([readHint(disk, tableRoot), readGapFile(disk, tableRoot)]);
  return typeof hint === "number" ? proveLatest(disk, tableRoot, hint, gap) : null;
}

/** The latest version if one that may be it proves which one it is, else null. */
async function proveLatest(
  disk: Disk,
  tableRoot: string,
  hint: number,
  gap: VersionGap | null | "garbage",
): Promise<VersionEntry | null> {
  if (gap === "garbage") return null;
  let version = hint;
  if (gap !== null && version < gap.to) {
    if (version < gap.from) return null;
    if ((await findVersion(disk, tableRoot, gap.to)) !== null) version = gap.to;
  }
  // The other scheme must be empty at both places too: a table that mixes them has no latest version.
  const [thisV2, thisV1, nextV2, nextV1] = await Promise.all([
    versionStat(disk, tableRoot, version, "V2"),
    versionStat(disk, tableRoot, version, "V1"),
    versionStat(disk, tableRoot, version + 1, "V2"),
    versionStat(disk, tableRoot, version + 1, "V1"),
  ]);
  if (nextV2 !== null || nextV1 !== null || (thisV2 === null) === (thisV1 === null)) return null;
  return entryOf(tableRoot, version, thisV2 !== null ? "V2" : "V1");
}
