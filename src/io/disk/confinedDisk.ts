/**
 * Confines a disk other than that of Node.js to the directories where the engine may work. It checks each
 * call right before the call. It never checks `realPath` and `isLink`, nor `stat` in and above the
 * namespace's directory. NodeDisk checks its steps by itself.
 */

import { dirname } from "../../platform/native.js";
import { type Confinement, confirmDirectory } from "./confinement.js";
import type {
  AllocateTail,
  DirectoryEntry,
  Disk,
  FileStat,
  ReadHandle,
  ScratchDirectory,
  WriteHandle,
} from "./disk.js";
import { followLink, LinkedFileError } from "./linkedFile.js";

export class ConfinedDisk implements Disk {
  readonly #inner: Disk;
  readonly #confinement: Confinement;
  readonly scratch?: ScratchDirectory;
  readonly isReadOnly?: true;
  readonly isPrivate?: true;
  readonly hasDirectories?: false;
  readonly hasRename?: false;
  readonly hasLinks?: false;
  readonly putIfAbsent?: NonNullable<Disk["putIfAbsent"]>;
  readonly replaceIf?: NonNullable<Disk["replaceIf"]>;
  readonly overwrite?: (path: string, bytes: Uint8Array) => Promise<boolean>;
  readonly isLink?: (path: string) => Promise<boolean>;
  readonly uriOf?: (path: string) => string;
  readonly pathOf?: (uri: string) => string | null;
  readonly watchDirectory?: (path: string, onChange: () => void) => (() => void) | null;

  constructor(inner: Disk, confinement: Confinement) {
    this.#inner = inner;
    this.#confinement = confinement;
    if (inner.scratch !== undefined) this.scratch = inner.scratch;
    if (inner.isPrivate !== undefined) this.isPrivate = inner.isPrivate;
    if (inner.isReadOnly !== undefined) this.isReadOnly = inner.isReadOnly;
    if (inner.hasDirectories !== undefined) this.hasDirectories = inner.hasDirectories;
    if (inner.hasRename !== undefined) this.hasRename = inner.hasRename;
    if (inner.hasLinks !== undefined) this.hasLinks = inner.hasLinks;
    const { putIfAbsent, replaceIf } = inner;
    if (putIfAbsent !== undefined) {
      this.putIfAbsent = async (path, chunks) => {
        await confirmDirectory(confinement, dirname(path));
        return putIfAbsent.call(inner, path, chunks);
      };
    }
    if (replaceIf !== undefined) {
      this.replaceIf = async (path, chunks, identity) => {
        await confirmDirectory(confinement, dirname(path));
        return replaceIf.call(inner, path, chunks, identity);
      };
    }
    if (inner.overwrite !== undefined) {
      this.overwrite = async (path, bytes) => {
        await confirmDirectory(confinement, dirname(path));
        return (await inner.overwrite?.(path, bytes)) ?? false;
      };
    }
    if (inner.watchDirectory !== undefined) {
      this.watchDirectory = (path, onChange) => inner.watchDirectory?.(path, onChange) ?? null;
    }
    const { uriOf, pathOf } = inner;
    if (uriOf !== undefined) this.uriOf = (path) => uriOf.call(inner, path);
    if (pathOf !== undefined) this.pathOf = (uri) => pathOf.call(inner, uri);
    if (inner.isLink !== undefined) this.isLink = (path) => inner.isLink?.(path) ?? Promise.resolve(false);
  }

  readFile(path: string, maxBytes?: number): Promise<Uint8Array | null> {
    return this.#follow(path, (target) => this.#inner.readFile(target, maxBytes));
  }

  open(path: string, tailBytes?: number, allocate?: AllocateTail): Promise<ReadHandle | null> {
    return this.#follow(path, (target) => this.#inner.open(target, tailBytes, allocate));
  }

  async create(path: string, access?: "private"): Promise<WriteHandle> {
    await confirmDirectory(this.#confinement, dirname(path));
    return this.#inner.create(path, access);
  }

  async link(existingPath: string, newPath: string): Promise<void> {
    await confirmDirectory(this.#confinement, dirname(existingPath));
    await confirmDirectory(this.#confinement, dirname(newPath));
    return this.#inner.link(existingPath, newPath);
  }

  async rename(fromPath: string, toPath: string): Promise<void> {
    await confirmDirectory(this.#confinement, dirname(fromPath));
    await confirmDirectory(this.#confinement, dirname(toPath));
    return this.#inner.rename(fromPath, toPath);
  }

  async remove(path: string, byteLength?: number): Promise<void> {
    await confirmDirectory(this.#confinement, dirname(path));
    return this.#inner.remove(path, byteLength);
  }

  async removeTree(path: string): Promise<void> {
    await confirmDirectory(this.#confinement, dirname(path));
    return this.#inner.removeTree(path);
  }

  async removeEmptyDirectory(path: string): Promise<boolean> {
    await confirmDirectory(this.#confinement, dirname(path));
    return this.#inner.removeEmptyDirectory(path);
  }

  async makeDirectory(path: string, within?: string): Promise<boolean> {
    if (!this.#confinement.admitted.isRootOrAbove(path)) await confirmDirectory(this.#confinement, path);
    return this.#inner.makeDirectory(path, within);
  }

  async list(path: string): Promise<DirectoryEntry[] | null> {
    if (!this.#confinement.admitted.isRootOrAbove(path)) await confirmDirectory(this.#confinement, path);
    return this.#inner.list(path);
  }

  stat(path: string): Promise<FileStat | null> {
    if (this.#confinement.admitted.isOnRootPath(path)) return this.#inner.stat(path);
    return this.#statElsewhere(path);
  }

  realPath(path: string): Promise<string | null> {
    return this.#inner.realPath(path);
  }

  async syncFile(path: string): Promise<void> {
    await confirmDirectory(this.#confinement, dirname(path));
    return this.#inner.syncFile(path);
  }

  async syncDirectory(path: string): Promise<void> {
    if (!this.#confinement.admitted.isRootOrAbove(path)) await confirmDirectory(this.#confinement, path);
    return this.#inner.syncDirectory(path);
  }

  async #statElsewhere(path: string): Promise<FileStat | null> {
    await confirmDirectory(this.#confinement, dirname(path));
    return this.#inner.stat(path);
  }

  /** Reads a file, or the target of a link if the target lies where the engine may work. */
  async #follow<T>(path: string, read: (path: string) => Promise<T | null>): Promise<T | null> {
    await confirmDirectory(this.#confinement, dirname(path));
    try {
      return await read(path);
    } catch (error) {
      if (!(error instanceof LinkedFileError)) throw error;
      const target = await followLink(this.#confinement, path);
      return target === null ? null : read(target);
    }
  }
}
