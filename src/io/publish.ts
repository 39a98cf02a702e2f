/**
 * Publishes bytes under a name, and removes names.
 *
 * `createExclusive` decides who gets a name: exactly one of any number of callers, on any machines. Commits
 * use nothing else. The order of its steps makes it safe:
 *
 *     create temporary file ─ write ─ sync ─ close     complete and durable, under a name that readers ignore
 *     verify                                           the caller's last check
 *     link(temporary, final)                           the decision; fails if the name exists
 *     remove temporary
 *     sync directory                                   the name is durable; only now may it be acknowledged
 *
 * The temporary file also proves that neither the directory nor the lock has changed hands since the caller's
 * last check, even if the process was suspended in between. The file lies in the directory of the final name,
 * so it is gone if that directory was removed or replaced. A process that takes a lock over first removes the
 * previous holder's temporary files (`fenceOff`). In both cases the link fails. `replaceFile` and `takeOut`
 * rename in place of linking, and the rename fails in the same cases.
 *
 * `replaceFile` replaces a whole file: readers see the old bytes or the new, but the last writer wins
 * silently. So it serves only files that may be lost or overwritten (hints, side files) or that change under
 * a lock (tags).
 *
 * Temporary files have names `.tmp-<uuid>`. A file that a crash leaves behind is garbage and blocks nothing.
 *
 * A disk with `putIfAbsent` and `replaceIf` (an object store) needs no temporary files: one call writes and
 * decides. Nothing fences off a writer that slept between its last check and that call. Its version is still
 * decided by the name, which no other writer can have got.
 */

import { ConcurrentModificationError, InternalError, UnsupportedError } from "../errors.js";
import { basename, dirname, isSameBytes, isWindows, join } from "../platform/native.js";
import type { Disk, FileStat } from "./disk/disk.js";
import { codeOf, isDiskFull } from "./disk/errno.js";
import type { LockLease } from "./disk/locks.js";
import { TEMPORARY_PREFIX, temporaryName } from "./names/temporaryNames.js";

export interface PublishOptions {
  /**
   * Lease of the lock that all writers of this directory take; the call confirms it right before the
   * decision. Only with a lease may the call use a file system without hard links. There it checks the name
   * and then renames the file, and only the lock makes these two steps one. It can overwrite the file of a
   * writer that ignores the lock (another engine).
   */
  readonly lease?: LockLease;
  /**
   * Called right before the decision, with the temporary file in place. If it throws, the call fails; if it
   * returns false, the call gives the name up.
   */
  readonly verify?: () => Promise<boolean>;
}

/**
 * Thrown when the file to publish is gone: another writer took over the lock, or removed the directory, at
 * the last moment. Nothing has changed.
 */
export class OverruledError extends ConcurrentModificationError {
  constructor(filePath: string, options: { cause: unknown }) {
    super(`${filePath} was about to be published when another writer took over; please retry`, options);
  }
}

/**
 * Thrown when the file is, or may be, visible under its final name, but may not be durable. The commit may be
 * reported neither as a success nor as a failure: others may have read it, and a power cut may remove it.
 * Nothing that the published file refers to may be cleaned up.
 */
