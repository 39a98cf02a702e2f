/**
 * Publishes manifests. A manifest becomes a version only here: after a commit, when a caller staged it, or as
 * the first of a branch.
 *
 *     write the manifest as a temporary file ─ check all conditions ─ createExclusive ─ hint ─ cache
 *
 * The conditions are checked last, with the temporary file in place: the lock, the table that the change was
 * planned on, and the version before the new one. If the process is suspended after this check, another
 * writer may take the lock over or replace the table. Then the temporary file is gone and the creation fails.
 */

import { UnsupportedError } from "../../errors.js";
import type { Disk, FileStat } from "../../io/disk/disk.js";
import type { LockLease } from "../../io/disk/locks.js";
import { createExclusive, OverruledError, PublishUncertainError } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import { writeHint } from "../versions/hintWriter.js";
import { requireAnchor, type TableAnchor } from "../versions/identity.js";
import type { ManifestFile } from "../versions/manifest.js";
import { manifestName, type NamingScheme, versionsDirectory } from "../versions/paths.js";
import type { OpenVersion, TableAt } from "../versions/tableAt.js";
import { isFrozenByLock } from "../versions/tableLock.js";
import { versionStat } from "../versions/versions.js";

export interface Publication {
  readonly version: number;
  readonly scheme: NamingScheme;
  /** Consecutive pieces of the file. */
  readonly chunks: readonly Uint8Array[];
  /** Returns the manifest that a reader decodes from the file. */
  readonly fileAt: (path: string) => ManifestFile;
  /** True if no other writer makes the same bytes, because they name a transaction of a unique id. */
  readonly isUnique?: true;
}

export interface PublicationTerms {
  /** Lease of the lock of the table or branch. */
  readonly lease: LockLease;
  readonly anchor: TableAnchor;
  /** Version before the new one, read from the disk under the lock; null if there is none. */
  readonly latest: ManifestFile | null;
  /** Further check. If it throws, the publication fails. */
  readonly verify?: () => Promise<void>;
}

/**
 * Publishes a manifest under the number of its version. The directory of versions must exist.
 * @returns null if the number exists
 * @throws LeaseLostError or OverruledError if another writer took over; nothing has changed
 * @throws TableReplacedError if the table is not the one that the change was planned on
 * @throws PublishUncertainError if the version may exist; its files must stay
 */
export async function publishManifest(
  table: TableAt,
  { version, scheme, chunks, fileAt, isUnique }: Publication,
  terms: PublicationTerms,
): Promise<OpenVersion | null> {
  const { disk } = table;
  if (!Number.isSafeInteger(version)) throw new UnsupportedError("the highest version number is 2^53 - 1");
  const directory = versionsDirectory(table.root);
  const name = manifestName(version, scheme);
  const { lease, latest } = terms;
  const verify = async () => {
    await requireTerms(table, terms);
    // Two manifests of one version, named by two schemes, would make the table unreadable.
    const otherScheme = scheme === "V1" ? "V2" : "V1";
    return latest !== null || (await versionStat(table, version, otherScheme)) === null;
  };
  const published = await createExclusive(disk, directory, name, chunks, { lease, verify });
  const path = join(directory, name);
  const file = fileAt(path);
  const { manifests, latestVersions } = table.environment;
  if (published === false) {
    if (isUnique !== true || disk.putIfAbsent === undefined) return null;
    // A network may send a request twice. The second answer says that the name is taken, by the first one.
    if ((await manifests.read(disk, path))?.isCopyOf(file) !== true) return null;
  }
  await writeHint(table, version, { isFirst: latest === null });
  const seen = typeof published === "string" ? { identity: published } : await statOf(disk, path, file);
  if (seen !== null) {
    manifests.remember(path, seen.identity, file);
    if (version === (latest?.head.version ?? 0) + 1) {
      latestVersions?.committed(table.root, { version, scheme, path }, seen);
    }
  }
  return { version, scheme, path, table, file };
}

/** Returns the stat of a manifest that was just published; null if the file under its path is another one. */
async function statOf(disk: Disk, path: string, { byteLength }: ManifestFile): Promise<FileStat | null> {
  const stat = await disk.stat(path).catch(() => null);
  return stat?.size === byteLength ? stat : null;
}

/**
 * @throws TableReplacedError if another table lies in the directory
 * @throws OverruledError if the latest version has changed; the caller makes another attempt
 */
async function requireTerms(table: TableAt, { anchor, latest, verify }: PublicationTerms): Promise<void> {
  const [isLatest] = await Promise.all([isCurrent(table, latest), verify?.()]);
  if (latest !== null) {
    if (!isLatest) {
      throw new OverruledError(latest.path, { cause: new Error("the latest version was replaced") });
    }
    if (anchor.kind === "version" && anchor.base.file.isCopyOf(latest)) return;
  }
  await requireAnchor(table, anchor);
}

/** Returns true if a manifest, read under the table's lock, is still the one under its path. */
async function isCurrent(table: TableAt, latest: ManifestFile | null): Promise<boolean> {
  if (latest === null || isFrozenByLock(table)) return true;
  const current = await table.environment.manifests.read(table.disk, latest.path);
  return current?.isCopyOf(latest) === true;
}

/**
 * Runs a change for which files were written. Removes the files unless they are, or may be, part of a
 * version.
 * @param discard removes the files; nothing refers to a file that remains
 * @param change returns null if it made no version
 */
export async function withFiles<Made>(
  discard: () => Promise<void>,
  change: () => Promise<Made>,
): Promise<Made> {
  let isNeeded = false;
  try {
    const made = await change();
    isNeeded = made !== null;
    return made;
  } catch (error) {
    isNeeded = error instanceof PublishUncertainError;
    throw error;
  } finally {
    if (!isNeeded) await discard().catch(() => undefined);
  }
}
