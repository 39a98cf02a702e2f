/**
 * The disk of Node.js. With durability "none" it never syncs. Calls that open something wait while the
 * process is out of descriptors (shortage.ts), and short calls may run in line (callRoute.ts). All calls but
 * `stat`, `realPath` and `isLink` are confined to where the engine may work (confinement.ts). `stat` is not
 * checked in and above the namespace's directory.
 */

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { sleep } from "../../async/sleep.js";
import { CorruptFileError } from "../../errors.js";
import { type Confinement, confirmDirectory } from "./confinement.js";
import { makeDirectories, removeTree } from "./directoryTrees.js";
import type {
  AllocateTail,
  DirectoryEntry,
  Disk,
  FileStat,
  ReadHandle,
  ScratchDirectory,
  WriteHandle,
} from "./disk.js";
import { codeOf, isMissing, nullIfMissing } from "./errno.js";
import {
  isSymbolicLink,
  linkFile,
  openDirectory,
  openFile,
  readDirectory,
  removeOneDirectory,
  renamePath,
  statAs,
  statDescriptor,
  statOrNull,
  syncAll,
  syncData,
  unlink,
  withDescriptor,
} from "./fileCalls.js";
import { followLink, LinkedFileError } from "./linkedFile.js";
import { UNCONFINED } from "./localConfinement.js";
import { fileIdentity, NodeWriteHandle, notRegular, openForReading } from "./openFiles.js";
import { realPathOrNull } from "./realPath.js";

export interface NodeDiskOptions {
  /** "fsync": `sync`, `syncFile`, `syncDirectory` and `makeDirectory` reach the device. "none": none does. */
  readonly durability: "fsync" | "none";
  /** Confinement of all steps; admitted links are followed. Default: steps anywhere, no followed links. */
  readonly confinement?: Confinement;
}

/** Maximum number of directories whose own name is recorded as durable; a full record starts over. */
const MAX_DURABLE_DIRECTORIES = 4096;

/** Bytes up to which `open` reads a whole file. */
const READ_ALONG_BYTES = 32 * 1024;

const IS_WINDOWS = process.platform === "win32";
/** Maximum number of attempts at a call on a file that other programs may have open. */
const WINDOWS_ATTEMPTS = 6;

