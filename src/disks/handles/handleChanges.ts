/** Changes of a disk of directory handles. They are loaded with the first one: most pages only read. */

import { sleep } from "../../async/sleep.js";
import { concatBytes } from "../../bytes/concat.js";
import type { WriteHandle } from "../../io/disk/disk.js";
import { diskError } from "../../io/disk/errno.js";
import { namesOfPath } from "../paths/pathNames.js";
import { identityOfFile } from "./blobReads.js";
import type { FileWriter, PutHow } from "./fileWriter.js";
import { directoryOf, MISSING_ERRORS, nameOf, withCode } from "./handleEntries.js";
import { fileHandle, STREAMS, writeChunks } from "./streamWriter.js";
import { type Exclusively, exclusivelyBy, lockManager } from "./webLocks.js";

/** Bytes from which a new file is not collected in memory. */
const MAX_COLLECTED_BYTES = 8 * 1024 * 1024;

/** Files and directories of the disk. */
export interface HandleFiles {
  /** Returns the handle of `/`. */
  top(): Promise<FileSystemDirectoryHandle>;
  /** Returns the handle of an existing directory, which may be kept from an earlier call. */
  directory(names: readonly string[]): Promise<FileSystemDirectoryHandle>;
  /** Returns a file; "directory"; or null if there is nothing. */
  find(path: string): Promise<File | "directory" | null>;
  /** Drops the kept handles of directories. */
  forget(): void;
}

export class HandleChanges {
  readonly #files: HandleFiles;
  readonly #writer: FileWriter;
  readonly #exclusively: Exclusively;
  readonly #scope: string;
  /** True if the writer can take locks of the origin. */
  readonly #hasManager: boolean;

  /**
   * @param scope prefix of the names of locks
   * @param writer null: streams write the files
   */
  constructor(files: HandleFiles, scope: string, writer: FileWriter | null) {
    this.#files = files;
    this.#scope = scope;
    this.#writer = writer ?? STREAMS;
    const manager = lockManager();
    this.#exclusively = exclusivelyBy(manager);
    this.#hasManager = manager !== null;
  }

  async create(path: string): Promise<WriteHandle> {
    const chunks: Uint8Array[] = [];
    let byteLength = 0;
    let isSynced = false;
    let stream: FileSystemWritableFileStream | null = null;
    const taken = () => diskError("EEXIST", "open", path);
    const begin = async (): Promise<FileSystemWritableFileStream> => {
      if ((await this.#files.find(path)) !== null) throw taken();
      return (await fileHandle(await this.#files.top(), namesOfPath(path), true)).createWritable();
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
          await writeChunks(stream, chunks.splice(0));
        } catch (error) {
          throw withCode(error, path);
        }
      },
      async sync() {
        isSynced = true;
      },
      discard: async () => {
        chunks.length = 0;
        await stream?.abort().catch(() => undefined);
      },
      close: async () => {
        if (stream !== null) {
          // The browser checks its quota again when it puts the file in place.
          return stream.close().catch((error: unknown) => {
            throw withCode(error, path);
          });
        }
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
      const present = await this.#files.find(path);
      if (present === "directory") throw diskError("EISDIR", "open", path);
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
      return await write(await this.#files.top(), namesOfPath(path));
    } catch (error) {
      throw withCode(error, path);
    }
  }

  async remove(path: string): Promise<void> {
    const names = namesOfPath(path);
    try {
      const parent = await this.#files.directory(names.slice(0, -1));
      if ((await this.#files.find(path)) === "directory") {
        throw diskError("EISDIR", "unlink", path);
      }
      await parent.removeEntry(names[names.length - 1]);
    } catch (error) {
      if (!MISSING_ERRORS.has(nameOf(error))) throw withCode(error, path);
    }
  }

  async removeTree(path: string): Promise<void> {
    const names = namesOfPath(path);
    try {
      const parent = await this.#files.directory(names.slice(0, -1));
      this.#files.forget();
      await parent.removeEntry(names[names.length - 1], { recursive: true });
    } catch (error) {
      if (!MISSING_ERRORS.has(nameOf(error))) throw withCode(error, path);
    }
  }

  async removeEmptyDirectory(path: string): Promise<boolean> {
    const names = namesOfPath(path);
    try {
      const parent = await this.#files.directory(names.slice(0, -1));
      if ((await this.#files.find(path)) !== "directory") return false;
      this.#files.forget();
      await parent.removeEntry(names[names.length - 1]);
      return true;
    } catch (error) {
      if (MISSING_ERRORS.has(nameOf(error)) || nameOf(error) === "InvalidModificationError") return false;
      throw withCode(error, path);
    }
  }

  async makeDirectory(path: string, within?: string): Promise<boolean> {
    const names = namesOfPath(path);
    if (within !== undefined && (await this.#files.find(within)) !== "directory") {
      throw diskError("ENOENT", "mkdir", within);
    }
    if ((await this.#files.find(path)) === "directory") return false;
    try {
      await directoryOf(await this.#files.top(), names, true);
      return true;
    } catch (error) {
      if (nameOf(error) === "TypeMismatchError") throw diskError("EEXIST", "mkdir", path, error);
      throw withCode(error, path);
    }
  }
}
