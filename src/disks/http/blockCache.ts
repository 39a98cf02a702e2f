/** Blocks of files on a host or in a bucket that stay in memory. */

import { concatBytes } from "../../bytes/concat.js";
import { InvalidInputError } from "../../errors.js";
import { LruCache } from "../../io/memory/cache.js";
import { shortly } from "../../optionMembers.js";

/** Size of the cached blocks. A request costs as much time as hundreds of kilobytes. */
export const CACHED_BLOCK_BYTES = 16 * 1024;
/** Default bytes of all cached blocks. */
const CACHE_BYTES = 32 * 1024 * 1024;

/**
 * Returns the checked option `cacheBytes`.
 * @throws InvalidInputError if it is not a number of bytes
 */
export function cacheBytesOf(cacheBytes: unknown = CACHE_BYTES): number {
  if (typeof cacheBytes === "number" && cacheBytes >= 0) return cacheBytes;
  throw new InvalidInputError(`cacheBytes: must be a number of bytes, not ${shortly(cacheBytes)}`);
}

/** Blocks of files, by path and validator. */
export class BlockCache {
  readonly #blocks: LruCache<Uint8Array>;

  /** @param maxBytes of all blocks */
  constructor(maxBytes: number) {
    this.#blocks = new LruCache(maxBytes);
  }

  peek(file: string, block: number): Uint8Array | undefined {
    return this.#blocks.peek(`${file}|${block}`);
  }

  /** Returns the last bytes of a file, as many as are in blocks; at most `length` and a block. */
  tail(file: string, size: number, length: number): Uint8Array {
    const blocks: Uint8Array[] = [];
    let start = size;
    while (start > 0 && size - start < length) {
      const block = this.peek(file, Math.floor((start - 1) / CACHED_BLOCK_BYTES));
      if (block === undefined) break;
      blocks.unshift(block);
      start -= block.length;
    }
    return concatBytes(blocks);
  }

  /** Keeps the whole blocks among the bytes. @param size of the file: its last block is shorter */
  keep(file: string, start: number, bytes: Uint8Array, size: number): void {
    const end = start + bytes.length;
    for (let block = Math.ceil(start / CACHED_BLOCK_BYTES); ; block++) {
      const from = block * CACHED_BLOCK_BYTES;
      const to = Math.min(size, from + CACHED_BLOCK_BYTES);
      if (from >= size || to > end) return;
      // A copy: a view would keep the whole answer alive.
      this.#blocks.set(`${file}|${block}`, bytes.slice(from - start, to - start), to - from + 128);
    }
  }
}
