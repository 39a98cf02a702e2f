/**
 * Publishing a manifest that somebody else wrote, under a version number that must be free: the table side of
 * createTableVersion. What is published are the bytes that were checked, not the file they came from: its owner
 * may still write to it.
 */

import { basename, dirname, isAbsolute, join, sep } from "node:path";
import {
  ConcurrentModificationError,
  CorruptFileError,
  InvalidInputError,
  InvalidTableStateError,
} from "../errors.js";
import type { Disk } from "../io/disk.js";
import type { LockLease } from "../io/lease.js";
import { createExclusive } from "../io/publish.js";
import { type CommittedVersion, type TableEnvironment, withTableLock } from "./commit.js";
import { checkReaderFlags } from "./flags.js";
import { decodeManifestFile, type ManifestFile, readManifestBytes } from "./manifest.js";
import { manifestName, type NamingScheme, parseManifestName, versionsDirectory } from "./paths.js";
import { decodeSchema } from "./schema.js";
import { type VersionRecord, writeVersionRecord } from "./versionRecord.js";
import { findLatestVersion, findVersion, type VersionEntry, writeGap, writeHint } from "./versions.js";

export interface StagedVersion extends VersionRecord {
  readonly version: number;
  /** Absolute, relative to the table, or absolute without its leading slash. */
  readonly stagedPath: string;
  /** Bytes; checked where given. */
  readonly manifestSize?: number;
  /** Default: the table's own; V2 for a table without versions. */
  readonly scheme?: NamingScheme;
  readonly signal?: AbortSignal;
}

