/**
 * Publishes a manifest that a caller wrote, under a free version number; serves createTableVersion. It
 * publishes the bytes that were checked, not their file, because the file's owner may still write to it.
 */

import { ConcurrentModificationError, CorruptFileError, InvalidInputError } from "../../errors.js";
import { codeOf } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/disk/locks.js";
import { decodeSchema } from "../../schema/schema.js";
import { publishManifest } from "../commit/publication.js";
import { checkReaderFlags } from "../versions/flags.js";
import { writeGap } from "../versions/gapWriter.js";
import { requireAnchor, type TableAnchor, TableReplacedError } from "../versions/identity.js";
import { findLatestVersion } from "../versions/latestVersion.js";
import { decodeManifestFile, type ManifestFile, readManifestBytes } from "../versions/manifest.js";
import { readManifestAnew } from "../versions/openVersion.js";
import { type NamingScheme, versionsDirectory } from "../versions/paths.js";
import { branchAt, type OpenVersion, type TableAt } from "../versions/tableAt.js";
import { withTableLock } from "../versions/tableLock.js";
import { type VersionRecord, writeVersionRecord } from "../versions/versionRecord.js";
import { findVersion, type VersionEntry, type VersionsAt } from "../versions/versions.js";
import { type AllowFirst, checkStagedContent, requireSource } from "./stagedContent.js";
import { findStaged, removeStaged } from "./stagedLocation.js";

/** Maximum numbers that may be skipped at once, so that no version exhausts the numbers. */
const MAX_VERSION_STEP = 2 ** 32;

export interface StagedVersion extends VersionRecord {
  readonly version: number;
  /** Absolute path, path relative to the table, or absolute path without its leading slash. */
  readonly stagedPath: string;
  /** Expected size in bytes. Default: any. */
  readonly manifestSize?: number;
  /** Naming scheme. Default: the table's; V2 for a table without versions. */
  readonly scheme?: NamingScheme;
  /** Called if it is the first version of its table or branch. */
  readonly allow?: AllowFirst;
  readonly signal?: AbortSignal;
}

export interface StagedManifest {
  /** Path without symbolic links. */
  readonly path: string;
  /** Identity of the file that was read. */
  readonly identity: string;
  readonly bytes: Uint8Array;
  readonly file: ManifestFile;
}

/**
 * Publishes a staged manifest and then removes the staged file. The version's number may be above the latest
 * by at most 2^32; a table's first version may have any number below 2^32.
 * @param table the table or branch; stagedLocation.ts defines where the staged file may lie
 * @param anchor the table as it was opened
 * @throws TableReplacedError if another table lies in the directory now
 * @throws ConcurrentModificationError if the number is not above the latest
 * @throws InvalidInputError if the staged file lies in a forbidden location, is not a whole manifest of that
 *   version, or does not fit the table, or if the number is too high
 * @throws PublishUncertainError if the version may exist
 */
export async function publishStagedVersion(
  table: TableAt,
  anchor: TableAnchor,
  staged: StagedVersion,
): Promise<OpenVersion> {
  const source = await readStagedVersion(table, staged);
  await requireSourceOfFirst(table, staged, source);
  const published = await withTableLock(table, { signal: staged.signal }, (lease) =>
    publishUnderLock(table, anchor, staged, source, lease),
  ).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new TableReplacedError(table.root);
  });
  await removeStaged(table, source);
  return published;
}

/**
 * Checks, before the lock is taken because it may take long, that the caller may make a branch from the
 * source. The later check under the lock then finds the permission granted.
 */
async function requireSourceOfFirst(
  table: TableAt,
  { allow }: StagedVersion,
  { file }: StagedManifest,
): Promise<void> {
  if (allow === undefined || table.branch === null) return;
  if ((await findLatestVersion(table)) === null) await requireSource(file.manifest, allow);
}

/**
 * Reads and checks the staged manifest; changes nothing. Checks first that the number is free.
 * @throws ConcurrentModificationError if the number exists, InvalidInputError if the manifest cannot be
 *   published
 */
export async function readStagedVersion(table: VersionsAt, staged: StagedVersion): Promise<StagedManifest> {
  await refuseTaken(table, staged.version);
  return readStaged(table, staged).catch(async (error: unknown) => {
    // Another caller may have published and removed this very file meanwhile.
    await refuseTaken(table, staged.version);
    throw error;
  });
}

/**
 * Returns the latest version, and the naming scheme for the new one.
 * @throws ConcurrentModificationError if the new number is not above the latest
 * @throws InvalidInputError if the table's manifests have another scheme, or the number is too high
 */
