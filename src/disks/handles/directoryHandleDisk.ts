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

import { sleep } from "../../async/sleep.js";
import { performance } from "../../async/timers.js";
import { concatBytes } from "../../bytes/concat.js";
import { CorruptFileError, InvalidInputError } from "../../errors.js";
import type {
  DirectoryEntry,
  DiskImplementation,
  ReadHandle,
  StoredStat,
  WriteHandle,
} from "../../io/disk/disk.js";
import type { DiskLocks } from "../../io/disk/locks.js";
import { temporaryName } from "../../io/names/temporaryNames.js";
import { checkOptionMembers, isObject, shortly } from "../../optionMembers.js";
import { namesOfPath } from "../paths/pathNames.js";
import { blobHandle, identityOfFile } from "./blobReads.js";
import { type Exclusively, exclusivelyBy, lockManager, webLocks } from "./webLocks.js";

/** Options of {@link directoryHandleDisk}. */
export interface DirectoryHandleDiskOptions {
  /** `readwrite`: the namespace may change the folder. The page needs that permission. Default: `read`. */
  readonly mode?: "read" | "readwrite" | undefined;
}

/** Writes whole files below the top directory. */
export interface FileWriter {
  /**
   * Creates a file that readers may see half written.
   * @param isSynced true if the bytes must survive a power cut
   * @returns false if the file exists
   */
  create(
    top: FileSystemDirectoryHandle,
    names: readonly string[],
    bytes: Uint8Array<ArrayBuffer>,
    isSynced: boolean,
  ): Promise<boolean>;
  /**
   * Writes a file that has its old content or the new one at any time, and survives a power cut.
   * @returns size and time of the new file; null if it was to be new and exists
   */
  put(
    top: FileSystemDirectoryHandle,
    names: readonly string[],
    bytes: Uint8Array<ArrayBuffer>,
    how: PutHow,
  ): Promise<FileTimes | null>;
}

/** Properties of an atomic write. */
export interface PutHow {
  /** True if the file must not exist. */
  readonly isNew: boolean;
  /** Web Lock under which the file gets its name; null: the caller keeps others away. */
  readonly lockName: string | null;
}

/** The part of a file's state that tells contents apart. */
export type FileTimes = Pick<File, "size" | "lastModified">;

/** Parts of a disk of handles beside the top directory. */
export interface HandleDiskParts {
  /** Prefix of the names of locks. */
  readonly scope: string;
  readonly writer: FileWriter;
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
  const disk = new HandleDisk(async () => handle, { scope: `tiltyard:${handle.name}:`, writer: STREAMS });
  return mode === "readwrite" ? disk : readOnly(disk);
}

const readOnly = (disk: HandleDisk): DiskImplementation => ({
  isReadOnly: true,
  hasLinks: false,
  open: (path) => disk.open(path),
  list: (path) => disk.list(path),
  stat: (path) => disk.stat(path),
});

/** Writes by streams, which every thread may open. */
export const STREAMS: FileWriter = {
  async create(top, names, bytes) {
    if (await exists(top, names)) return false;
    await writeWhole(await fileHandle(top, names, true), bytes);
    return true;
  },
  put(top, names, bytes, { isNew, lockName }) {
    const put = async (): Promise<FileTimes | null> => {
      const isThere = await exists(top, names);
      if (isNew && isThere) return null;
      // A new file has its name before its bytes, so it gets another name first.
      if (isThere || !(await writeAndMove(top, names, bytes))) {
        await writeWhole(await fileHandle(top, names, true), bytes);
      }
      return (await fileHandle(top, names, false)).getFile();
    };
    return lockName === null ? put() : exclusivelyBy(lockManager())(lockName, put);
  },
};

async function writeTo(stream: FileSystemWritableFileStream, chunks: readonly Uint8Array[]): Promise<void> {
  for (const chunk of chunks) await stream.write(chunk as Uint8Array<ArrayBuffer>);
}

async function writeWhole(handle: FileSystemFileHandle, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const stream = await handle.createWritable();
  try {
    await stream.write(bytes);
  } catch (error) {
    // The failed write tells more.
    await stream.abort().catch(() => undefined);
    throw error;
  }
  await stream.close();
}

/** A handle of a browser that can move files. */
type Movable = FileSystemFileHandle & { move?(name: string): Promise<void> };

/** Writes a file under a temporary name, and moves it; returns false if the browser cannot move files. */
async function writeAndMove(
  top: FileSystemDirectoryHandle,
  names: readonly string[],
  bytes: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const parents = names.slice(0, -1);
  const temporary = temporaryName();
  const handle: Movable = await fileHandle(top, [...parents, temporary], true);
  try {
    if (handle.move === undefined) return false;
    await writeWhole(handle, bytes);
    await handle.move(names[names.length - 1]);
    return true;
  } catch (error) {
    // Some browsers move only files of the private file system.
    if (nameOf(error) === "NotAllowedError" || nameOf(error) === "AbortError") return false;
    throw error;
  } finally {
    const directory = await directoryOf(top, parents, false);
    await directory.removeEntry(temporary).catch(() => undefined);
  }
}

