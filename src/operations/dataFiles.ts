/** Opens data files and caches their metadata. */

import { isPending } from "../async/pending.js";
import {
  type DataFileMetadata,
  openDataFile,
  SCANNED_TAIL_BYTES,
  shareable,
  TAIL_BYTES,
} from "../file/container/reader.js";
import type { Disk } from "../io/disk/disk.js";
import type { HandlePool } from "../io/disk/handles.js";
import type { Arena } from "../io/memory/arena.js";
import { type CacheCounts, LruCache } from "../io/memory/cache.js";
import type { SeenFiles } from "../table/versions/manifest.js";

/** Data files of manifests, which never change. A replaced one has another identity and is read again. */
export class DataFiles {
  readonly #disk: Disk;
  readonly #handles: HandlePool;
  readonly #cache: LruCache<DataFileMetadata>;

  /** @param cacheBytes maximum bytes of metadata in the cache */
  constructor(disk: Disk, handles: HandlePool, cacheBytes: number) {
    this.#disk = disk;
    this.#handles = handles;
    this.#cache = new LruCache(cacheBytes);
  }

  /**
   * Returns the metadata of a data file; no promise if it is in memory and needs no check.
   * @param isScanned true if most of the file will be read
   * @param version version that names the file. A file that was checked recently for the same version is not
   *   checked again
   */
  open(path: string, isScanned = false, version?: SeenFiles): DataFileMetadata | Promise<DataFileMetadata> {
    const cached = this.#cached(path, isScanned ? undefined : version);
    if (cached === null || isPending(cached)) return this.#open(cached, path, isScanned, version);
    return cached;
  }

  async #open(
    cached: Promise<DataFileMetadata | null> | null,
    path: string,
    isScanned: boolean,
    version: SeenFiles | undefined,
  ): Promise<DataFileMetadata> {
    const unchanged = await cached;
    if (unchanged !== null) return unchanged;
    let opened: DataFileMetadata | null = null;
    const shared = await this.#cache.get(path, async () => {
      opened = await this.#read(path, isScanned);
      const value = shareable(opened);
      return { value, weight: value.memoryWeight };
    });
    version?.see(shared);
    // Content that is too large for the cache is available to the caller that read it.
    return shared.content === null ? (opened ?? shared) : shared;
  }

  /** Returns the metadata of a data file that is read only once and must not displace cache entries. */
  async openOnce(path: string, isScanned?: boolean, arena?: Arena): Promise<DataFileMetadata> {
    return (await this.#cached(path)) ?? this.#read(path, isScanned, arena);
  }

  /** Counts of the cache. */
  get counts(): CacheCounts {
    return this.#cache.counts;
  }

  clear(): void {
    this.#cache.clear();
  }

  /** Returns cached metadata if the file is unchanged. */
  #cached(path: string, version?: SeenFiles): DataFileMetadata | null | Promise<DataFileMetadata | null> {
    const cached = this.#cache.peek(path);
    if (cached === undefined) return null;
    return version?.hasSeen(cached) === true ? cached : this.#ifUnchanged(path, cached, version);
  }

  async #ifUnchanged(
    path: string,
    cached: DataFileMetadata,
    version: SeenFiles | undefined,
  ): Promise<DataFileMetadata | null> {
    const stat = await this.#disk.stat(path);
    if (stat?.identity === cached.identity) {
      version?.see(cached);
      return cached;
    }
    this.#cache.delete(path);
    return null;
  }

  async #read(path: string, isScanned = false, arena?: Arena): Promise<DataFileMetadata> {
    const allocate =
      isScanned && arena !== undefined ? (byteLength: number) => arena.lend(byteLength) : undefined;
    const tailBytes = isScanned ? SCANNED_TAIL_BYTES : TAIL_BYTES;
    const open = (handle: Parameters<typeof openDataFile>[0]) => openDataFile(handle, path);
    // An open handle may refer to the replaced file.
    this.#handles.evict(path);
    const file = await this.#handles.withHandle(path, open, tailBytes, allocate);
    // The whole file is in memory, so the handle can be released for other files.
    if (file.content !== null) this.#handles.evict(path);
    return file;
  }
}
