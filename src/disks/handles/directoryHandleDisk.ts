/**
 * A disk in a directory handle of a browser: a folder that the user picked or dropped, or the browser's
 * private file system.
 *
 *     const folder = await showDirectoryPicker();
 *     const ns = new DirectoryNamespace({ root: "/", disk: directoryHandleDisk(folder) });
 *
 * The folder is `/`. By default the disk only reads. With `mode: "readwrite"`, all tabs and workers of the
 * origin may write to it: they take turns by Web Locks. No other program may write to the folder meanwhile.
 *
 * Browsers write a file to a copy, which replaces the file when it is closed. So a file is old or new at any
 * time. Directories cannot be renamed.
 */

import { type Lazy, lazy, lazyModule } from "../../async/lazy.js";
import { performance } from "../../async/timers.js";
import { CorruptFileError, InvalidInputError } from "../../errors.js";
import type {
  DirectoryEntry,
  DiskImplementation,
  ReadHandle,
  StoredStat,
  WriteHandle,
} from "../../io/disk/disk.js";
import type { DiskLocks } from "../../io/disk/locks.js";
import { lazyLocks } from "../../io/lock/lazyLocks.js";
import { checkOptionMembers, isObject, shortly } from "../../optionMembers.js";
import { namesOfPath } from "../paths/pathNames.js";
import { blobHandle, identityOfFile } from "./blobReads.js";
import type { FileWriter } from "./fileWriter.js";
import type { HandleChanges } from "./handleChanges.js";
import { MISSING_ERRORS, nameOf, withCode } from "./handleEntries.js";

const changing = lazyModule(() => import("./handleChanges.js"));
const locking = lazyModule(() => import("./webLocks.js"));

/** Milliseconds between two attempts at a lock that is held. */
const LOOK_MS = 4;

/** Options of {@link directoryHandleDisk}. */
export interface DirectoryHandleDiskOptions {
  /** `readwrite`: the namespace may change the folder. The page needs that permission. Default: `read`. */
  readonly mode?: "read" | "readwrite" | undefined;
}

/** Parts of a disk of handles beside the top directory. */
export interface HandleDiskParts {
  /** Prefix of the names of locks. */
  readonly scope: string;
  /** Opens the writer of files with the first change. Default: streams write them. */
  readonly openWriter?: () => Promise<FileWriter>;
  /** True if only this package writes there. */
  readonly isPrivate?: true;
}

/**
 * Returns a disk in a directory handle.
 * @throws InvalidInputError for anything but a handle of a directory, or an unknown option
 */
export function directoryHandleDisk(
  handle: FileSystemDirectoryHandle,
  options: DirectoryHandleDiskOptions = {},
): DiskImplementation {
  if (!isObject(handle) || (handle as Partial<FileSystemHandle>).kind !== "directory") {
    throw new InvalidInputError(`handle: must be the handle of a directory, not ${shortly(handle)}`);
  }
  checkOptionMembers("directoryHandleDisk", options, ["mode"]);
  const { mode = "read" } = options;
  if (mode !== "read" && mode !== "readwrite") {
    throw new InvalidInputError(`mode: must be "read" or "readwrite", not ${shortly(mode)}`);
  }
  const disk = new HandleDisk(async () => handle, { scope: `tiltyard:${handle.name}:` });
  return mode === "readwrite" ? disk : readOnly(disk);
}

const readOnly = (disk: HandleDisk): DiskImplementation => ({
  isReadOnly: true,
  hasLinks: false,
  open: (path) => disk.open(path),
  list: (path) => disk.list(path),
  stat: (path) => disk.stat(path),
});

/**
 * Milliseconds for which handles of directories are kept, and their maximum number. In some browsers the
 * handle of a directory that was removed does not lead to a later one of its path.
 */
const KEPT_MS = 1000;
const MAX_KEPT = 1000;

export class HandleDisk implements DiskImplementation {
  readonly hasLinks = false;
  readonly locks: DiskLocks;
  readonly #top: () => Promise<FileSystemDirectoryHandle>;
  readonly #changes: Lazy<HandleChanges>;
  /** Handles of directories by their paths. */
  readonly #directories = new Map<string, FileSystemDirectoryHandle>();
  #keptSinceMs = Number.NEGATIVE_INFINITY;
  readonly isPrivate?: true;