// Some platforms lack some of these constants.
const { O_RDONLY, O_RDWR, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
const OVERWRITE_FLAGS = O_RDWR | O_NONBLOCK | O_NOFOLLOW;
const SYNC_FLAGS = O_RDONLY | O_NONBLOCK;
/** Windows flushes only through a descriptor that may write. */
const SYNC_FILE_FLAGS = IS_WINDOWS ? O_RDWR : SYNC_FLAGS | O_NOFOLLOW;
/** Codes with which platforms refuse to follow a link. */
const LINK_CODES: ReadonlySet<string | undefined> = new Set(["ELOOP", "EMLINK", "EFTYPE"]);
/** Codes with which platforms refuse a socket, or a device that does not exist. */
const SPECIAL_CODES: ReadonlySet<string | undefined> = new Set(["ENXIO", "ENODEV", "EOPNOTSUPP"]);

/** Returns the directory of the system for temporary files, for disks that have no place for them. */
export const temporaryDirectory = (): ScratchDirectory => ({
  disk: new NodeDisk({ durability: "none" }),
  path: os.tmpdir(),
});

export class NodeDisk implements Disk {
  readonly #durable: boolean;
  readonly #durableDirectories = new Set<string>();
  readonly #confinement: Confinement;
  readonly #followsLinks: boolean;

  constructor({ durability, confinement }: NodeDiskOptions) {
    this.#durable = durability === "fsync";
    this.#confinement = confinement ?? UNCONFINED;
    this.#followsLinks = confinement !== undefined;
  }

  async readFile(filePath: string, maxBytes = Number.MAX_SAFE_INTEGER): Promise<Uint8Array | null> {
    const handle = await this.open(filePath, READ_ALONG_BYTES);
    if (handle === null) return null;
    try {
      if (handle.size > maxBytes) {
        throw new CorruptFileError(filePath, maxBytes, `${handle.size} bytes, more than ${maxBytes}`);
      }
      const tail = handle.takeTail?.();
      return tail?.length === handle.size ? tail : await handle.read(0, handle.size);
    } finally {
      await handle.close();
    }
  }

  async open(filePath: string, tailBytes = 0, allocate?: AllocateTail): Promise<ReadHandle | null> {
    try {
      return await openForReading(this.#confinement, filePath, tailBytes, allocate);
    } catch (error) {
      if (await isLinkError(error, filePath)) {
        const target = await this.#follow(filePath, error);
        return target === null ? null : openForReading(this.#confinement, target, tailBytes, allocate);
      }
      if (isMissing(error)) return null;
      if (SPECIAL_CODES.has(codeOf(error))) throw notRegular(filePath, error);
      throw error;
    }
  }

  /** Returns the target of a file that is a link; null if it dangles. */
  async #follow(filePath: string, error: unknown): Promise<string | null> {
    if (this.#followsLinks) return followLink(this.#confinement, filePath);
    if ((await this.realPath(filePath)) === null) return null;
    throw error instanceof LinkedFileError ? error : new LinkedFileError(filePath, { cause: error });
  }

  async create(filePath: string, access?: "private"): Promise<WriteHandle> {
    const fd = await openFile(this.#confinement, filePath, "wx", access === "private" ? 0o600 : undefined);
    const handle = new NodeWriteHandle(fd, filePath, this.#durable);
    try {
      // A file that lies elsewhere must not be written.
      if (this.#confinement.mayFollow) await confirmDirectory(this.#confinement, path.dirname(filePath));
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  watchDirectory(directory: string, onChange: () => void): (() => void) | null {
    try {
      const watcher = fs.watch(directory, { persistent: false }, onChange);
      // A watch that fails later, as of a removed directory, only stops calling back.
      watcher.on("error", onChange);
      return () => watcher.close();
    } catch {
      // The directory is missing, or the system has no watches left.
      return null;
    }
  }

  async overwrite(filePath: string, bytes: Uint8Array): Promise<boolean> {
    let fd: number;
    try {
      fd = await openFile(this.#confinement, filePath, OVERWRITE_FLAGS);
    } catch (error) {
      if (isMissing(error) || LINK_CODES.has(codeOf(error))) return false;
      throw error;
    }
    const handle = new NodeWriteHandle(fd, filePath, this.#durable);
    try {
      const stats = await statDescriptor(fd);
      // Another name of the file may lie anywhere.
      if (!stats.isFile() || stats.nlink !== 1 || stats.size !== bytes.length) return false;
      await handle.write([bytes]);
      return true;
    } finally {
      await handle.close();
    }
  }

  link(existingPath: string, newPath: string): Promise<void> {
    return linkFile(this.#confinement, existingPath, newPath);
  }

  rename(fromPath: string, toPath: string): Promise<void> {
    return whileHeldByOthers(() => renamePath(this.#confinement, fromPath, toPath));
  }

  async remove(filePath: string, byteLength?: number): Promise<void> {
    await whileHeldByOthers(() => unlink(this.#confinement, filePath, byteLength)).catch(nullIfMissing);
  }

  removeTree(directory: string): Promise<void> {
    return removeTree(this.#confinement, directory);
  }

  async removeEmptyDirectory(directory: string): Promise<boolean> {
    try {
      await removeOneDirectory(this.#confinement, directory);
      return true;
    } catch (error) {
      // POSIX allows EEXIST for a directory that is not empty; Windows may still have one open.
      const full = ["ENOTEMPTY", "EEXIST", "EBUSY", "EPERM"].includes(codeOf(error) ?? "");
      if (full || isMissing(error)) return false;
      throw error;
    }
  }

  async makeDirectory(directory: string, within?: string): Promise<boolean> {
    const made = await makeDirectories(this.#confinement, directory, within);
    if (this.#durable) await this.#makeNamesDurable(path.resolve(directory));
    return made;
  }

  async list(directory: string): Promise<DirectoryEntry[] | null> {
    const children = await readDirectory(this.#stepsOn(directory), directory).catch(nullIfMissing);
    if (children === null) return null;
    const entries: DirectoryEntry[] = [];
    for (const entry of children) {
      const isLink = entry.isSymbolicLink();
      const target = isLink ? await this.stat(path.join(directory, entry.name)) : null;
      entries.push({ name: entry.name, kind: isLink ? (target?.kind ?? "other") : kindOf(entry) });
    }
    return entries;
  }

  stat(filePath: string): Promise<FileStat | null> {
    const { admitted } = this.#confinement;
    return admitted.isOnRootPath(filePath) ? this.#stat(filePath) : this.#statElsewhere(filePath);
  }

  async #statElsewhere(filePath: string): Promise<FileStat | null> {
    await confirmDirectory(this.#confinement, path.dirname(filePath));
    return this.#stat(filePath);
  }

  #stat(filePath: string): Promise<FileStat | null> {
    return statAs(filePath, (stats) => ({
      kind: kindOf(stats),
      size: Number(stats.size),
      modifiedNs: stats.mtimeNs,
      changedNs: stats.ctimeNs,
      birthNs: stats.birthtimeNs,
      inode: `${stats.dev}:${stats.ino}`,
      identity: fileIdentity(stats),
      links: Number(stats.nlink),
    }));
  }

  realPath(filePath: string): Promise<string | null> {
    return realPathOrNull(filePath);
  }

  async isLink(filePath: string): Promise<boolean> {
    return (await isSymbolicLink(filePath).catch(nullIfMissing)) ?? false;
  }

  async syncFile(filePath: string): Promise<void> {
    if (!this.#durable) return;
    try {
      await withDescriptor(openFile(this.#confinement, filePath, SYNC_FILE_FLAGS), filePath, syncData);
    } catch (error) {
      if (!(await isLinkError(error, filePath))) throw error;
      const target = await followLink(this.#confinement, filePath);
      if (target === null) throw error;
      await withDescriptor(openFile(this.#confinement, target, SYNC_FILE_FLAGS), target, syncData);
    }
  }

  async syncDirectory(directory: string): Promise<void> {
    if (!this.#durable || IS_WINDOWS) return;
    try {
      const opening = openDirectory(this.#stepsOn(directory), directory, SYNC_FLAGS);
      await withDescriptor(opening, directory, syncAll);
    } catch (error) {
      // File systems that keep directories durable by themselves refuse with one of these codes.
      const code = codeOf(error);
      if (code !== "EISDIR" && code !== "EPERM" && code !== "EINVAL") throw error;
    }
  }

  /** Returns the confinement of a step. Directories on the way to the root are exempt. */
  #stepsOn(directory: string): Confinement {
    return this.#confinement.admitted.isRootOrAbove(directory) ? UNCONFINED : this.#confinement;
  }

  /**
   * Syncs the names of a directory and of those above it, each once. An existing directory may be a moment
   * old, made by another process or by a call that failed half-way. A power cut must not remove it with what
   * is published in it. Birth time and inode distinguish a directory from its successor under the same path.
   */
  async #makeNamesDurable(directory: string): Promise<void> {
    const { admitted } = this.#confinement;
    for (let parent = path.dirname(directory); parent !== directory; parent = path.dirname(directory)) {
      // The engine makes no directories above the host's.
      if (admitted.homeOf(parent) === null && !admitted.isRootOrAbove(parent)) return;
      const stats = await statOrNull(directory);
      if (stats === null) return;
      const key = `${stats.dev}:${stats.ino}:${stats.birthtimeNs}:${directory}`;
      if (this.#durableDirectories.has(key)) return;
      try {
        await this.syncDirectory(parent);
      } catch (error) {
        // The engine makes no directories in a parent that this user may not read.
        if (codeOf(error) !== "EACCES") throw error;
        return;
      }
      if (this.#durableDirectories.size >= MAX_DURABLE_DIRECTORIES) this.#durableDirectories.clear();
      this.#durableDirectories.add(key);
      directory = parent;
    }
  }
}

/** Returns true if opening failed because the file is a link. */
const isLinkError = async (error: unknown, filePath: string): Promise<boolean> =>
  error instanceof LinkedFileError ||
  (LINK_CODES.has(codeOf(error)) && (await isSymbolicLink(filePath).catch(() => false)));

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean }): FileStat["kind"] {
  return entry.isFile() ? "file" : entry.isDirectory() ? "directory" : "other";
}

/** Repeats a refused call: Windows neither renames nor removes a file that a scanner has open. */
async function whileHeldByOthers(call: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const code = codeOf(error);
      const held = code === "EBUSY" || code === "EPERM" || code === "EACCES";
      if (!IS_WINDOWS || !held || attempt === WINDOWS_ATTEMPTS) throw error;
      await sleep(10 * attempt);
    }
  }
}
