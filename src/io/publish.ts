/**
 * The two ways bytes become visible under a name.
 *
 * `createExclusive` decides: of any number of callers, in any processes on any machines, one gets the name.
 * It is the only way to commit. The order is what makes it safe:
 *
 *     create temporary file ─ write ─ sync ─ close     complete and durable, under a name nobody looks at
 *     link(temporary, final)                           the decision; fails where the name is taken
 *     remove temporary
 *     sync directory                                   the name is durable; only now may it be acknowledged
 *
 * `replaceFile` overwrites whole: readers see the old bytes or the new, but the last writer wins silently, so
 * it serves only what may be lost or overwritten (hints, side files).
 *
 * Temporary files are named `.tmp-<uuid>`. One that a crash leaves behind is garbage and blocks nothing.
 */

import { randomUUID } from "node:crypto";
import path from "node:path";
import { InternalError, UnsupportedError } from "../errors.js";
import type { Disk, FileStat } from "./disk.js";
import { codeOf } from "./errno.js";

export interface PublishOptions {
  /**
   * The caller holds the lock that all writers of this directory take. Only then may a file system without
   * hard links be used: there the name is checked and the file renamed onto it, two steps that nothing but
   * the lock makes one. A writer that ignores the lock (another engine) can be overwritten there.
   */
  readonly lockedRename?: boolean;
}

/**
 * The file is, or may be, visible under its final name, but the call could not make sure that it lasts.
 * Neither a success nor a failure may be reported for the commit: others may have read it already, and it may
 * be gone after a power cut. In particular nothing that the published file refers to may be cleaned up.
 */
export class PublishUncertainError extends InternalError {
  /** "yes": visible now. "unknown": even that could not be found out. */
  readonly published: "yes" | "unknown";
  /** The final name. */
  readonly path: string;

  constructor(filePath: string, published: "yes" | "unknown", options: { cause: unknown }) {
    super(
      published === "yes"
        ? `${filePath} was published, but may not survive a power cut`
        : `it is unknown whether ${filePath} was published`,
      options,
    );
    this.name = "PublishUncertainError";
    this.published = published;
    this.path = filePath;
  }
}

/** Start of the names of files that are being written. */
export const TEMPORARY_PREFIX = ".tmp-";

/** A fresh name for a file that is being written; never taken for a manifest. */
export function temporaryName(): string {
  return TEMPORARY_PREFIX + randomUUID();
}

/**
 * Publishes a complete, synced file under a name that must not exist. False where the name is taken; then, and
 * whenever anything but `PublishUncertainError` is thrown, nothing has changed.
 */
export async function createExclusive(
  disk: Disk,
  directory: string,
  name: string,
  chunks: readonly Uint8Array[],
  options: PublishOptions = {},
): Promise<boolean> {
  const finalPath = path.join(directory, name);
  const temporaryPath = path.join(directory, temporaryName());
  let published = false;
  try {
    await writeComplete(disk, temporaryPath, chunks, true);
    published = await claimByLink(disk, temporaryPath, finalPath, () => {
      if (!options.lockedRename) throw noHardLinks(finalPath);
      return claimByRename(disk, temporaryPath, finalPath);
    });
  } catch (error) {
    await dropTemporary(disk, temporaryPath);
    throw error;
  }
  await dropTemporary(disk, temporaryPath);
  if (published) await makeNameDurable(disk, directory, finalPath);
  return published;
}

/**
 * Puts `bytes` under a path, over what is there. When it fails the old bytes or the new are there, whole.
 * Without `sync` the same holds until a power cut, after which the file may also be empty or cut short.
 */
export async function replaceFile(
  disk: Disk,
  filePath: string,
  bytes: Uint8Array,
  options: { readonly sync: boolean },
): Promise<void> {
  const directory = path.dirname(filePath);
  const temporaryPath = path.join(directory, temporaryName());
  try {
    await writeComplete(disk, temporaryPath, [bytes], options.sync);
    await disk.rename(temporaryPath, filePath);
  } catch (error) {
    await dropTemporary(disk, temporaryPath);
    throw error;
  }
  if (options.sync) await disk.syncDirectory(directory);
}

async function writeComplete(
  disk: Disk,
  filePath: string,
  chunks: readonly Uint8Array[],
  sync: boolean,
): Promise<void> {
  const handle = await disk.create(filePath);
  try {
    await handle.write(chunks);
    if (sync) await handle.sync();
  } catch (error) {
    // The write failed first; a failing close adds nothing, and the file is about to be removed.
    await handle.close().catch(() => undefined);
    throw error;
  }
  // Some file systems report a failed write only here.
  await handle.close();
}

/**
 * Links, and finds out what happened where the answer does not say: over NFS a repeated request can answer
 * EEXIST, or an I/O error, for a link that was made. Nobody else can have linked this source, so a link that is
 * there is this call's.
 */
async function claimByLink(
  disk: Disk,
  sourcePath: string,
  finalPath: string,
  withoutLinks: () => Promise<boolean>,
): Promise<boolean> {
  try {
    await disk.link(sourcePath, finalPath);
    return true;
  } catch (error) {
    const taken = codeOf(error) === "EEXIST";
    if (CANNOT_LINK.has(codeOf(error) ?? "")) return withoutLinks();
    let source: FileStat | null;
    let final: FileStat | null;
    try {
      source = await disk.stat(sourcePath);
      final = await disk.stat(finalPath);
    } catch {
      // The link's own failure tells more than that of the stat.
      throw new PublishUncertainError(finalPath, "unknown", { cause: error });
    }
    if (source !== null && final !== null && source.identity === final.identity) return true;
    if (taken) return false;
    throw error;
  }
}

/** Only under the lock of all writers, see `PublishOptions`. */
async function claimByRename(disk: Disk, temporaryPath: string, finalPath: string): Promise<boolean> {
  if ((await disk.stat(finalPath)) !== null) return false;
  const source = await disk.stat(temporaryPath);
  try {
    await disk.rename(temporaryPath, finalPath);
    return true;
  } catch (error) {
    let final: FileStat | null;
    try {
      final = await disk.stat(finalPath);
    } catch {
      throw new PublishUncertainError(finalPath, "unknown", { cause: error });
    }
    if (source !== null && final !== null && source.identity === final.identity) return true;
    throw error;
  }
}

async function makeNameDurable(disk: Disk, directory: string, finalPath: string): Promise<void> {
  try {
    await disk.syncDirectory(directory);
  } catch (error) {
    throw new PublishUncertainError(finalPath, "yes", { cause: error });
  }
}

/**
 * A temporary file that stays is garbage that the table's cleanup removes; by now the outcome of the call is
 * decided and a failure here must not change it.
 */
async function dropTemporary(disk: Disk, temporaryPath: string): Promise<void> {
  await disk.remove(temporaryPath).catch(() => undefined);
}

function noHardLinks(finalPath: string): UnsupportedError {
  return new UnsupportedError(
    `the file system of ${finalPath} has no hard links; a table there can only be written under its lock`,
  );
}

/** Answers of a file system that has no hard links, or not for this file. */
const CANNOT_LINK: ReadonlySet<string> = new Set([
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
  "EXDEV",
]);
