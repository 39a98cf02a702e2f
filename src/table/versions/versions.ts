/**
 * Which versions a table has, and their manifests.
 *
 * The latest version is found through the hint file where the hint can be proved right, else by listing
 * `_versions`. Commits number on by one, so a hint N is right when manifest N exists and N + 1 does not; the
 * hint is one of two files that bypass this order, and each way to be wrong is checked:
 *
 * - stale, because its writer died after publishing: N + 1 exists.
 * - stale across numbers that were skipped: whoever skips numbers first records the jump in
 *   `_tiltyard/version_gaps.json`, durably and under the table's lock. Only the last jump { from, to } is kept: a
 *   hint below `from` proves nothing, and one before `to` only where `to` does not exist.
 * - stale across versions that were cleaned up, and naming one that was kept: whoever removes versions first records
 *   the latest as such a jump.
 * - an engine that skips numbers and records nothing, or files that were copied in: `_versions` changed after
 *   the hint was written.
 * - too high, garbage, half written, missing: manifest N does not exist, or there is no N; a number that was meant
 *   by nobody is held against all of the above like any other.
 */

import { dirname, join } from "node:path";
import { breathe } from "../../async/eventLoop.js";
import { Limit } from "../../async/limit.js";
import { CorruptFileError, InvalidTableStateError } from "../../errors.js";
import type { Manifest } from "../../format/table.js";
import type { Disk, FileStat, WriteHandle } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { isSettled, isUnchanged } from "../../io/disk/settledDirectories.js";
import type { LockLease } from "../../io/lock/lease.js";
import { LruCache } from "../../io/memory/cache.js";
import { replaceFile } from "../../io/publish.js";
import { checkReaderFlags } from "./flags.js";
import type { DirectoryIdentity, TableAnchor } from "./identity.js";
import { decodeManifestFile, type ManifestFamily, type ManifestFile, readManifestBytes } from "./manifest.js";
import {
  gapsPath,
  hintPath,
  manifestPath,
  type NamingScheme,
  parseManifestName,
  sideDirectory,
  versionsDirectory,
} from "./paths.js";

/** A version that is there. */
export interface VersionEntry {
  readonly version: number;
  readonly scheme: NamingScheme;
  /** Absolute path of its manifest. */
  readonly path: string;
}

/** The highest version of a table. */
export interface LatestVersion extends VersionEntry {
  /** The directory that it was found in. */
  readonly directory: DirectoryIdentity;
}

/** A version and what its manifest holds. */
export interface TableVersion {
  readonly entry: LatestVersion;
  readonly file: ManifestFile;
}

/** A version that this process made, and that is there for good. */
export interface CommittedVersion extends VersionEntry {
  readonly manifest: Manifest;
  readonly file: ManifestFile;
}

/** What a change is planned on that is planned on a version. */
export const anchorOf = ({ entry, file }: TableVersion): TableAnchor => ({
  kind: "version",
  file,
  directory: entry.directory,
});

/** Hint and gaps files are a line each; anything longer is not ours to read. */
const MAX_SIDE_FILE_BYTES = 1024;
/**
 * Writing a hint changes its directory, so the two times differ by the clock's grain at most. Not larger than it
 * must be: a version copied into place within this time of the hint would be missed.
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

/** As {@link findLatestVersion}, where something is known of the directory of versions. */
async function findLatestIn(
  disk: Disk,
  tableRoot: string,
  directoryStat: FileStat,
): Promise<LatestVersion | null> {
  const found =
    (await findByHint(disk, tableRoot, directoryStat)) ?? (await listVersions(disk, tableRoot)).at(-1);
  return found === undefined ? null : { ...found, directory: directoryStat };
}

/** Tables whose latest version is known. */
const MAX_KNOWN = 16_384;

/** The latest version of a table, as it was once found. */
interface KnownLatest {
  readonly entry: LatestVersion;
  /** Of the directory of versions before it was looked for. */
  readonly directoryStat: FileStat;
  /** Whether what changes there shows in the directory's times. */
  readonly isSettled: boolean;
  /** Where the next version would be. */
  readonly nextPath: string;
}

/**
 * The latest versions of tables, found again by the look of their `_versions`: a version that comes or goes changes it.
 * Whatever its times are worth, no version is taken for the latest that has a next one; where it changed a moment ago,
 * so that the next change may not show, what is known serves as a hint. For readers: who commits finds out anew, under
 * the table's lock.
 */
