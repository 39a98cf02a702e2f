/**
 * Keeps a bounded number of files open between reads. Invariants:
 *
 * - The pool never closes a handle in use; it evicts the one that was idle for longest. More handles than the
 *   bound are open while that many callers read different files.
 * - Each path is open once: concurrent callers share the handle and its opening.
 *
 * The path is the key. The pool may therefore only read files that never change and whose names are never
 * reused (data files carry a UUID). A removed file stays readable through its handle until `evict`, so the
 * caller must check that the table still exists.
 */

import { CorruptFileError } from "../../errors.js";
import type { AllocateTail, Disk, ReadHandle } from "./disk.js";
import { type IdleFiles, releaseInShortage } from "./shortage.js";

interface PooledFile {
  readonly opening: Promise<ReadHandle>;
  users: number;
  /** True once the file has left the pool; its last user closes it. */
  evicted: boolean;
}

const DEFAULT_MAX_OPEN = 64;

export class HandlePool implements IdleFiles {
  readonly #disk: Pick<Disk, "open">;
  readonly #maxOpen: number;
  /** In order of use, the least recent first. */
  readonly #files = new Map<string, PooledFile>();
  #closed = false;

  constructor(disk: Pick<Disk, "open">, maxOpen = DEFAULT_MAX_OPEN) {
    this.#disk = disk;
    this.#maxOpen = maxOpen;
    releaseInShortage(this);
  }

  /** Number of files that the pool has open, those in use included. */
  get size(): number {
    return this.#files.size;
  }

  /**
   * Calls `fn` with the open file, and keeps it open until `fn` settles. A missing file is a
   * `CorruptFileError`, because a manifest lists every file that is read this way.
   * @param tailBytes number of bytes at the end that the caller reads first, see `Disk.open`
   * @param allocate see `Disk.open`
   */
  async withHandle<T>(
    path: string,
    fn: (handle: ReadHandle) => Promise<T>,
    tailBytes?: number,
    allocate?: AllocateTail,
  ): Promise<T> {
    let file = this.#files.get(path);
    if (file === undefined) {
      file = { opening: this.#open(path, tailBytes, allocate), users: 0, evicted: this.#closed };
    } else this.#files.delete(path);
    if (!file.evicted) this.#files.set(path, file);
    file.users++;
    try {
      let handle: ReadHandle;
      try {
        handle = await file.opening;
      } catch (error) {
        if (this.#files.get(path) === file) this.#files.delete(path);
        throw error;
      }
      return await fn(handle);
    } finally {
      file.users--;
      if (file.evicted) await closeIfIdle(file);
      else this.#shrink();
    }
  }

  /** Closes every file whose path starts with the prefix; those in use close after their last read. */
  evict(pathPrefix: string): void {
    for (const [path, file] of this.#files) {
      if (path.startsWith(pathPrefix)) this.#drop(path, file);
    }
  }

  /** Closes every idle file. */
  release(): void {
    for (const [path, file] of this.#files) if (file.users === 0) this.#drop(path, file);
  }

  /** Closes all files; resolves when the idle ones are closed. Running scans open files for themselves. */
  async close(): Promise<void> {
    this.#closed = true;
    const idle: Promise<void>[] = [];
    for (const [path, file] of this.#files) idle.push(this.#drop(path, file));
    await Promise.all(idle);
  }

  async #open(path: string, tailBytes?: number, allocate?: AllocateTail): Promise<ReadHandle> {
    const handle = await this.#disk.open(path, tailBytes, allocate);
    if (handle === null) throw new CorruptFileError(path, 0, "the manifest names it, but it does not exist");
    return handle;
  }

  #shrink(): void {
    if (this.#files.size <= this.#maxOpen) return;
    for (const [path, file] of this.#files) {
      if (file.users > 0) continue;
      this.#drop(path, file);
      if (this.#files.size <= this.#maxOpen) return;
    }
  }

  #drop(path: string, file: PooledFile): Promise<void> {
    this.#files.delete(path);
    file.evicted = true;
    return closeIfIdle(file);
  }
}

/**
 * Closes a file without users. A failing close loses nothing, because the file was only read. A file that
 * failed to open was reported to its callers and needs no close.
 */
async function closeIfIdle(file: PooledFile): Promise<void> {
  if (file.users > 0) return;
  await file.opening.then((handle) => handle.close()).catch(() => undefined);
}