export async function planPublication(
  table: TableAt,
  staged: Pick<StagedVersion, "version" | "scheme">,
): Promise<{ readonly latest: VersionEntry | null; readonly scheme: NamingScheme }> {
  const { version } = staged;
  const latest = await findLatestVersion(table);
  if (latest !== null && version <= latest.version) throw taken(table.root, version, latest.version);
  await refuseTooHigh(table, version, latest);
  const scheme = staged.scheme ?? latest?.scheme ?? "V2";
  if (latest !== null && scheme !== latest.scheme) {
    throw new InvalidInputError(
      `namingScheme: the table's manifests use scheme ${latest.scheme}; a manifest of scheme ${scheme} would make the table unreadable`,
    );
  }
  return { latest, scheme };
}

/**
 * Publishes a manifest; the caller holds the table's lock.
 * @param anchor the table that the manifest is meant for
 * @throws the errors of {@link planPublication}, {@link checkStagedContent} and {@link publishManifest}
 */
export async function publishUnderLock(
  table: TableAt,
  anchor: TableAnchor,
  staged: StagedVersion,
  source: Pick<StagedManifest, "bytes" | "file">,
  lease: LockLease,
): Promise<OpenVersion> {
  const { version } = staged;
  const { latest, scheme } = await planPublication(table, staged);
  await requireAnchor(table, anchor);
  const latestFile = latest && (await readManifestAnew(table.environment, latest));
  if (latest !== null && latestFile === null) throw taken(table.root, version, latest.version);
  // Checked again under the lock: the previous version may have changed, and a journal's content comes
  // from a disk.
  await checkStagedContent(table, { latest: latestFile, allow: staged.allow }, source.file);
  await table.disk.makeDirectory(versionsDirectory(table.root), table.root);
  // Written before the version: once the version exists, readers must find it, and its record.
  if (latest !== null && version > latest.version + 1) {
    await writeGap(table, { from: latest.version, to: version }, lease);
  }
  await writeVersionRecord(table, version, source.bytes, staged, lease);
  const publication = {
    version,
    scheme,
    chunks: [source.bytes],
    fileAt: (path: string) => decodeManifestFile(source.bytes, path),
  };
  const terms = { lease, anchor, latest: latestFile };
  const published = await publishManifest(table, publication, terms);
  if (published === null) throw taken(table.root, version, version);
  return published;
}

/**
 * Refuses numbers too far above the latest. The first version of a branch has its source's number, so it is
 * compared with the latest version of the main branch.
 */
async function refuseTooHigh(table: TableAt, version: number, latest: VersionEntry | null): Promise<void> {
  const isFirstOfBranch = latest === null && table.branch !== null;
  const before = isFirstOfBranch ? await findLatestVersion(branchAt(table, null)) : latest;
  const highest = before === null ? MAX_VERSION_STEP - 1 : before.version + MAX_VERSION_STEP;
  if (version <= highest) return;
  throw new InvalidInputError(
    before === null
      ? `version: the first version of a table must be below ${MAX_VERSION_STEP}, not ${version}`
      : `version: ${version} is more than ${MAX_VERSION_STEP} above ${before.version}, the latest`,
  );
}

async function refuseTaken(table: VersionsAt, version: number): Promise<void> {
  if ((await findVersion(table, version)) !== null) throw taken(table.root, version, version);
  const latest = await findLatestVersion(table);
  if (latest !== null && version < latest.version) throw taken(table.root, version, latest.version);
}

function taken(tableRoot: string, version: number, latest: number): ConcurrentModificationError {
  return new ConcurrentModificationError(
    latest === version
      ? `${tableRoot}: version ${version} already exists`
      : `${tableRoot}: version ${version} is below the latest, ${latest}`,
  );
}

async function readStaged(table: VersionsAt, staged: StagedVersion): Promise<StagedManifest> {
  const refuse = (reason: string, cause?: unknown): never => {
    throw new InvalidInputError(`manifestPath: ${staged.stagedPath} ${reason}`, { cause });
  };
  const stagedFile = await findStaged(table, staged.stagedPath);
  if (typeof stagedFile === "string") return refuse(stagedFile);
  const { path } = stagedFile;
  const read = await readManifestBytes(table.disk, path).catch((error: unknown) => {
    if (error instanceof CorruptFileError) return refuse("is not a regular file", error);
    throw error;
  });
  if (read === null) return refuse("is not a file inside the table");
  const { bytes, identity } = read;
  const size = bytes.length;
  if (staged.manifestSize !== undefined && staged.manifestSize !== size) {
    throw new InvalidInputError(
      `manifestSize: ${staged.stagedPath} has ${size} bytes, not ${staged.manifestSize}`,
    );
  }
  // Messages show the caller's path, because the caller must not learn link targets.
  const file = decodeStaged(bytes, staged.stagedPath, refuse);
  const { version } = file.manifest;
  if (version !== staged.version) return refuse(`holds version ${version}, not ${staged.version}`);
  return { path, identity, bytes, file };
}

/** Decodes all parts now, because later readers decode some of them lazily. */
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
    checkReaderFlags(file.manifest, path);
    return file;
  } catch (error) {
    if (error instanceof CorruptFileError) return refuse(`is not a manifest: ${error.message}`, error);
    throw error;
  }
}
