/**
 * A disk in memory. Tables on it live as long as the disk object. Several namespaces of one thread may share
 * it, like a directory. Names are exact, there are no links, and nothing needs to be synced.
 */

import { yieldToEventLoop } from "../async/eventLoop.js";
import { CorruptFileError, InvalidInputError } from "../errors.js";
import type { DirectoryEntry, Disk, FileStat, ReadHandle, ReadPieces, WriteHandle } from "../io/disk/disk.js";
import { diskError } from "../io/disk/errno.js";
import type { DiskLock, DiskLocks } from "../io/disk/locks.js";
import { readWholeFile } from "../io/disk/wholeFile.js";
import { LeaseLostError } from "../io/lock/lease.js";
import { checkOptionMembers, shortly } from "../optionMembers.js";
import { resolve } from "../platform/native.js";
import {
  isWithin,
  type MemoryDirectory,
  type MemoryFile,
  type MemoryNode,
  MemoryTree,
  statOf,
  waysTo,
} from "./memoryTree.js";

/** Bytes that are copied before the event loop may turn. */
const COPIED_AT_ONCE = 4 * 1024 * 1024;

/** Options of {@link memoryDisk}. */
export interface MemoryDiskOptions {
  /** Maximum bytes of all files. Writes beyond it fail as on a full disk. Default: no limit. */
  readonly maxBytes?: number | undefined;
}

/** A disk in memory. */
export interface MemoryDisk extends Disk {
  /** Bytes of all files. */
  readonly usedBytes: number;
}

/**
 * Returns an empty disk in memory. Nothing is written to files.
 *
 *     const ns = new DirectoryNamespace({ root: "/", disk: memoryDisk() });
 *
 * @throws InvalidInputError for an unknown option or a limit that is not a number of bytes
 */
export function memoryDisk(options: MemoryDiskOptions = {}): MemoryDisk {
  checkOptionMembers("memoryDisk", options, ["maxBytes"]);
  const { maxBytes = Number.POSITIVE_INFINITY } = options;
  if (!(typeof maxBytes === "number" && maxBytes >= 0)) {
    throw new InvalidInputError(`maxBytes: must be a number of bytes, at least 0, not ${shortly(maxBytes)}`);
  }
  return new TreeDisk(maxBytes);
}

class TreeDisk implements MemoryDisk {
  readonly hasLinks = false;
  readonly locks: DiskLocks;
  readonly #tree = new MemoryTree();
  readonly #maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.locks = new TreeLocks(this.#tree);
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  readFile(path: string, maxBytes?: number): Promise<Uint8Array | null> {
    return readWholeFile(this, path, maxBytes);
  }

  async open(path: string): Promise<ReadHandle | null> {
    await yieldToEventLoop();
    const node = this.#tree.find(path);
    if (node === null) return null;
    if (node.kind !== "file") throw new CorruptFileError(path, 0, "it is not a regular file");
    return new TreeReadHandle(path, node);
  }

  async create(path: string): Promise<WriteHandle> {
    await yieldToEventLoop();
    const location = this.#tree.locate(path, "open");
    if (location.parent.entries.has(location.name)) throw diskError("EEXIST", "open", path);
    const file = this.#tree.newFile();
    this.#tree.add(location, file);
    return {
      takesChunksAtOnce: true,
      write: async (chunks) => {
        for (const chunk of chunks) await this.#append(file, chunk, path);
      },
      sync: async () => undefined,
      close: async () => file.content.trim(),
    };
  }

