/** A disk like an object store: whole objects by name, without directories, renames, links and inodes. */

import type { DirectoryEntry, DiskImplementation, ReadHandle, WriteHandle } from "tiltyard/disks";

interface StoredObject {
  readonly bytes: Uint8Array;
  readonly etag: string;
  readonly modifiedNs: bigint;
}

export interface ObjectStore extends DiskImplementation {
  readonly objects: ReadonlyMap<string, StoredObject>;
  /** Number of calls of each kind. */
  readonly calls: ReadonlyMap<string, number>;
}

const joined = (chunks: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(chunks));

/** Returns an empty store. Each call takes a turn of the event loop, so that calls interleave. */
export function objectStore(): ObjectStore {
  const objects = new Map<string, StoredObject>();
  const calls = new Map<string, number>();
  let etags = 0;
  const called = async (name: string): Promise<void> => {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const put = (path: string, bytes: Uint8Array): string => {
    const etag = `"${++etags}"`;
    objects.set(path, { bytes, etag, modifiedNs: BigInt(Date.now()) * 1_000_000n });
    return etag;
  };
  return {
    objects,
    calls,
    async open(path): Promise<ReadHandle | null> {
      await called("open");
      const object = objects.get(path);
      if (object === undefined) return null;
      const { bytes, etag } = object;
      return {
        path,
        size: bytes.length,
        identity: etag,
        async read(byteOffset, length, memory) {
          await called("read");
          if (byteOffset + length > bytes.length) throw new Error(`${path} ends before`);
          const target = memory?.subarray(0, length) ?? new Uint8Array(length);
          target.set(bytes.subarray(byteOffset, byteOffset + length));
          return target;
        },
        close: async () => undefined,
      };
    },
    async stat(path) {
      await called("stat");
      const object = objects.get(path);
      if (object !== undefined) {
        const { bytes, etag, modifiedNs } = object;
        return { kind: "file", size: bytes.length, identity: etag, modifiedNs };
      }
      const isDirectory = [...objects.keys()].some((key) => key.startsWith(`${path}/`));
      return isDirectory ? { kind: "directory", size: 0 } : null;
    },
    async list(path) {
      await called("list");
      const prefix = path.endsWith("/") ? path : `${path}/`;
      const entries = new Map<string, DirectoryEntry>();
      for (const key of objects.keys()) {
        if (!key.startsWith(prefix)) continue;
        const [name, ...below] = key.slice(prefix.length).split("/");
        entries.set(name, { name, kind: below.length > 0 ? "directory" : "file" });
      }
      return entries.size === 0 ? null : [...entries.values()];
    },
    async create(path): Promise<WriteHandle> {
      await called("create");
      const written: Uint8Array[] = [];
      return {
        takesChunksAtOnce: true,
        write: async (chunks) => void written.push(...chunks.map((chunk) => chunk.slice())),
        sync: async () => undefined,
        async close() {
          await called("put");
          put(path, joined(written));
        },
      };
    },
    async putIfAbsent(path, chunks) {
      const bytes = joined(chunks);
      await called("put");
      if (objects.has(path)) return false;
      return put(path, bytes);
    },
    async replaceIf(path, chunks, identity) {
      const bytes = joined(chunks);
      await called("put");
      if (identity !== null && objects.get(path)?.etag !== identity) return null;
      return put(path, bytes);
    },
    async remove(path) {
      await called("remove");
      objects.delete(path);
    },
  };
}
