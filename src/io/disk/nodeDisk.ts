/**
 * The disk of Node.js. With durability "none" nothing is ever synced; all else is the same. Calls that open something
 * wait while the process is out of descriptors (shortage.ts), and short calls may run in line (callRoute.ts).
 */

import fs from "node:fs";
import path from "node:path";
import { CorruptFileError } from "../../errors.js";
import { onPool } from "./callRoute.js";
import { makeDirectories, removeTree } from "./directoryTrees.js";
import type { AllocateTail, DirectoryEntry, Disk, FileStat, ReadHandle, WriteHandle } from "./disk.js";
import { codeOf, isMissing } from "./errno.js";
import {
  isSymbolicLink,
  linkFile,
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
import { LinkedFileError } from "./linkedFile.js";
import { IS_WINDOWS, whileHeldByOthers } from "./onWindows.js";
import { fileIdentity, NodeWriteHandle, notRegular, openForReading } from "./openFiles.js";

export interface NodeDiskOptions {
  /** "fsync": `sync`, `syncFile`, `syncDirectory` and `makeDirectory` reach the device. "none": they don't. */
  readonly durability: "fsync" | "none";
}

/** Directories whose own name is known to be durable; the set starts over when it is full. */
const MAX_DURABLE_DIRECTORIES = 4096;

/** A whole file up to this size is read by the call that opens it. */
const READ_ALONG_BYTES = 32 * 1024;

/** Platforms that lack one of these have no such constant. */
const { O_RDONLY, O_RDWR, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
const OVERWRITE_FLAGS = O_RDWR | O_NONBLOCK | O_NOFOLLOW;
const SYNC_FLAGS = O_RDONLY | O_NONBLOCK;
/** The codes of platforms for a link that is not to be followed. */
const LINK_CODES: ReadonlySet<string | undefined> = new Set(["ELOOP", "EMLINK", "EFTYPE"]);
/** Their codes for a socket, or a device that is not there. */
const SPECIAL_CODES: ReadonlySet<string | undefined> = new Set(["ENXIO", "ENODEV", "EOPNOTSUPP"]);

export class NodeDisk implements Disk {
  readonly #durable: boolean;
  readonly #durableDirectories = new Set<string>();

  constructor(options: NodeDiskOptions) {
    this.#durable = options.durability === "fsync";
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
      return await openForReading(filePath, tailBytes, allocate);
    } catch (error) {
      const code = codeOf(error);
      if (LINK_CODES.has(code) && (await isSymbolicLink(filePath).catch(() => false))) {
        if ((await this.realPath(filePath)) === null) return null;
        throw new LinkedFileError(filePath, { cause: error });
      }
      if (isMissing(error)) return null;
      if (SPECIAL_CODES.has(code)) throw notRegular(filePath, error);
      throw error;
    }
  }

  async create(filePath: string, access?: "private"): Promise<WriteHandle> {
    const fd = await openFile(filePath, "wx", access === "private" ? 0o600 : undefined);
    return new NodeWriteHandle(fd, filePath, this.#durable);
  }

  async overwrite(filePath: string, bytes: Uint8Array): Promise<boolean> {
    let fd: number;
    try {
      fd = await openFile(filePath, OVERWRITE_FLAGS);
    } catch (error) {
      if (isMissing(error) || LINK_CODES.has(codeOf(error))) return false;
      throw error;
    }
    const handle = new NodeWriteHandle(fd, filePath, this.#durable);
    try {
      const stats = await statDescriptor(fd);
      if (!stats.isFile() || stats.size !== bytes.length) return false;
      await handle.write([bytes]);
      return true;
    } finally {
      await handle.close();
    }
  }

  link(existingPath: string, newPath: string): Promise<void> {
    return linkFile(existingPath, newPath);
  }

  rename(fromPath: string, toPath: string): Promise<void> {
    return whileHeldByOthers(() => renamePath(fromPath, toPath));
  }

  async remove(filePath: string, byteLength?: number): Promise<void> {
    try {
      await whileHeldByOthers(() => unlink(filePath, byteLength));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  removeTree(directory: string): Promise<void> {
    return removeTree(directory);
  }

  async removeEmptyDirectory(directory: string): Promise<boolean> {
    try {
      await removeOneDirectory(directory);
      return true;
    } catch (error) {
      // POSIX lets a system say EEXIST for a directory that is not empty; Windows may hold on to one in use.
      const full = ["ENOTEMPTY", "EEXIST", "EBUSY", "EPERM"].includes(codeOf(error) ?? "");
      if (full || isMissing(error)) return false;
      throw error;
    }
  }

  async makeDirectory(directory: string, within?: string): Promise<boolean> {
    const made = await makeDirectories(directory, within);
    if (this.#durable) await this.#makeNamesDurable(path.resolve(directory));
    return made;
  }

  async list(directory: string): Promise<DirectoryEntry[] | null> {
    let found: fs.Dirent[];
    try {
      found = await readDirectory(directory);
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
    const entries: DirectoryEntry[] = [];
    for (const entry of found) {
      if (entry.isSymbolicLink()) {
        const target = await this.stat(path.join(directory, entry.name));
        entries.push({ name: entry.name, kind: target?.kind ?? "other" });
      } else {
        entries.push({ name: entry.name, kind: kindOf(entry) });
      }
    }
    return entries;
  }

  stat(filePath: string): Promise<FileStat | null> {
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

  async realPath(filePath: string): Promise<string | null> {
    try {
      return await onPool<string>((done) => fs.realpath.native(filePath, done));
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async isLink(filePath: string): Promise<boolean> {
    try {
      return await isSymbolicLink(filePath);
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async syncFile(filePath: string): Promise<void> {
    if (!this.#durable) return;
    // Windows flushes only through a descriptor that may write.
    await withDescriptor(filePath, IS_WINDOWS ? O_RDWR : SYNC_FLAGS, syncData);
  }

  async syncDirectory(directory: string): Promise<void> {
    if (!this.#durable || IS_WINDOWS) return;
    try {
      await withDescriptor(directory, SYNC_FLAGS, syncAll);
    } catch (error) {
      // File systems that keep directories durable by themselves refuse with one of these.
      const code = codeOf(error);
      if (code !== "EISDIR" && code !== "EPERM" && code !== "EINVAL") throw error;
    }
  }

  /**
   * Syncs the names of a directory and of those above it, each once. A directory that is there already may have been
   * made a moment ago by another process, or by a call that failed half-way, and what is published in it must not be
   * lost with it. Birth time and inode tell a directory from its successor under the same path.
   */
  async #makeNamesDurable(directory: string): Promise<void> {
    for (let parent = path.dirname(directory); parent !== directory; parent = path.dirname(directory)) {
      const stats = await statOrNull(directory);
      if (stats === null) return;
      const key = `${stats.dev}:${stats.ino}:${stats.birthtimeNs}:${directory}`;
      if (this.#durableDirectories.has(key)) return;
      try {
        await this.syncDirectory(parent);
      } catch (error) {
        // In a parent that this user may not read, directories are not the engine's to make.
        if (codeOf(error) !== "EACCES") throw error;
        return;
      }
      if (this.#durableDirectories.size >= MAX_DURABLE_DIRECTORIES) this.#durableDirectories.clear();
      this.#durableDirectories.add(key);
      directory = parent;
    }
  }
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean }): FileStat["kind"] {
  return entry.isFile() ? "file" : entry.isDirectory() ? "directory" : "other";
}
