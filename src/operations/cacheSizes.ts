/** Bounds of the caches of a namespace. Each cache has a fixed part of the bytes that an option allows. */

import type { DirectoryNamespaceOptions } from "../namespace/options.js";

const MIB = 1024 * 1024;

/** Default bytes of the caches of metadata. */
const METADATA_BYTES = {
  manifests: 64 * MIB,
  dataFiles: 64 * MIB,
  /** Chunk positions and page dictionaries. */
  chunkMaps: 64 * MIB,
  catalogs: 32 * MIB,
  deletions: 32 * MIB,
  /** Checksums of blocks, enough for about 13 GB of pages. */
  pageChecks: 16 * MIB,
  /** Decoded rows near rows that were looked up. */
  rowBlocks: 64 * MIB,
};
/** Default bytes of the caches of indexes. */
const INDEX_BYTES = {
  openIndexes: 32 * MIB,
  /** An HNSW graph is one part. */
  indexParts: 512 * MIB,
};

/** Maximum bytes of each cache. */
export type CacheSizes = Readonly<Record<keyof typeof METADATA_BYTES | keyof typeof INDEX_BYTES, number>>;

/** Returns the maximum bytes of each cache. */
export const cacheSizesOf = ({
  metadataCacheBytes,
  indexCacheBytes,
}: Pick<DirectoryNamespaceOptions, "metadataCacheBytes" | "indexCacheBytes">): CacheSizes => ({
  ...scaled(METADATA_BYTES, metadataCacheBytes),
  ...scaled(INDEX_BYTES, indexCacheBytes),
});

/** Returns sizes in the same ratio that add up to a number of bytes. */
function scaled<Sizes extends Readonly<Record<string, number>>>(
  sizes: Sizes,
  bytes: number | undefined,
): Readonly<Record<keyof Sizes, number>> {
  if (bytes === undefined) return sizes;
  const sum = Object.values(sizes).reduce((total, size) => total + size, 0);
  const entries = Object.entries(sizes).map(([name, size]) => [name, Math.floor((bytes / sum) * size)]);
  return Object.fromEntries(entries) as Record<keyof Sizes, number>;
}