async function exists(top: FileSystemDirectoryHandle, names: readonly string[]): Promise<boolean> {
  try {
    await fileHandle(top, names, false);
    return true;
  } catch (error) {
    if (nameOf(error) === "TypeMismatchError") return true;
    if (nameOf(error) === "NotFoundError") return false;
    throw error;
  }
}

/** Names of errors that mean that a path leads nowhere: something is missing, or a file is on the way. */
const MISSING: ReadonlySet<string> = new Set(["NotFoundError", "TypeMismatchError"]);

/**
 * Milliseconds for which handles of directories are kept, and their maximum number. In some browsers the
 * handle of a directory that was removed does not lead to a later one of its path.
 */
const KEPT_MS = 1000;
/** Bytes from which a new file is not collected in memory. */
const MAX_COLLECTED_BYTES = 8 * 1024 * 1024;
const MAX_KEPT = 1000;

const nameOf = (error: unknown): string => (error as Partial<Error> | null)?.name ?? "";

/** Names of errors of browsers, and the codes of the platform that say the same. */
const CODES: Readonly<Record<string, string>> = {
  NotAllowedError: "EACCES",
  NoModificationAllowedError: "EBUSY",
  NotReadableError: "EIO",
  QuotaExceededError: "ENOSPC",
  InvalidModificationError: "ENOTEMPTY",
  TypeMismatchError: "ENOTDIR",
  NotFoundError: "ENOENT",
};

/** Gives an error of the browser the code that the platform has for it. */
function withCode(error: unknown, path: string): unknown {
  const code = CODES[nameOf(error)];
  if (code === undefined) return error;
  return Object.assign(new Error(`${code}: '${path}': ${String(error)}`, { cause: error }), { code, path });
}

async function directoryOf(
  top: FileSystemDirectoryHandle,
  names: readonly string[],
  create: boolean,
): Promise<FileSystemDirectoryHandle> {
  let directory = top;
  for (const name of names) directory = await directory.getDirectoryHandle(name, { create });
  return directory;
}

async function fileHandle(
  top: FileSystemDirectoryHandle,
  names: readonly string[],
  create: boolean,
): Promise<FileSystemFileHandle> {
  const directory = await directoryOf(top, names.slice(0, -1), create);
  return directory.getFileHandle(names[names.length - 1], { create });
}

export class HandleDisk implements DiskImplementation {
  readonly hasLinks = false;
  readonly locks: DiskLocks;
  readonly #top: () => Promise<FileSystemDirectoryHandle>;
  readonly #scope: string;
  readonly #writer: FileWriter;
  readonly #exclusively: Exclusively;
  /** True if the writer can take locks of the origin. */
  readonly #hasManager: boolean;
  /** Handles of directories by their paths. */
  readonly #directories = new Map<string, FileSystemDirectoryHandle>();
  #keptSinceMs = Number.NEGATIVE_INFINITY;
  readonly isPrivate?: true;

