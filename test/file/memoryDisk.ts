/** A disk in memory with the verbs that data files need. */

import type { Disk, ReadHandle, WriteHandle } from "../../src/io/disk/disk.js";

export class MemoryDisk implements Pick<Disk, "open" | "create" | "remove"> {
  readonly files = new Map<string, Uint8Array>();
  /** Bytes read through handles. */
  bytesRead = 0;
  /** A write that takes a file beyond this many bytes fails. */
  capacity = Number.POSITIVE_INFINITY;

  async open(path: string): Promise<ReadHandle | null> {
    const bytes = this.files.get(path);
    return bytes === undefined ? null : this.handle(path, bytes);
  }

  handle(path: string, bytes: Uint8Array): ReadHandle {
    return {
      path,
      size: bytes.length,
      identity: path,
      read: async (byteOffset, length) => {
        if (byteOffset + length > bytes.length) throw new Error("short read");
        this.bytesRead += length;
        return bytes.slice(byteOffset, byteOffset + length);
      },
      close: async () => undefined,
    };
  }

  async create(path: string): Promise<WriteHandle> {
    if (this.files.has(path)) throw Object.assign(new Error(`EEXIST: ${path}`), { code: "EEXIST" });
    const pieces: Uint8Array[] = [];
    let byteLength = 0;
    const store = () => this.files.set(path, new Uint8Array(Buffer.concat(pieces)));
    store();
    return {
      write: async (chunks) => {
        for (const chunk of chunks) {
          byteLength += chunk.length;
          if (byteLength > this.capacity) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
          pieces.push(chunk.slice());
        }
      },
      sync: async () => undefined,
      close: async () => void store(),
    };
  }

  async remove(path: string): Promise<void> {
    this.files.delete(path);
  }
}

/** Calls a hook around each write; its writes take all their chunks at once. */
export class WatchedDisk extends MemoryDisk {
  readonly #around: (write: () => Promise<void>, chunks: readonly Uint8Array[]) => Promise<void>;

  constructor(around: (write: () => Promise<void>, chunks: readonly Uint8Array[]) => Promise<void>) {
    super();
    this.#around = around;
  }

  override async create(path: string) {
    const handle = await super.create(path);
    return {
      ...handle,
      takesChunksAtOnce: true as const,
      write: (chunks: readonly Uint8Array[]) => this.#around(() => handle.write(chunks), chunks),
    };
  }
}

/** A disk in the engine's type; it lacks the verbs that data files don't use. */
export const asDisk = (disk: MemoryDisk): Disk => disk as unknown as Disk;