export class PublishUncertainError extends InternalError {
  /** "yes": visible now. "unknown": the call could not find out. */
  readonly published: "yes" | "unknown";
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

/**
 * Publishes a complete, synced file under a new name. Returns false if the name exists or `verify` gave it
 * up. Then, and after any error but `PublishUncertainError`, nothing has changed.
 * @returns the identity of the published file if the disk tells it, else true
 * @throws LeaseLostError or OverruledError if the lease was lost
 */
export async function createExclusive(
  disk: Disk,
  directory: string,
  name: string,
  chunks: readonly Uint8Array[],
  { lease, verify }: PublishOptions = {},
): Promise<boolean | string> {
  const finalPath = join(directory, name);
  if (disk.putIfAbsent !== undefined) {
    if ((await verify?.()) === false) return false;
    await lease?.confirm();
    return uncertainly(finalPath, disk.putIfAbsent(finalPath, chunks));
  }
  const temporaryPath = join(directory, temporaryName());
  let published = false;
  try {
    await writeComplete(disk, temporaryPath, chunks, true);
    const isFree = (await verify?.()) ?? true;
    await lease?.confirm();
    const claim = () =>
      claimByLink(disk, temporaryPath, finalPath, () => {
        if (lease === undefined) throw noHardLinks(finalPath);
        return claimByRename(disk, temporaryPath, finalPath, chunks);
      });
    published = isFree && (await claim());
  } catch (error) {
    const isOverruled = lease !== undefined && (await isGone(disk, temporaryPath, error));
    await dropTemporary(disk, temporaryPath);
    if (isOverruled) throw new OverruledError(finalPath, { cause: error });
    throw error;
  }
  await dropTemporary(disk, temporaryPath);
  if (published) await makeNameDurable(disk, directory, finalPath);
  return published;
}

/**
 * Writes `bytes` under a path and replaces an existing file. After a failure, the file has either the old
 * bytes or the new ones. Without `sync`, a power cut may also leave it empty or cut short.
 * @param options `lease` and `verify`: see {@link createExclusive}
 * @returns false if `verify` gave it up; nothing has changed
 * @throws LeaseLostError or OverruledError if the lease was lost
 * @throws PublishUncertainError if the new bytes are visible but may not be durable
 */
export async function replaceFile(
  disk: Disk,
  filePath: string,
  bytes: Uint8Array,
  { sync, lease, verify }: PublishOptions & { readonly sync: boolean },
): Promise<boolean> {
  if (disk.replaceIf !== undefined) {
    await lease?.confirm();
    if ((await verify?.()) === false) return false;
    return (await uncertainly(filePath, disk.replaceIf(filePath, [bytes], null))) !== null;
  }
  const directory = dirname(filePath);
  const temporaryPath = join(directory, temporaryName());
  try {
    await writeComplete(disk, temporaryPath, [bytes], sync);
    await lease?.confirm();
    // This check comes last, because a writer that ignores the lock can get in between it and the rename.
    const isWanted = (await verify?.()) ?? true;
    if (!isWanted) {
      await dropTemporary(disk, temporaryPath);
      return false;
    }
    await disk.rename(temporaryPath, filePath);
  } catch (error) {
    const isOverruled = lease !== undefined && (await isGone(disk, temporaryPath, error));
    await dropTemporary(disk, temporaryPath);
    if (isOverruled) throw new OverruledError(filePath, { cause: error });
    throw error;
  }
  if (sync) await makeNameDurable(disk, directory, filePath);
  return true;
}

/** Code of a disk's error that leaves open whether the file was written. */
const UNCERTAIN = "EUNCERTAIN";

/** @throws PublishUncertainError if the disk does not know whether it wrote the file */
async function uncertainly<T>(filePath: string, put: Promise<T>): Promise<T> {
  try {
    return await put;
  } catch (error) {
    if (codeOf(error) !== UNCERTAIN) throw error;
    throw new PublishUncertainError(filePath, "unknown", { cause: error });
  }
}

/** Returns true if names below a directory of this name are never reused. Undefined: as for its parent. */
export type UniqueNames = (directoryName: string) => boolean | undefined;

/** The part of a lease that a removal needs. A lease without a lock has no `hold`. */
export type RemovalLease = Pick<LockLease, "confirm" | "hold">;

/** Number of entries that this thread has moved into holds; it makes their names unique. */
let movedCount = 0;

/**
 * Moves files and directories out of sight, one after the other, and then removes them. Each move fails once
 * the lease is lost, because its target is gone. The target is the lock's own entry or, for a lease without
 * one, a temporary directory, which `fenceOff` removes.
 *
 * A directory that cannot be moved is emptied in place. Its files are moved out one by one, except those with
 * unique names: a process that lost the lease and removes such a file late cannot hit a successor's file.
 * These are the large files, and an overlay file system would copy them to move them.
 */
export class Removal {
  readonly #disk: Disk;
  readonly #lease: RemovalLease;
  readonly #within: string;
  /** Temporary directory, for entries that cannot be moved into the lock's entry. */
  readonly #directory: string;
  readonly #isUnique: UniqueNames;
  /** Paths of entries in the lock's entry. */
  readonly #held: string[] = [];
  #isMade = false;

  /**
   * @param parent directory that `fenceOff` cleans when the lock is taken over; made when needed
   * @param within existing directory above it
   * @param isUnique default: no names are unique
   */
  constructor(
    disk: Disk,
    parent: string,
    within: string,
    lease: RemovalLease,
    isUnique: UniqueNames = () => undefined,
  ) {
    this.#disk = disk;
    this.#lease = lease;
    this.#within = within;
    this.#directory = join(parent, temporaryName());
    this.#isUnique = isUnique;
  }