  /** @param top returns the handle of `/` */
  constructor(top: () => Promise<FileSystemDirectoryHandle>, { scope, writer, isPrivate }: HandleDiskParts) {
    this.#top = top;
    this.#scope = scope;
    this.#writer = writer;
    const manager = lockManager();
    this.#exclusively = exclusivelyBy(manager);
    this.#hasManager = manager !== null;
    this.locks = webLocks(`${scope}lock:`, manager);
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
      if (MISSING.has(nameOf(error))) return null;
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
      if (MISSING.has(nameOf(error))) return null;
      throw withCode(error, path);
    }
  }

  async create(path: string): Promise<WriteHandle> {
    const chunks: Uint8Array[] = [];
    let byteLength = 0;
    let isSynced = false;
    let stream: FileSystemWritableFileStream | null = null;
    const taken = () => Object.assign(new Error(`EEXIST: open '${path}'`), { code: "EEXIST", path });
    const begin = async (): Promise<FileSystemWritableFileStream> => {
      if ((await this.#find(path)) !== null) throw taken();
      return (await fileHandle(await this.#top(), namesOfPath(path), true)).createWritable();
    };
    return {
      takesChunksAtOnce: true,
      write: async (more) => {
        for (const chunk of more) {
          chunks.push(chunk.slice());
          byteLength += chunk.length;
        }
        // Large files go to the browser piece by piece.
        if (stream === null && byteLength < MAX_COLLECTED_BYTES) return;
        try {
          stream ??= await begin();
          await writeTo(stream, chunks.splice(0));
        } catch (error) {
          throw withCode(error, path);
        }
      },
      async sync() {
        isSynced = true;
      },
      close: async () => {
        if (stream !== null) return stream.close();
        const bytes = concatBytes(chunks);
        const isMade = await this.#write(path, (top, names) =>
          this.#writer.create(top, names, bytes, isSynced),
        );
        if (!isMade) throw taken();
      },
    };
  }

  async putIfAbsent(path: string, chunks: readonly Uint8Array[]): Promise<string | false> {
    const lockName = this.#lockName(path);
    // The writer writes the bytes while it waits for the lock.
    const made = this.#hasManager
      ? await this.#put(path, chunks, { isNew: true, lockName })
      : await this.#exclusively(lockName, () => this.#put(path, chunks, { isNew: true, lockName: null }));
    return made ?? false;
  }

  #lockName(path: string): string {
    return `${this.#scope}put:${path}`;
  }

  replaceIf(path: string, chunks: readonly Uint8Array[], identity: string | null): Promise<string | null> {
    return this.#exclusively(this.#lockName(path), async () => {
      const present = await this.#find(path);
      if (present === "directory")
        throw Object.assign(new Error(`EISDIR: '${path}'`), { code: "EISDIR", path });
      if (identity !== null && (present === null || identityOfFile(present) !== identity)) return null;
      if (present !== null) {
        // Browsers tell contents apart by size and time only, so the time must be later than before.
        const waitMs = present.lastModified + 1 - Date.now();
        if (waitMs > 0 && waitMs < 100) await sleep(waitMs);
      }
      return this.#put(path, chunks, { isNew: false, lockName: null });
    });
  }

  /** Writes a file as a whole; returns its identity, or null if it was to be new and exists. */
  async #put(path: string, chunks: readonly Uint8Array[], how: PutHow): Promise<string | null> {
    const bytes = concatBytes(chunks);
    const written = await this.#write(path, (top, names) => this.#writer.put(top, names, bytes, how));
    return written && identityOfFile(written);
  }

  async #write<T>(
    path: string,
    write: (top: FileSystemDirectoryHandle, names: readonly string[]) => Promise<T>,
  ): Promise<T> {
    try {
      return await write(await this.#top(), namesOfPath(path));
    } catch (error) {
      throw withCode(error, path);
    }
  }

  async remove(path: string): Promise<void> {
    const names = namesOfPath(path);
    try {
      const parent = await this.#directory(names.slice(0, -1));
      if ((await this.#find(path)) === "directory") {
        throw Object.assign(new Error(`EISDIR: '${path}'`), { code: "EISDIR", path });
      }
      await parent.removeEntry(names[names.length - 1]);
    } catch (error) {
      if (!MISSING.has(nameOf(error))) throw withCode(error, path);
    }
  }

  async removeTree(path: string): Promise<void> {
    const names = namesOfPath(path);
    try {
      const parent = await this.#directory(names.slice(0, -1));
      this.#directories.clear();
      await parent.removeEntry(names[names.length - 1], { recursive: true });
    } catch (error) {
      if (!MISSING.has(nameOf(error))) throw withCode(error, path);
    }
  }

  async removeEmptyDirectory(path: string): Promise<boolean> {
    const names = namesOfPath(path);
    try {
      const parent = await this.#directory(names.slice(0, -1));
      if ((await this.#find(path)) !== "directory") return false;
      this.#directories.clear();
      await parent.removeEntry(names[names.length - 1]);
      return true;
    } catch (error) {
      if (MISSING.has(nameOf(error)) || nameOf(error) === "InvalidModificationError") return false;
      throw withCode(error, path);
    }
  }

  async makeDirectory(path: string, within?: string): Promise<boolean> {
    const names = namesOfPath(path);
    if (within !== undefined && (await this.#find(within)) !== "directory") {
      throw Object.assign(new Error(`ENOENT: mkdir '${within}'`), { code: "ENOENT", path: within });
    }
    if ((await this.#find(path)) === "directory") return false;
    try {
      await directoryOf(await this.#top(), names, true);
      return true;
    } catch (error) {
      const code = nameOf(error) === "TypeMismatchError" ? "EEXIST" : undefined;
      if (code === undefined) throw withCode(error, path);
      throw Object.assign(new Error(`EEXIST: mkdir '${path}'`, { cause: error }), { code, path });
    }
  }
}

/** Returns the entries of a directory, whose iterator the declarations of TypeScript lack. */
const entriesOf = (directory: FileSystemDirectoryHandle): AsyncIterable<[string, FileSystemHandle]> =>
  (directory as unknown as { entries(): AsyncIterable<[string, FileSystemHandle]> }).entries();
