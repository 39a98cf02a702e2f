/**
 * How bytes become visible under a name, and how a name goes away.
 *
 * `createExclusive` decides who gets a name: of any number of callers, in any processes on any machines,
 * exactly one does. It is the only way to commit. The order of its steps makes it safe:
 *
 *     create temporary file ─ write ─ sync ─ close     complete and durable, under a name nobody looks at
 *     verify                                           the caller's last look at what must hold
 *     link(temporary, final)                           the decision; fails where the name is taken
 *     remove temporary
 *     sync directory                                   the name is durable; only now may it be acknowledged
 *
 * The temporary file also proves that neither the directory nor the lock has changed hands since the caller's
 * last look, however long the process was suspended in between. The file lies in the directory that is
 * published into, so it is gone where that directory was removed or replaced, and a process that takes a lock
 * over first removes the previous holder's temporary files (`fenceOff`). Then the link fails. `replaceFile`
 * and `takeOut` decide by a rename that fails the same way.
 *
 * `replaceFile` replaces a whole file: readers see the old bytes or the new, but the last writer wins
 * silently. So it serves only files that may be lost or overwritten (hints, side files) or that are changed
 * under a lock (tags).
 *
 * Temporary files are named `.tmp-<uuid>`. One that a crash leaves behind is garbage and blocks nothing.
 */

import path from "node:path";
import { ConcurrentModificationError, InternalError, UnsupportedError } from "../errors.js";
import type { Disk, FileStat } from "./disk/disk.js";
import { codeOf, isDiskFull } from "./disk/errno.js";
import type { LockLease } from "./lock/lease.js";
import { TEMPORARY_PREFIX, temporaryName } from "./names/temporaryNames.js";

export interface PublishOptions {
  /**
   * The lock that all writers of this directory take, held by the caller; it is confirmed right before the
   * decision. Only with it may a file system without hard links be used: there the name is checked and then
   * the file renamed onto it, and only the lock makes these two steps one. A writer that ignores the lock
   * (another engine) can be overwritten there.
   */
  readonly lease?: LockLease;
  /**
   * Called right before the decision, with the temporary file in place. An error that it throws ends the
   * call; false gives the name up.
   */
  readonly verify?: () => Promise<boolean>;
}

/**
 * The file that was about to be published is gone: another writer took the lock over, or the directory away,
 * at the last moment. Nothing has changed.
 */