  /** @param top returns the handle of `/` */
  constructor(
    top: () => Promise<FileSystemDirectoryHandle>,
    { scope, openWriter, isPrivate }: HandleDiskParts,
  ) {
    this.#top = top;
    // The browser frees the locks of a tab that ends.
    this.locks = lazyLocks(async () => (await locking.get()).webLocks(`${scope}lock:`), {
      areKept: true,
      lookMs: LOOK_MS,
    });
    const files = {
      top,
      directory: (names: readonly string[]) => this.#directory(names),
      find: (path: string) => this.#find(path),
      forget: () => this.#directories.clear(),
    };
    this.#changes = lazy(async () => {
      const [{ HandleChanges }, writer] = await Promise.all([changing.get(), openWriter?.() ?? null]);
      return new HandleChanges(files, scope, writer);
    });
    if (isPrivate === true) this.isPrivate = true;
  }

  /** Returns the handle of an existing directory, which may be kept from an earlier call. */
  async #directory(names: readonly string[]): Promise<FileSystemDirectoryHandle> {
    if (names.length === 0) return this.#top();
    const nowMs = performance.now();
    if (nowMs - this.#keptSinceMs > KEPT_MS || this.#directories.size >= MAX_KEPT) {
      this.#directories.clear();
      this.#keptSinceMs = nowMs;
    }
    const key = names.join("/");
    const kept = this.#directories.get(key);
    if (kept !== undefined) return kept;
    const parent = await this.#directory(names.slice(0, -1));
    const handle = await parent.getDirectoryHandle(names[names.length - 1]);
    this.#directories.set(key, handle);
    return handle;
  }

  async open(path: string): Promise<ReadHandle | null> {
    const file = await this.#find(path);
    if (file === null) return null;
    if (file === "directory") throw new CorruptFileError(path, 0, "it is not a regular file");
    return blobHandle(path, file);
  }

  async stat(path: string): Promise<StoredStat | null> {
    const file = await this.#find(path);
    if (file === null) return null;
    if (file === "directory") return { kind: "directory", size: 0 };
    const modifiedNs = BigInt(Math.floor(file.lastModified)) * 1_000_000n;
    return { kind: "file", size: file.size, modifiedNs, identity: identityOfFile(file) };
  }

  async list(path: string): Promise<DirectoryEntry[] | null> {
    try {
      const directory = await this.#directory(namesOfPath(path));
      const entries: DirectoryEntry[] = [];
      for await (const [name, { kind }] of entriesOf(directory)) {
        // A file that Chromium is writing.
        if (!name.endsWith(".crswap")) entries.push({ name, kind });
      }
      return entries;
    } catch (error) {
      if (MISSING_ERRORS.has(nameOf(error))) return null;
      throw withCode(error, path);
    }
  }

  /** Returns a file; "directory"; or null if there is nothing. */
  async #find(path: string): Promise<File | "directory" | null> {
    const names = namesOfPath(path);
    if (names.length === 0) return "directory";
    try {
      const parent = await this.#directory(names.slice(0, -1));
      const name = names[names.length - 1];
      try {
        return await (await parent.getFileHandle(name)).getFile();
      } catch (error) {
        if (nameOf(error) !== "TypeMismatchError") throw error;
        await parent.getDirectoryHandle(name);
        return "directory";
      }
    } catch (error) {
      if (MISSING_ERRORS.has(nameOf(error))) return null;
      throw withCode(error, path);
    }
  }

  create(path: string): Promise<WriteHandle> {
    return this.#change((changes) => changes.create(path));
  }

  putIfAbsent(path: string, chunks: readonly Uint8Array[]): Promise<string | false> {
    return this.#change((changes) => changes.putIfAbsent(path, chunks));
  }

  replaceIf(path: string, chunks: readonly Uint8Array[], identity: string | null): Promise<string | null> {
    return this.#change((changes) => changes.replaceIf(path, chunks, identity));
  }

  remove(path: string): Promise<void> {
    return this.#change((changes) => changes.remove(path));
  }

  removeTree(path: string): Promise<void> {
    return this.#change((changes) => changes.removeTree(path));
  }

  removeEmptyDirectory(path: string): Promise<boolean> {
    return this.#change((changes) => changes.removeEmptyDirectory(path));
  }

  makeDirectory(path: string, within?: string): Promise<boolean> {
    return this.#change((changes) => changes.makeDirectory(path, within));
  }

  async #change<T>(change: (changes: HandleChanges) => Promise<T>): Promise<T> {
    return change(this.#changes.current ?? (await this.#changes.get()));
  }
}

/** Returns the entries of a directory, whose iterator the declarations of TypeScript lack. */
const entriesOf = (directory: FileSystemDirectoryHandle): AsyncIterable<[string, FileSystemHandle]> =>
  (directory as unknown as { entries(): AsyncIterable<[string, FileSystemHandle]> }).entries();