/** A staged manifest that was read and checked. */
export interface StagedManifest {
  /** Without symbolic links. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly file: ManifestFile;
}

/**
 * Publishes a staged manifest and then removes the staged file. Any number above the latest may be claimed, any
 * at all for the first version.
 * @param tableRoot directory of the table or branch; the staged file must lie inside it
 * @throws ConcurrentModificationError where the number is not above the latest
 * @throws InvalidInputError where the staged file is not a whole manifest of that version inside the table
 * @throws PublishUncertainError where the version may or may not be there
 */
export async function publishStagedVersion(
  environment: TableEnvironment,
  tableRoot: string,
  staged: StagedVersion,
): Promise<CommittedVersion> {
  const { disk } = environment;
  const source = await readStagedVersion(disk, tableRoot, staged);
  await disk.makeDirectory(versionsDirectory(tableRoot));
  const lock = { ...environment.lock, signal: staged.signal ?? environment.lock.signal };
  const published = await withTableLock(environment, tableRoot, lock, (lease) =>
    publishUnderLock(environment, tableRoot, staged, source, lease),
  );
  // The version is published; a staged file that stays is only in the way of nobody.
  await disk.remove(source.path).catch(() => undefined);
  return published;
}

/**
 * The staged manifest, checked; nothing is changed. Whether the number is free is told first, whatever is staged.
 * @throws ConcurrentModificationError where the number is taken, InvalidInputError for what can't be published
 */
export async function readStagedVersion(
  disk: Disk,
  tableRoot: string,
  staged: StagedVersion,
): Promise<StagedManifest> {
  await refuseTaken(disk, tableRoot, staged.version);
  return readStaged(disk, tableRoot, staged).catch(async (error: unknown) => {
    // Whoever won with this very file has removed it by now.
    await refuseTaken(disk, tableRoot, staged.version);
    throw error;
  });
}

/**
 * The names under which a version may be published now.
 * @throws ConcurrentModificationError where its number is not above the latest
 * @throws InvalidInputError where the table's manifests are named by another scheme
 */
export async function planPublication(
  disk: Disk,
  tableRoot: string,
  staged: Pick<StagedVersion, "version" | "scheme">,
): Promise<{ readonly latest: VersionEntry | null; readonly scheme: NamingScheme }> {
  const { version } = staged;
  const latest = await findLatestVersion(disk, tableRoot);
  if (latest !== null && version <= latest.version) throw taken(tableRoot, version, latest.version);
  const scheme = staged.scheme ?? latest?.scheme ?? "V2";
  if (latest !== null && scheme !== latest.scheme) {
    throw new InvalidInputError(
      `namingScheme: the table's manifests are named by ${latest.scheme}, one of ${scheme} would make it unreadable`,
    );
  }
  return { latest, scheme };
}

/**
 * Publishes a manifest; the caller holds the table's lock, and its directory of versions exists.
 * @throws what {@link planPublication} throws, and PublishUncertainError
 */
export async function publishUnderLock(
  { disk, manifests }: TableEnvironment,
  tableRoot: string,
  staged: StagedVersion,
  source: Pick<StagedManifest, "bytes" | "file">,
  lease: LockLease,
): Promise<CommittedVersion> {
  const { version } = staged;
  const { latest, scheme } = await planPublication(disk, tableRoot, staged);
  // Before the version itself: once it is there, no reader may miss it, or see it without its record.
  if (latest !== null && version > latest.version + 1) {
    await writeGap(disk, tableRoot, { from: latest.version, to: version });
  }
  await writeVersionRecord(disk, tableRoot, version, source.bytes, staged);
  const directory = versionsDirectory(tableRoot);
  const name = manifestName(version, scheme);
  const options = { lockedRename: !lease.compromised };
  if (!(await createExclusive(disk, directory, name, [source.bytes], options))) {
    throw taken(tableRoot, version, version);
  }
  await writeHint(disk, tableRoot, version);
  const path = join(directory, name);
  await manifests.remember(disk, path, source.file);
  return { version, scheme, path, manifest: source.file.manifest, file: source.file };
}

async function refuseTaken(disk: Disk, tableRoot: string, version: number): Promise<void> {
  if ((await findVersion(disk, tableRoot, version)) !== null) throw taken(tableRoot, version, version);
  const latest = await findLatestVersion(disk, tableRoot);
  if (latest !== null && version < latest.version) throw taken(tableRoot, version, latest.version);
}

function taken(tableRoot: string, version: number, latest: number): ConcurrentModificationError {
  return new ConcurrentModificationError(
    latest === version
      ? `${tableRoot}: version ${version} exists already`
      : `${tableRoot}: version ${version} is below the latest, ${latest}`,
  );
}

async function readStaged(disk: Disk, tableRoot: string, staged: StagedVersion): Promise<StagedManifest> {
  const path = await resolveStaged(disk, tableRoot, staged.stagedPath);
  const refuse = (reason: string, cause?: unknown): never => {
    throw new InvalidInputError(`manifestPath: ${staged.stagedPath} ${reason}`, { cause });
  };
  if (path === null) return refuse("is no file inside the table");
  if ((await disk.stat(path))?.kind !== "file") return refuse("is no regular file");
  const realVersions = await disk.realPath(versionsDirectory(tableRoot));
  if (dirname(path) === realVersions && parseManifestName(basename(path)) !== null) {
    return refuse("is a published manifest, not a staged one");
  }
  const read = await readManifestBytes(disk, path);
  if (read === null) return refuse("is no file inside the table");
  const size = read.bytes.length;
  if (staged.manifestSize !== undefined && staged.manifestSize !== size) {
    throw new InvalidInputError(
      `manifestSize: ${staged.stagedPath} has ${size} bytes, not ${staged.manifestSize}`,
    );
  }
  const file = decodeStaged(read.bytes, path, refuse);
  const found = file.manifest.version;
  if (found !== staged.version) return refuse(`holds version ${found}, not ${staged.version}`);
  checkReaderFlags(file.manifest, path);
  return { path, bytes: read.bytes, file };
}

/** Decodes all of it: later readers decode some parts only when they need them. */
function decodeStaged(
  bytes: Uint8Array,
  path: string,
  refuse: (reason: string, cause?: unknown) => never,
): ManifestFile {
  try {
    const file = decodeManifestFile(bytes, path);
    void file.manifest;
    void file.transaction;
    void file.indexSection;
    decodeSchema(file.manifest.fields, path);
    return file;
  } catch (error) {
    if (error instanceof CorruptFileError) return refuse(`is no manifest: ${error.message}`, error);
    throw error;
  }
}

/** The real path of a staged file, or null where it does not exist or lies outside the table. */
async function resolveStaged(disk: Disk, tableRoot: string, stagedPath: string): Promise<string | null> {
  if (stagedPath === "" || stagedPath.includes("\0")) return null;
  const realRoot = await disk.realPath(tableRoot);
  if (realRoot === null) throw new InvalidTableStateError(`there is no directory ${tableRoot}`);
  const candidates = isAbsolute(stagedPath) ? [stagedPath] : [join(tableRoot, stagedPath), sep + stagedPath];
  for (const candidate of candidates) {
    const real = await disk.realPath(candidate);
    if (real?.startsWith(realRoot + sep)) return real;
  }
  return null;
}