export class OverruledError extends ConcurrentModificationError {
  constructor(filePath: string, options: { cause: unknown }) {
    super(`${filePath} was about to be published when another writer took over; please retry`, options);
  }
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

/**
 * Publishes a complete, synced file under a name that must not exist. False where the name is taken or
 * `verify` gave it up. Then, and after any error but `PublishUncertainError`, nothing has changed.
 * @throws LeaseLostError, OverruledError where the lease was lost
 */
export async function createExclusive(
  disk: Disk,
  directory: string,
  name: string,
  chunks: readonly Uint8Array[],
  { lease, verify }: PublishOptions = {},
): Promise<boolean> {
  const finalPath = path.join(directory, name);
  const temporaryPath = path.join(directory, temporaryName());
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
 * Puts `bytes` under a path and replaces the file that is there. After a failure either the old bytes or the
 * new ones are there, whole. Without `sync` the same holds only until a power cut, after which the file may
 * also be empty or cut short.
 * @param options `lease` and `verify`: as those of {@link createExclusive}
 * @returns false where `verify` gave it up: nothing has changed
 * @throws LeaseLostError, OverruledError where the lease was lost
 * @throws PublishUncertainError where the new bytes are there but may be gone after a power cut
 */
export async function replaceFile(
  disk: Disk,
  filePath: string,
  bytes: Uint8Array,
  { sync, lease, verify }: PublishOptions & { readonly sync: boolean },
): Promise<boolean> {
  const directory = path.dirname(filePath);
  const temporaryPath = path.join(directory, temporaryName());
  try {
    await writeComplete(disk, temporaryPath, [bytes], sync);
    await lease?.confirm();
    // Last, because writers that ignore the lock can get in between this and the rename.
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

/**
 * Tells whether the files in and below a directory of this name have names that no other file will ever have.
 * Undefined means the same as for the directory around it.
 */
export type UniqueNames = (directoryName: string) => boolean | undefined;

/** The lease that a removal goes by: a lock's, or another that has no `hold`. */
export type RemovalLease = Pick<LockLease, "confirm" | "hold">;

/** How many entries this thread has moved into holds: a number of its own for each. */
let movedCount = 0;

/**
 * Moves files and directories that are to go together out of sight, one after the other, and then removes
 * them. Each move fails once the lease is lost, because its target is gone: the lock's own entry or, for a
 * lease without one, a temporary directory, which `fenceOff` removes.
 *
 * A directory that can't be moved is emptied where it is. Its files are moved out one by one, except those
 * with unique names: a process that removes such a file late, after it lost the lease, cannot hit a
 * successor's file. These are the large files, which an overlay file system would have to copy in order to
 * move them.
 */
export class Removal {
  readonly #disk: Disk;
  readonly #lease: RemovalLease;
  readonly #within: string;
  /** The temporary directory, for moves that can't go into the lock's entry. */
  readonly #directory: string;
  readonly #isUnique: UniqueNames;
  /** What was moved into the lock's entry. */
  readonly #held: string[] = [];
  #isMade = false;

  /**
   * @param parent a directory that `fenceOff` is called with when the lock is taken over; it is made where it
   *   is needed
   * @param within a directory above it that is there
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
    this.#directory = path.join(parent, temporaryName());
    this.#isUnique = isUnique;
  }

  /**
   * Moves a file or directory out of sight; false where there is none.
   * @throws LeaseLostError, OverruledError where the lease was lost; the entry is still there
   */
  async takeOut(entryPath: string): Promise<boolean> {
    try {
      return await this.move(entryPath);
    } catch (error) {
      // For a file, the failure to move it is final.
      if (!isUnmovable(error) || (await this.#disk.stat(entryPath))?.kind !== "directory") throw error;
      await this.empty(entryPath);
      return true;
    }
  }

  /**
   * Like {@link takeOut}, but a directory that can't be moved stays as it is.
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
   * @returns false where there is no entry, null where `directory` is none
   * @throws OverruledError where the directory has gone, if only for a moment
   */
  async #moveInto(directory: string, entryPath: string, moved?: string[]): Promise<boolean | null> {
    const target = path.join(directory, String(movedCount++));
    try {
      await this.#disk.rename(entryPath, target);
      moved?.push(target);
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOTDIR" && (await this.#disk.stat(directory))?.kind === "file") return null;
      if (codeOf(error) !== "ENOENT") throw error;
      // Who fails to fence this holder off gives the lock back: then the directory is there, and the entry,
      // too.
      const isThere = (await this.#disk.stat(entryPath)) !== null;
      if (!isThere && (await this.#disk.stat(directory)) !== null) return false;
      throw new OverruledError(entryPath, { cause: error });
    }
  }

  /**
   * Removes a directory without moving it; quiet where there is none. Entries that somebody adds meanwhile
   * stay.
   * @throws LeaseLostError, OverruledError where the lease was lost
   */
  empty(directory: string): Promise<void> {
    return this.#empty(directory, this.#isUnique(path.basename(directory)) ?? false);
  }

  async #empty(directory: string, hasUniqueNames: boolean): Promise<void> {
    for (const { name, kind } of (await this.#disk.list(directory)) ?? []) {
      const entryPath = path.join(directory, name);
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
   * Removes the entries that were moved out of sight. That is decided by then: an entry that can't be removed
   * is garbage.
   */
  async finish(): Promise<void> {
    for (const target of this.#held) await this.#disk.removeTree(target).catch(() => undefined);
    if (!this.#isMade) return;
    await this.#disk.removeTree(this.#directory).catch(() => undefined);
    await this.#disk.removeEmptyDirectory(path.dirname(this.#directory)).catch(() => false);
  }
}

/**
 * Removes a file whose name a successor's file can have; quiet where there is none. It fails once the lease
 * is lost. On a disk that is too full to guarantee this, the lease is only confirmed right before the
 * removal.
 * @param parent a directory that `fenceOff` is called with when the lock is taken over; it is made
 * @param within a directory above it that is there
 * @throws LeaseLostError, OverruledError where the lease was lost: the file is still there
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

/**
 * Removes the temporary files of a holder that lost its lock from a directory, so that the holder's next step
 * fails. The process that takes the lock over calls it before anything else.
 */
export async function fenceOff(disk: Disk, directory: string): Promise<void> {
  for (const { name, kind } of (await disk.list(directory)) ?? []) {
    if (!name.startsWith(TEMPORARY_PREFIX)) continue;
    const entryPath = path.join(directory, name);
    await (kind === "directory" ? disk.removeTree(entryPath) : disk.remove(entryPath));
  }
}

/**
 * True if a directory can't be renamed because of its state: it belongs to a lower layer of an overlay file
 * system or, on Windows, a file in it is open. On other platforms the codes of Windows mean that the caller
 * lacks permission.
 */
export const isUnmovable = (error: unknown): boolean =>
  codeOf(error) === "EXDEV" || (process.platform === "win32" && OPEN_FILE_CODES.has(codeOf(error)));

/** The codes with which Windows refuses to rename a directory in which a file is open. */
const OPEN_FILE_CODES: ReadonlySet<string | undefined> = new Set(["EPERM", "EACCES", "EBUSY"]);

/** True if a call failed because its source was not there any more. */
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
    // The write failed first; a failing close adds nothing, and the file is about to be removed.
    await handle.close().catch(() => undefined);
    throw error;
  }
  // Some file systems report a failed write only here.
  await handle.close();
}

/**
 * Makes the link, and finds out what happened where the answer does not say: over NFS a repeated request can
 * answer EEXIST, or an I/O error, for a link that was made. Nobody else can have linked this source, so a
 * link to it that is there was made by this call.
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
    if (source !== null && final !== null && source.inode === final.inode) return true;
    if (taken) return false;
    throw error;
  }
}

/** Only under the lock of all writers, see `PublishOptions`. */
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
    // The inode would not tell: the process that took the lock over removed the temporary file, and its own
    // file may have got the same inode.
    let isOurs: boolean;
    try {
      isOurs = await hasContent(disk, finalPath, Buffer.concat(chunks));
    } catch {
      throw new PublishUncertainError(finalPath, "unknown", { cause: error });
    }
    if (isOurs) return true;
    throw error;
  }
}

/** True if there is a file of exactly these bytes at a path. */
export async function hasContent(disk: Disk, filePath: string, bytes: Uint8Array): Promise<boolean> {
  const stat = await disk.stat(filePath);
  if (stat?.kind !== "file" || stat.size !== bytes.length) return false;
  const found = await disk.readFile(filePath);
  return found !== null && Buffer.compare(found, bytes) === 0;
}

async function makeNameDurable(disk: Disk, directory: string, finalPath: string): Promise<void> {
  try {
    await disk.syncDirectory(directory);
  } catch (error) {
    throw new PublishUncertainError(finalPath, "yes", { cause: error });
  }
}

/**
 * A orphan temporary file is garbage that the table's cleanup removes. By now the outcome of the call is
 * decided, and a failure here must not change it.
 */
async function dropTemporary(disk: Disk, temporaryPath: string): Promise<void> {
  await disk.remove(temporaryPath).catch(() => undefined);
}

function noHardLinks(finalPath: string): UnsupportedError {
  return new UnsupportedError(
    `the file system of ${finalPath} has no hard links; a table there can only be written under its lock`,
  );
}

/**
 * Codes of a file system that has no hard links, or none for this file: EISDIR comes from exFAT on Windows,
 * EACCES from Android. Where EACCES or EPERM means that the caller lacks permission, the rename fails with it
 * as well.
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