  async #append(file: MemoryFile, chunk: Uint8Array, path: string): Promise<void> {
    for (let start = 0; start < chunk.length; start += COPIED_AT_ONCE) {
      const piece = chunk.subarray(start, start + COPIED_AT_ONCE);
      this.#checkRoom(piece.length, path);
      // Nobody can reach a file without a name, but its writer goes on.
      if (file.isCounted) this.#usedBytes += piece.length;
      await this.#copy(file, piece);
    }
  }

  async #copy(file: MemoryFile, piece: Uint8Array): Promise<void> {
    file.content.append(piece);
    file.modifiedNs = file.changedNs = this.#tree.now();
    await yieldToEventLoop();
  }

  #checkRoom(byteLength: number, path: string): void {
    if (this.#usedBytes + byteLength > this.#maxBytes) throw diskError("ENOSPC", "write", path);
  }

  async putIfAbsent(path: string, chunks: readonly Uint8Array[]): Promise<boolean> {
    const isAdded = await this.#withFile(path, chunks, (file) => {
      const location = this.#tree.locate(path, "open");
      if (location.parent.entries.has(location.name)) return null;
      this.#tree.add(location, file);
      return true;
    });
    return isAdded ?? false;
  }

  replaceIf(path: string, chunks: readonly Uint8Array[], identity: string | null): Promise<string | null> {
    return this.#withFile(path, chunks, (file) => {
      const location = this.#tree.locate(path, "open");
      const present = location.parent.entries.get(location.name);
      if (present?.kind === "directory") throw diskError("EISDIR", "open", path);
      if (identity !== null && (present === undefined || statOf(present).identity !== identity)) return null;
      this.#free(this.#tree.detach(location));
      this.#tree.add(location, file);
      return statOf(file).identity;
    });
  }

  /**
   * Makes a complete file, whose bytes count from the beginning: files that are made together must fit.
   * @param name gives the file its name, or returns null; then the file is freed
   */
  async #withFile<T>(
    path: string,
    chunks: readonly Uint8Array[],
    name: (file: MemoryFile) => T | null,
  ): Promise<T | null> {
    await yieldToEventLoop();
    const byteLength = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    this.#checkRoom(byteLength, path);
    this.#usedBytes += byteLength;
    const file = this.#tree.newFile();
    try {
      for (const chunk of chunks) {
        for (let start = 0; start < chunk.length; start += COPIED_AT_ONCE) {
          await this.#copy(file, chunk.subarray(start, start + COPIED_AT_ONCE));
        }
      }
      file.content.trim();
      return name(file);
    } finally {
      if (file.links === 0) this.#usedBytes -= byteLength;
    }
  }

  async overwrite(path: string, bytes: Uint8Array): Promise<boolean> {
    await yieldToEventLoop();
    const node = this.#tree.find(path);
    if (node?.kind !== "file" || node.links !== 1 || node.content.byteLength !== bytes.length) return false;
    node.content.overwrite(bytes);
    node.modifiedNs = node.changedNs = this.#tree.now();
    return true;
  }

  async link(existingPath: string, newPath: string): Promise<void> {
    await yieldToEventLoop();
    const node = this.#tree.find(existingPath);
    if (node === null) throw diskError("ENOENT", "link", existingPath);
    const location = this.#tree.locate(newPath, "link");
    if (location.parent.entries.has(location.name)) throw diskError("EEXIST", "link", newPath);
    if (node.kind !== "file") throw diskError("EPERM", "link", existingPath);
    this.#tree.add(location, node);
  }

  async rename(fromPath: string, toPath: string): Promise<void> {
    await yieldToEventLoop();
    const from = this.#tree.locate(fromPath, "rename");
    const node = from.parent.entries.get(from.name);
    if (node === undefined) throw diskError("ENOENT", "rename", fromPath);
    const to = this.#tree.locate(toPath, "rename");
    const target = to.parent.entries.get(to.name);
    if (target === node) return;
    if (node.kind === "directory" && isWithin(toPath, fromPath)) throw diskError("EINVAL", "rename", toPath);
    if (target !== undefined) checkReplaced(node, target, toPath);
    if (target !== undefined) this.#free(this.#tree.detach(to));
    // The name moves: the node never loses its last one.
    this.#tree.add(to, node);
    this.#tree.detach(from);
  }

  async remove(path: string): Promise<void> {
    await yieldToEventLoop();
    const node = this.#tree.find(path);
    if (node === null) return;
    if (node.kind === "directory") throw diskError("EISDIR", "unlink", path);
    this.#free(this.#tree.detach(this.#tree.locate(path, "unlink")));
  }

  async removeTree(path: string): Promise<void> {
    await yieldToEventLoop();
    const node = this.#tree.find(path);
    if (node === null) return;
    if (node.kind === "directory") {
      for (const name of [...node.entries.keys()]) await this.removeTree(`${path}/${name}`);
      // Another call may have added an entry meanwhile.
      if (node.entries.size > 0) return this.removeTree(path);
    }
    if (this.#tree.find(path) !== node) return;
    this.#free(this.#tree.detach(this.#tree.locate(path, "rmdir")));
  }

  async removeEmptyDirectory(path: string): Promise<boolean> {
    await yieldToEventLoop();
    const node = this.#tree.find(path);
    if (node?.kind !== "directory" || node.entries.size > 0) return false;
    this.#tree.detach(this.#tree.locate(path, "rmdir"));
    return true;
  }

  async makeDirectory(path: string, within?: string): Promise<boolean> {
    await yieldToEventLoop();
    if (within !== undefined && this.#tree.find(within)?.kind !== "directory") {
      throw diskError("ENOENT", "mkdir", within);
    }
    let isMade = false;
    for (const each of waysTo(path)) {
      const node = this.#tree.find(each);
      if (node?.kind === "file")
        throw diskError(each === resolve(path) ? "EEXIST" : "ENOTDIR", "mkdir", each);
      isMade = node === null;
      if (isMade) this.#tree.add(this.#tree.locate(each, "mkdir"), this.#tree.newDirectory());
    }
    return isMade;
  }

  async list(path: string): Promise<DirectoryEntry[] | null> {
    await yieldToEventLoop();
    const node = this.#tree.find(path);
    if (node?.kind !== "directory") return null;
    return Array.from(node.entries, ([name, { kind }]) => ({ name, kind }));
  }

  watchDirectory(path: string, onChange: () => void): (() => void) | null {
    const node = this.#tree.find(path);
    if (node?.kind !== "directory") return null;
    // Callers of the disk must not run the watcher's code within their call.
    const notify = () => queueMicrotask(onChange);
    node.watchers.add(notify);
    return () => void node.watchers.delete(notify);
  }

  async stat(path: string): Promise<FileStat | null> {
    await yieldToEventLoop();
    const node = this.#tree.find(path);
    return node && statOf(node);
  }

  async realPath(path: string): Promise<string | null> {
    return this.#tree.find(path) && resolve(path);
  }

  async isLink(): Promise<boolean> {
    return false;
  }

  async syncFile(path: string): Promise<void> {
    if (this.#tree.find(path) === null) throw diskError("ENOENT", "fsync", path);
  }

  async syncDirectory(path: string): Promise<void> {
    if (this.#tree.find(path)?.kind !== "directory") throw diskError("ENOENT", "fsync", path);
  }

  #free(node: MemoryNode | null): void {
    if (node?.kind !== "file") return;
    node.isCounted = false;
    this.#usedBytes -= node.content.byteLength;
  }
}

/** Refuses a replacement that a file system refuses. */
function checkReplaced(node: MemoryNode, target: MemoryNode, toPath: string): void {
  if (node.kind === "file") {
    if (target.kind === "directory") throw diskError("EISDIR", "rename", toPath);
    return;
  }
  if (target.kind === "file") throw diskError("ENOTDIR", "rename", toPath);
  if (target.entries.size > 0) throw diskError("ENOTEMPTY", "rename", toPath);
}

/** Reads a file, also after its last name was removed. */
class TreeReadHandle implements ReadHandle {
  readonly path: string;
  readonly size: number;
  readonly identity: string;
  readonly #file: MemoryFile;

  constructor(path: string, file: MemoryFile) {
    this.path = path;
    this.#file = file;
    ({ size: this.size, identity: this.identity } = statOf(file));
  }

  async read(byteOffset: number, length: number, memory?: Uint8Array): Promise<Uint8Array> {
    const target = memory?.subarray(0, length) ?? new Uint8Array(length);
    await this.#copy(target, byteOffset);
    return target;
  }

  async readInto(target: Uint8Array, { byteOffsets, lengths, positions }: ReadPieces): Promise<void> {
    for (let piece = 0; piece < lengths.length; piece++) {
      const part = target.subarray(positions[piece], positions[piece] + lengths[piece]);
      await this.#copy(part, byteOffsets[piece]);
    }
  }

  async #copy(target: Uint8Array, byteOffset: number): Promise<void> {
    for (let start = 0; start < target.length; start += COPIED_AT_ONCE) {
      await yieldToEventLoop();
      const piece = target.subarray(start, start + COPIED_AT_ONCE);
      this.#file.content.copyTo(piece, byteOffset + start, this.path);
    }
  }

  async close(): Promise<void> {}
}

/** Locks of directories. A lock belongs to the directory itself, so it moves with it. */
class TreeLocks implements DiskLocks {
  readonly #tree: MemoryTree;
  readonly #held = new WeakSet<MemoryDirectory>();

  constructor(tree: MemoryTree) {
    this.#tree = tree;
  }

  async tryAcquire(directory: string): Promise<DiskLock | null> {
    await yieldToEventLoop();
    const node = this.#tree.find(directory);
    if (node?.kind !== "directory") throw diskError("ENOENT", "mkdir", directory);
    if (this.#held.has(node)) return null;
    this.#held.add(node);
    let path = directory;
    const isThere = () => this.#tree.find(path) === node;
    return {
      get compromised() {
        return !isThere();
      },
      async confirm() {
        if (!isThere()) throw new LeaseLostError(path);
      },
      movedTo(moved) {
        path = moved;
      },
      release: async () => void this.#held.delete(node),
    };
  }

  async stateOf(directory: string): Promise<"held" | "free"> {
    const node = this.#tree.find(directory);
    return node?.kind === "directory" && this.#held.has(node) ? "held" : "free";
  }
}
