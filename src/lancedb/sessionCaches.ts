/** Caches that a session bounds and counts: those of the namespaces of its connections. */

import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import type { DirectoryNamespaceOptions } from "../namespace/options.js";

type CacheOptions = Pick<
  DirectoryNamespaceOptions,
  "metadataCacheBytes" | "indexCacheBytes" | "vectorCacheBytes"
>;

/** Part of the vectors in the engine's default bytes for indexes (544 MiB) and vectors (256 MiB). */
const VECTOR_PART = 256 / 800;

/** Sizes that a program gave a session. */
interface SessionSizes {
  readonly indexCacheSizeBytes: bigint | null;
  readonly metadataCacheSizeBytes: bigint | null;
}

/**
 * Returns the options of a namespace that bound its caches. Vectors that exact searches keep count as parts
 * of indexes.
 */
export function cacheSizesOf(session: object): CacheOptions {
  const { indexCacheSizeBytes, metadataCacheSizeBytes } = session as Partial<SessionSizes>;
  const indexBytes = indexCacheSizeBytes == null ? null : Number(indexCacheSizeBytes);
  return {
    ...(metadataCacheSizeBytes != null && { metadataCacheBytes: Number(metadataCacheSizeBytes) }),
    ...(indexBytes !== null && {
      indexCacheBytes: indexBytes * (1 - VECTOR_PART),
      vectorCacheBytes: indexBytes * VECTOR_PART,
    }),
  };
}

const namespacesOf = new WeakMap<object, Set<WeakRef<DirectoryNamespace>>>();

/** Lets a session count the caches of a namespace, for as long as the program uses it. */
export function countCaches(session: object, namespace: DirectoryNamespace): void {
  const namespaces = namespacesOf.get(session) ?? new Set();
  namespacesOf.set(session, namespaces);
  for (const reference of namespaces) if (reference.deref() === undefined) namespaces.delete(reference);
  namespaces.add(new WeakRef(namespace));
}

/** Returns the entries and bytes of all caches of a session. */
export function cachesOf(session: object): { readonly entries: number; readonly bytes: number } {
  const sum = { entries: 0, bytes: 0 };
  for (const reference of namespacesOf.get(session) ?? []) {
    const { entries = 0, bytes = 0 } = reference.deref()?.cachesNow?.total ?? {};
    sum.entries += entries;
    sum.bytes += bytes;
  }
  return sum;
}