  /**
   * Moves a file or directory out of sight; returns false if it does not exist.
   * @throws LeaseLostError or OverruledError if the lease was lost; the entry still exists
   */
  async takeOut(entryPath: string): Promise<boolean> {
    if (this.#disk.hasRename === false) return this.#removeInPlace(entryPath);
    try {
      return await this.move(entryPath);
    } catch (error) {
      // Only a directory can be emptied instead; for a file, the failure is final.
      if (!isUnmovable(error) || (await this.#disk.stat(entryPath))?.kind !== "directory") throw error;
      await this.empty(entryPath);
      return true;
    }
  }

  /** Removes an entry of a disk that cannot move it. */
  async #removeInPlace(entryPath: string): Promise<boolean> {
    const stat = await this.#disk.stat(entryPath);
    if (stat === null) return false;
    await this.#lease.confirm();
    if (stat.kind === "directory") await this.#disk.removeTree(entryPath);
    else await this.#disk.remove(entryPath);
    return true;
  }

  /**
   * Like {@link takeOut}, but leaves a directory that cannot be moved as it is.
   * @throws the error of {@link isUnmovable} for such a directory
   */
  async move(entryPath: string): Promise<boolean> {
    const { hold } = this.#lease;
    if (hold !== undefined && !this.#isMade) {
      const isMoved = await this.#moveInto(hold, entryPath, this.#held);
      if (isMoved !== null) return isMoved;
    }
    if (!this.#isMade) await this.#disk.makeDirectory(this.#directory, this.#within);
    this.#isMade = true;
    await this.#lease.confirm();
    return (await this.#moveInto(this.#directory, entryPath)) ?? false;
  }

  /**
   * @returns false if the entry does not exist, null if `directory` is not a directory
   * @throws OverruledError if the directory has gone, even for a moment
   */
  async #moveInto(directory: string, entryPath: string, moved?: string[]): Promise<boolean | null> {
    const target = join(directory, String(movedCount++));
    try {
      await this.#disk.rename(entryPath, target);
      moved?.push(target);
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOTDIR" && (await this.#disk.stat(directory))?.kind === "file") return null;
      if (codeOf(error) !== "ENOENT") throw error;
      // If fencing fails, the lock is given back; then both the directory and the entry exist.
      const isThere = (await this.#disk.stat(entryPath)) !== null;
      if (!isThere && (await this.#disk.stat(directory)) !== null) return false;
      throw new OverruledError(entryPath, { cause: error });
    }
  }

  /**
   * Removes a directory in place; does nothing if it does not exist. Entries that others add meanwhile stay.
   * @throws LeaseLostError or OverruledError if the lease was lost
   */
  empty(directory: string): Promise<void> {
    return this.#empty(directory, this.#isUnique(basename(directory)) ?? false);
  }

  async #empty(directory: string, hasUniqueNames: boolean): Promise<void> {
    for (const { name, kind } of (await this.#disk.list(directory)) ?? []) {
      const entryPath = join(directory, name);
      if (kind === "directory") {
        await this.#empty(entryPath, this.#isUnique(name) ?? hasUniqueNames);
      } else if (hasUniqueNames) {
        await this.#lease.confirm();
        await this.#disk.remove(entryPath);
      } else {
        await this.takeOut(entryPath);
      }
    }
    await this.#lease.confirm();
    await this.#disk.removeEmptyDirectory(directory);
  }

  /**
   * Removes the entries that were moved out of sight. The moves made the removal final; what remains is
   * garbage.
   */
  async finish(): Promise<void> {
    for (const target of this.#held) await this.#disk.removeTree(target).catch(() => undefined);
    if (!this.#isMade) return;
    await this.#disk.removeTree(this.#directory).catch(() => undefined);
    await this.#disk.removeEmptyDirectory(dirname(this.#directory)).catch(() => false);
  }
}

/**
 * Removes a file whose name a later file may reuse; does nothing if it does not exist. Fails once the lease
 * is lost. On a full disk that guarantee is weaker: the lease is confirmed right before the removal.
 * @param parent directory that `fenceOff` cleans when the lock is taken over; made when needed
 * @param within existing directory above it
 * @throws LeaseLostError or OverruledError if the lease was lost; the file still exists
 */
export async function removeLeased(
  disk: Disk,
  filePath: string,
  parent: string,
  within: string,
  lease: RemovalLease,
): Promise<void> {
  const removal = new Removal(disk, parent, within, lease);
  try {
    await removal.takeOut(filePath);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    await lease.confirm();
    await disk.remove(filePath);
  } finally {
    await removal.finish();
  }
}

/** Removes a former holder's temporary files, so that its next step fails. A takeover calls this first. */
export async function fenceOff(disk: Disk, directory: string): Promise<void> {
  for (const { name, kind } of (await disk.list(directory)) ?? []) {
    if (!name.startsWith(TEMPORARY_PREFIX)) continue;
    const entryPath = join(directory, name);
    await (kind === "directory" ? disk.removeTree(entryPath) : disk.remove(entryPath));
  }
}

/**
 * Returns true if a directory's state prevents its renaming. It belongs to a lower layer of an overlay file
 * system or, on Windows, a file in it is open. On other platforms, the Windows codes mean a lack of
 * permission.
 */
export const isUnmovable = (error: unknown): boolean =>
  codeOf(error) === "EXDEV" || (isWindows() && OPEN_FILE_CODES.has(codeOf(error)));

/** Codes with which Windows refuses to rename a directory that contains an open file. */
const OPEN_FILE_CODES: ReadonlySet<string | undefined> = new Set(["EPERM", "EACCES", "EBUSY"]);

/** Returns true if a call failed because its source no longer exists. */
async function isGone(disk: Disk, temporaryPath: string, error: unknown): Promise<boolean> {
  return codeOf(error) === "ENOENT" && (await disk.stat(temporaryPath).catch(() => undefined)) === null;
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
    // The write's failure counts; the file is about to be removed.
    await handle.close().catch(() => undefined);
    throw error;
  }
  // Some file systems report a failed write only when the file is closed.
  await handle.close();
}

/**
 * Makes the link, and finds out what happened if the answer does not say. Over NFS, a repeated request can
 * report EEXIST, or an I/O error, for a link that was made. Only this call can link this source, so a link to
 * it proves success.
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
      // The link's failure tells more than the stat's.
      throw new PublishUncertainError(finalPath, "unknown", { cause: error });
    }
    if (source !== null && final !== null && source.inode !== "" && source.inode === final.inode) return true;
    if (taken) return false;
    throw error;
  }
}

/** Renames the file; requires the lock of all writers, see `PublishOptions`. */
async function claimByRename(
  disk: Disk,
  temporaryPath: string,
  finalPath: string,
  chunks: readonly Uint8Array[],
): Promise<boolean> {
  if ((await disk.stat(finalPath)) !== null) return false;
  try {
    await disk.rename(temporaryPath, finalPath);
    return true;
  } catch (error) {
    // Compare bytes, not inodes: a process that took the lock over removed the temporary file, and its own
    // file may have got the same inode.
    let isOurs: boolean;
    try {
      isOurs = await hasContent(disk, finalPath, joined(chunks));
    } catch {
      throw new PublishUncertainError(finalPath, "unknown", { cause: error });
    }
    if (isOurs) return true;
    throw error;
  }
}

/** Returns true if a file of exactly these bytes exists. */
export async function hasContent(disk: Disk, filePath: string, bytes: Uint8Array): Promise<boolean> {
  const stat = await disk.stat(filePath);
  if (stat?.kind !== "file" || stat.size !== bytes.length) return false;
  const content = await disk.readFile(filePath);
  return content !== null && isSameBytes(content, bytes);
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, end);
    end += chunk.length;
  }
  return bytes;
}

async function makeNameDurable(disk: Disk, directory: string, finalPath: string): Promise<void> {
  try {
    await disk.syncDirectory(directory);
  } catch (error) {
    throw new PublishUncertainError(finalPath, "yes", { cause: error });
  }
}

/** Removes a temporary file. The outcome is decided, so a failure only leaves garbage. */
async function dropTemporary(disk: Disk, temporaryPath: string): Promise<void> {
  await disk.remove(temporaryPath).catch(() => undefined);
}

function noHardLinks(finalPath: string): UnsupportedError {
  return new UnsupportedError(
    `the file system of ${finalPath} has no hard links; a table there can only be written under its lock`,
  );
}

/**
 * Codes of file systems without hard links, at least for this file. EISDIR comes from exFAT on Windows,
 * EACCES from Android. If EACCES or EPERM means a lack of permission, the rename fails with it as well.
 */
const CANNOT_LINK: ReadonlySet<string> = new Set([
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
  "EXDEV",
  "EISDIR",
  "EACCES",
  "EINVAL",
]);
