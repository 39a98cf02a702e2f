/**
 * Publishes manifests. This is the only way a manifest becomes a version, no matter if a commit made it, a
 * caller staged it or it begins a branch.
 *
 *   write the manifest as a temporary file ─ look at all that must hold ─ createExclusive ─ hint ─ cache
 *
 * The conditions are checked last, with the temporary file in place: the lock, the table that the change was
 * planned on, the version that the new one follows. If the process is suspended after this check, and the
 * lock is taken over or the table replaced meanwhile, the temporary file is gone and the creation fails.
 */

import { UnsupportedError } from "../../errors.js";
import type { LockLease } from "../../io/lock/lease.js";
import { createExclusive, OverruledError, PublishUncertainError } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import { requireAnchor, type TableAnchor } from "../versions/identity.js";
import type { ManifestFile } from "../versions/manifest.js";
import { manifestName, type NamingScheme, versionsDirectory } from "../versions/paths.js";
import type { OpenVersion, TableAt } from "../versions/tableAt.js";
import { writeHint } from "../versions/versionHint.js";
import { versionStat } from "../versions/versions.js";

/** A manifest to be published. */
export interface Publication {
  readonly version: number;
  readonly scheme: NamingScheme;
  /** The file, in consecutive pieces. */
  readonly chunks: readonly Uint8Array[];
  /** What a reader decodes from it. */
  readonly fileAt: (path: string) => ManifestFile;
}

/** What must hold when a manifest is published. */
export interface PublicationTerms {
  /** The lock of the table or branch. */
  readonly lease: LockLease;
  /** What the change was planned on. */
  readonly anchor: TableAnchor;
  /** The version that the new one follows, read from the disk under the lock; null where there is none. */
  readonly latest: ManifestFile | null;
  /** A further check. An error that it throws ends the publication. */
  readonly verify?: () => Promise<void>;
}

/**
 * Publishes a manifest under the number of its version. The directory of versions must exist.
 * @returns null where the number is taken
 * @throws LeaseLostError, OverruledError where another writer took over: nothing was changed
 * @throws TableReplacedError where the table is not the one that the change was planned on
 * @throws PublishUncertainError where the version may or may not exist: its files must stay
 */
export async function publishManifest(
  table: TableAt,
  { version, scheme, chunks, fileAt }: Publication,
  terms: PublicationTerms,
): Promise<OpenVersion | null> {
  const { disk } = table;
  if (!Number.isSafeInteger(version)) throw new UnsupportedError("version numbers end at 2^53 - 1");
  const directory = versionsDirectory(table.root);
  const name = manifestName(version, scheme);
  const { lease, latest } = terms;
  const verify = async () => {
    await requireTerms(table, terms);
    // Two manifests of one version, named by two schemes, would make a table unreadable.
    const other = scheme === "V1" ? "V2" : "V1";
    return latest !== null || (await versionStat(table, version, other)) === null;
  };
  if (!(await createExclusive(disk, directory, name, chunks, { lease, verify }))) return null;
  const path = join(directory, name);
  const file = fileAt(path);
  const { manifests, latestVersions } = table.environment;
  await writeHint(table, version, { isFirst: latest === null });
  const stat = await manifests.remember(disk, path, file);
  if (stat !== null && version === (latest?.head.version ?? 0) + 1) {
    latestVersions?.committed(table.root, { version, scheme, path }, stat);
  }
  return { version, scheme, path, table, file };
}

/**
 * @throws TableReplacedError where the table is another one; OverruledError where the latest version is
 *   another one, after which the caller makes another attempt
 */
async function requireTerms(table: TableAt, { anchor, latest, verify }: PublicationTerms): Promise<void> {
  await verify?.();
  if (latest !== null) {
    const current = await table.environment.manifests.read(table.disk, latest.path);
    if (current?.isCopyOf(latest) !== true) {
      throw new OverruledError(latest.path, { cause: new Error("the latest version was replaced") });
    }
    if (anchor.kind === "version" && anchor.base.file.isCopyOf(latest)) return;
  }
  await requireAnchor(table, anchor);
}

/**
 * Runs a change that files were written for, and removes the files unless they are, or may be, part of a
 * version.
 * @param discard removes the files; a file that it can't remove is garbage that nothing refers to
 * @param change returns null where it made no version
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