export class LatestVersions {
  readonly #disk: Disk;
  /** By the path of the directory. */
  readonly #known = new LruCache<KnownLatest>(MAX_KNOWN);

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** As {@link findLatestVersion}. */
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

  /** What is known if it still holds, else null. */
  async #findAgain(tableRoot: string, known: KnownLatest): Promise<LatestVersion | null> {
    const { entry, directoryStat, nextPath } = known;
    if (known.isSettled) return (await this.#disk.stat(nextPath)) === null ? entry : null;
    if (isSettled(directoryStat, Date.now())) return null;
    const gap = await readGapFile(this.#disk, tableRoot);
    const found = await proveLatest(this.#disk, tableRoot, entry.version, gap);
    return found && { ...found, directory: directoryStat };
  }
}

/** Names that are parsed in a row. */
const ENTRIES_AT_ONCE = 512;

/** One version, or null where it does not exist. */
export async function findVersion(
  disk: Disk,
  tableRoot: string,
  version: number,
): Promise<VersionEntry | null> {
  if ((await versionStat(disk, tableRoot, version, "V2")) !== null) {
    return entryOf(tableRoot, version, "V2");
  }
  if ((await versionStat(disk, tableRoot, version, "V1")) !== null) {
    return entryOf(tableRoot, version, "V1");
  }
  return null;
}

/**
 * All versions, ascending.
 * @throws InvalidTableStateError where manifests of both naming schemes lie side by side
 */
export async function listVersions(disk: Disk, tableRoot: string): Promise<VersionEntry[]> {
  const directory = versionsDirectory(tableRoot);
  const versions: VersionEntry[] = [];
  for (const [index, entry] of ((await disk.list(directory)) ?? []).entries()) {
    // Most tables have few versions, and are done before that.
    if ((index + 1) % ENTRIES_AT_ONCE === 0) await breathe();
    if (entry.kind !== "file") continue;
    const parsed = parseManifestName(entry.name);
    if (parsed === null) continue;
    versions.push({ ...parsed, path: join(directory, entry.name) });
    if (parsed.scheme !== versions[0].scheme) {
      throw new InvalidTableStateError(
        `${directory} mixes manifests of naming schemes V1 and V2; rename those of V1 to migrate the table`,
      );
    }
  }
  return versions.sort((a, b) => a.version - b.version);
}

/** Where a version is, if it is there. */
export const entryOf = (tableRoot: string, version: number, scheme: NamingScheme): VersionEntry => ({
  version,
  scheme,
  path: manifestPath(tableRoot, version, scheme),
});

async function versionStat(
  disk: Disk,
  tableRoot: string,
  version: number,
  scheme: NamingScheme,
): Promise<FileStat | null> {
  if (version > Number.MAX_SAFE_INTEGER) return null;
  const stat = await disk.stat(manifestPath(tableRoot, version, scheme));
  return stat?.kind === "file" ? stat : null;
}

// -------------------------------------------------------------------------------------------------- hint

/** The latest version by the hint, or null where the hint proves nothing. */
async function findByHint(
  disk: Disk,
  tableRoot: string,
  directoryStat: FileStat,
): Promise<VersionEntry | null> {
  const hintStat = await disk.stat(hintPath(tableRoot));
  if (hintStat === null || hintStat.changedNs + HINT_GRAIN_NS < directoryStat.modifiedNs) return null;
  const [hint, gap] = await Promise.all([
    readSideFile(disk, hintPath(tableRoot), parseHint),
    readGapFile(disk, tableRoot),
  ]);
  return typeof hint === "number" ? proveLatest(disk, tableRoot, hint, gap) : null;
}

/** The latest version where that can be told from one that may be it, else null. */
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

/** `null` where there is no such file, "garbage" where it is not what we would write. */
async function readSideFile<T>(
  disk: Disk,
  path: string,
  parse: (value: unknown) => T | null,
): Promise<T | null | "garbage"> {
  let bytes: Uint8Array | null;
  try {
    bytes = await disk.readFile(path, MAX_SIDE_FILE_BYTES);
  } catch (error) {
    // Too long, or cut short under our hands: not a file that proves anything.
    if (error instanceof CorruptFileError || codeOf(error) === "EISDIR") return "garbage";
    throw error;
  }
  if (bytes === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // No UTF-8, or no JSON.
    return "garbage";
  }
  return parse(value) ?? "garbage";
}

const isVersion = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function parseHint(value: unknown): number | null {
  if (typeof value !== "object" || value === null) return null;
  const { version } = value as { version?: unknown };
  return isVersion(version) ? version : null;
}

/** Every hint of ours has this length, so that the next one can be written in its place. */
const HINT_BYTES = 32;

/**
 * Notes the latest version for the next lookup. Losing it costs a directory listing, so it is not synced, it may be
 * read half written, and a failure is not the commit's. In place, as file systems may hurry a file to the device
 * that is renamed onto another.
 * @param options `isFirst`: there is none yet, in all likelihood
 */
export async function writeHint(
  disk: Disk,
  tableRoot: string,
  version: number,
  options: { readonly isFirst?: boolean } = {},
): Promise<void> {
  const path = hintPath(tableRoot);
  const bytes = new TextEncoder().encode(JSON.stringify({ version }).padEnd(HINT_BYTES));
  try {
    if (options.isFirst === true && (await createHint(disk, path, bytes))) return;
    if ((await disk.overwrite?.(path, bytes)) !== true) await replaceFile(disk, path, bytes, { sync: false });
  } catch {
    // See above.
  }
}

/** False where there is one. */
async function createHint(disk: Disk, path: string, bytes: Uint8Array): Promise<boolean> {
  let handle: WriteHandle;
  try {
    handle = await disk.create(path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
  try {
    await handle.write([bytes]);
  } finally {
    await handle.close();
  }
  return true;
}

// -------------------------------------------------------------------------------------------------- gaps

/** A jump in the numbering: no version between the two was or will be made while `to` is the latest. */
export interface VersionGap {
  readonly from: number;
  readonly to: number;
}

function parseGap(value: unknown): VersionGap | null {
  if (typeof value !== "object" || value === null) return null;
  const { from, to } = value as { from?: unknown; to?: unknown };
  return isVersion(from) && isVersion(to) && from < to ? { from, to } : null;
}

/** The last recorded jump, or null where none is known. */
export async function readGap(disk: Disk, tableRoot: string): Promise<VersionGap | null> {
  const gap = await readGapFile(disk, tableRoot);
  return gap === "garbage" ? null : gap;
}

/** Few tables have the file: asking whether it is there is far cheaper than the error for opening what is not. */
const readGapFile = async (disk: Disk, tableRoot: string): Promise<VersionGap | null | "garbage"> =>
  (await disk.stat(gapsPath(tableRoot))) === null ? null : readSideFile(disk, gapsPath(tableRoot), parseGap);

/** Records a jump; durable on return. Must be called under the table's lock before `to` is published. */
export async function writeGap(
  disk: Disk,
  tableRoot: string,
  gap: VersionGap,
  lease?: LockLease,
): Promise<void> {
  await disk.makeDirectory(sideDirectory(tableRoot), tableRoot);
  const bytes = new TextEncoder().encode(JSON.stringify(gap));
  await replaceFile(disk, gapsPath(tableRoot), bytes, { sync: true, lease });
}

/**
 * Notes, before versions are removed, that the one after a version may be missing: no hint below the latest proves
 * anything from here on. Durable on return. Must be called under the table's lock.
 */
export async function noteRemovedVersions(disk: Disk, tableRoot: string, latest: number): Promise<void> {
  const gap = await readGap(disk, tableRoot);
  // A jump to the latest says as much.
  if (gap?.to !== latest) await writeGap(disk, tableRoot, { from: latest - 1, to: latest });
}

// --------------------------------------------------------------------------------------------- manifests

/** A decoded manifest takes about this many times the memory of its bytes. */
const DECODED_FACTOR = 10;
/** Per entry, besides. */
const ENTRY_BYTES = 2048;

/** Directories whose manifests share what they have in common; the map starts over when it is full. */
const MAX_FAMILIES = 1024;
/** Manifests that are read and decoded at the same time. */
const MAX_READS = 16;

interface CachedManifest {
  /** Of the file it was read from. */
  readonly identity: string;
  readonly file: ManifestFile;
}

/**
 * Decoded manifests, bounded in bytes. A manifest never changes once it is published, but a dropped and remade
 * table has other ones under the same names, so every read checks that the file is still the same.
 *
 * Versions of a table mostly have the same fragments. Each is decoded once, for the version it is first met in.
 */
export class ManifestCache {
  /** By path. */
  readonly #files: LruCache<CachedManifest>;
  /** By directory. */
  readonly #families = new Map<string, ManifestFamily>();
  /** Reads under way, by path. */
  readonly #reading = new Map<string, Promise<CachedManifest | null>>();
  readonly #limit = new Limit(MAX_READS);

  /** @param maxBytes memory that the decoded manifests may take, about */
  constructor(maxBytes: number) {
    this.#files = new LruCache(maxBytes);
  }

  /**
   * The manifest at a path, or null where there is none.
   * @throws CorruptFileError, UnsupportedError for a table that this build can't read
   */
  async read(disk: Disk, path: string): Promise<ManifestFile | null> {
    const cached = this.#files.peek(path);
    if (cached !== undefined) {
      const stat = await disk.stat(path);
      if (stat === null) return null;
      if (stat.identity === cached.identity) return cached.file;
    }
    // What others are reading may be of a file that was there before this one.
    const underWay = this.#reading.get(path);
    if (underWay !== undefined) {
      const shared = await underWay.catch(() => null);
      if (shared !== null && (await disk.stat(path))?.identity === shared.identity) return shared.file;
    }
    const reading = this.#read(disk, path);
    this.#reading.set(path, reading);
    try {
      return (await reading)?.file ?? null;
    } finally {
      if (this.#reading.get(path) === reading) this.#reading.delete(path);
    }
  }

  /** As {@link read}, from the disk in any case: for what must not rest on what the file system tells of a file. */
  async readAnew(disk: Disk, path: string): Promise<ManifestFile | null> {
    return (await this.#read(disk, path))?.file ?? null;
  }

  /** A few at a time: each takes the memory of a file and of what it becomes. */
  #read(disk: Disk, path: string): Promise<CachedManifest | null> {
    return this.#limit.run(() => this.#readNow(disk, path));
  }

  async #readNow(disk: Disk, path: string): Promise<CachedManifest | null> {
    const read = await readManifestBytes(disk, path);
    if (read === null) return null;
    const known = this.#files.peek(path)?.file;
    const file = known?.hasContent(read.bytes)
      ? known
      : decodeManifestFile(read.bytes, path, this.#familyOf(path));
    checkReaderFlags(file.head, path);
    this.#set(path, read.identity, file);
    return { identity: read.identity, file };
  }

  /** Keeps what was just published, so that the next reader need not decode it. */
  async remember(disk: Disk, path: string, file: ManifestFile): Promise<void> {
    const stat = await disk.stat(path).catch(() => null);
    if (stat === null || stat.size !== file.byteLength) return;
    this.#set(path, stat.identity, file);
    const { decoded } = file;
    if (decoded !== null) this.#familyOf(path).lastDecoded = new WeakRef(decoded);
  }

  #familyOf(path: string): ManifestFamily {
    const directory = dirname(path);
    let family = this.#families.get(directory);
    if (family === undefined) {
      if (this.#families.size >= MAX_FAMILIES) this.#families.clear();
      family = { lastDecoded: null };
      this.#families.set(directory, family);
    }
    return family;
  }

  #set(path: string, identity: string, file: ManifestFile): void {
    this.#files.set(path, { identity, file }, file.byteLength * DECODED_FACTOR + ENTRY_BYTES);
  }

  clear(): void {
    this.#files.clear();
    this.#families.clear();
  }
}

/**
 * The manifest of a version found before; it may have been cleaned up meanwhile, then null.
 * @throws CorruptFileError where the file holds another version than its name says
 */
export const readManifestAt = async (
  { disk, manifests }: ManifestReader,
  entry: VersionEntry,
): Promise<ManifestFile | null> => checkedVersion(await manifests.read(disk, entry.path), entry);

/** As {@link readManifestAt}, from the disk in any case: what a commit is based on. */
export const readManifestAnew = async (
  { disk, manifests }: ManifestReader,
  entry: VersionEntry,
): Promise<ManifestFile | null> => checkedVersion(await manifests.readAnew(disk, entry.path), entry);

interface ManifestReader {
  readonly disk: Disk;
  readonly manifests: ManifestCache;
}

function checkedVersion(file: ManifestFile | null, entry: VersionEntry): ManifestFile | null {
  if (file !== null && file.head.version !== entry.version) {
    const found = file.head.version;
    throw new CorruptFileError(entry.path, 0, `it holds version ${found}, not ${entry.version}`);
  }
  return file;
}
