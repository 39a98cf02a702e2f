/**
 * Keeps files open between reads, a bounded number of them. What always holds:
 *
 * - A handle in use is never closed; eviction takes the one idle for longest. While more callers than the
 *   bound read different files at once, that many are open.
 * - Each path is open once: concurrent callers share the handle, and the opening of it.
 *
 * A handle is kept by path. So the pool may only read files that are never changed in place and whose names
 * are never used again (data files carry a UUID). An unlinked file stays readable through its handle until
 * the handle is evicted; the caller must know whether the table still exists. `evict` frees the handle.
 */

import { CorruptFileError } from "../../errors.js";
import type { AllocateTail, Disk, ReadHandle } from "./disk.js";
import { type IdleFiles, releaseInShortage } from "./shortage.js";

interface PooledFile {
  readonly opening: Promise<ReadHandle>;
  users: number;
  /** No longer in the pool: its last user closes it. */
  evicted: boolean;
}

const DEFAULT_MAX_OPEN = 64;

export class HandlePool implements IdleFiles {
  readonly #disk: Pick<Disk, "open">;
  readonly #maxOpen: number;
  /** In order of use, longest ago first. */
  readonly #files = new Map<string, PooledFile>();
  #closed = false;

  constructor(disk: Pick<Disk, "open">, maxOpen = DEFAULT_MAX_OPEN) {
    this.#disk = disk;
    this.#maxOpen = maxOpen;
    releaseInShortage(this);
  }

  /** Files held open by the pool, those in use included. */
  get size(): number {
    return this.#files.size;
  }

  /**
   * Calls `fn` with the open file and keeps it open until `fn` is done. A missing file is a
   * `CorruptFileError`, because only files that a manifest lists are read this way.
   * @param tailBytes number of bytes at its end that are wanted first, see `Disk.open`; so is `allocate`
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

  /** Lets go of every file whose path starts with the prefix; those in use close after their last read. */
  evict(pathPrefix: string): void {
    for (const [path, file] of this.#files) {
      if (path.startsWith(pathPrefix)) this.#drop(path, file);
    }
  }

  /** Lets go of every file that nobody is reading. */
  release(): void {
    for (const [path, file] of this.#files) if (file.users === 0) this.#drop(path, file);
  }

  /**
   * Lets go of all files; resolves when the idle ones are closed. Reads of a running scan may go on: each
   * then opens its file for itself.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const idle: Promise<void>[] = [];
    for (const [path, file] of this.#files) idle.push(this.#drop(path, file));
    await Promise.all(idle);
  }

  async #open(path: string, tailBytes?: number, allocate?: AllocateTail): Promise<ReadHandle> {
    const handle = await this.#disk.open(path, tailBytes, allocate);
    if (handle === null) throw new CorruptFileError(path, 0, "the manifest names it, but it is not there");
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
 * A file that was only read has nothing to lose in a failing close, and one that failed to open (its callers
 * were told) has nothing to close.
 */
async function closeIfIdle(file: PooledFile): Promise<void> {
  if (file.users > 0) return;
  await file.opening.then((handle) => handle.close()).catch(() => undefined);
}
